package figures

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestCollectorCPU(t *testing.T) {
	before := CollectorCPU()
	runtime.GC()
	if after := CollectorCPU(); after <= before {
		t.Errorf("%v before a collection and %v after it", before, after)
	}
}

func TestGCOff(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	r := reader(t)
	for percent, want := range map[int]bool{-1: true, 0: false, 20: false, 100: false, 10000: false} {
		debug.SetGCPercent(percent)
		if got := r.Read().GCOff; got != want {
			t.Errorf("GOGC=%d: off is %v", percent, got)
		}
	}
}
