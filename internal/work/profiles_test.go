package work

import (
	"runtime"
	"testing"
	"time"
)

// Contention is recorded by one check at a time, and then as before.
func TestRecordContention(t *testing.T) {
	defer runtime.SetMutexProfileFraction(runtime.SetMutexProfileFraction(7))
	fraction := func(when string, want int) {
		t.Helper()
		if got := runtime.SetMutexProfileFraction(-1); got != want {
			t.Errorf("fraction %d %s, want %d", got, when, want)
		}
	}
	first := RecordContention()
	fraction("while a check needs all events", 1)
	began := make(chan func())
	go func() { began <- RecordContention() }()
	select {
	case <-began:
		t.Error("two checks record contention at a time")
	case <-time.After(10 * time.Millisecond):
	}
	first()
	(<-began)()
	fraction("afterwards", 7)
}
