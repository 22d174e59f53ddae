package work

import (
	"runtime"
	"strings"
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
	record := func(test string, mutex, block bool) func() {
		restore, err := RecordContention(test, mutex, block)
		if err != nil {
			t.Error(err)
		}
		return restore
	}
	record("TestA", false, true)()
	fraction("of a check of block", 7)
	first := record("TestA", true, false)
	fraction("while a check needs all events", 1)
	began := make(chan func())
	go func() { began <- record("TestAB", true, false) }()
	select {
	case <-began:
		t.Error("two checks record contention at a time")
	case <-time.After(10 * time.Millisecond):
	}
	first()
	(<-began)()
	fraction("afterwards", 7)
}

// A check within another one's work does not wait for its end, which waits for that work.
func TestRecordContentionWithin(t *testing.T) {
	restore, err := RecordContention("TestA", true, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []string{"TestA", "TestA/sub"} {
		if _, err := RecordContention(test, false, true); err == nil || !strings.Contains(err.Error(), "a check of TestA ") {
			t.Errorf("%s: %v", test, err)
		}
	}
	restore()
	if restore, err = RecordContention("TestA/sub", true, false); err != nil {
		t.Fatal(err)
	}
	restore()
}
