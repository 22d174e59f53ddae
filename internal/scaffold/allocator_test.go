package scaffold

import "testing"

func TestAllocates(t *testing.T) {
	for name, want := range map[string]bool{
		"runtime.mallocgc": true, "runtime.mallocgcSmallScanNoHeader": true, "runtime.newobject": true, "runtime.growslice": true, "runtime.makeslice": true,
		"runtime.malg": false, "runtime.newproc1": false, "main.mallocgc": false, "runtime/pprof.mallocgc": false, "strings.(*Builder).grow": false,
	} {
		if got := Allocates(name); got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
		}
	}
}
