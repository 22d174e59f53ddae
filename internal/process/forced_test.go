package process

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
)

// What profguard forces is in no figure; what the program forces itself is.
func TestForce(t *testing.T) {
	live := make([]*[64]byte, 200_000)
	for i := range live {
		live[i] = new([64]byte)
	}
	runtime.GC() // of what came before
	before := Read()
	Force(2)
	between := Read()
	runtime.GC()
	after := Read()
	runtime.KeepAlive(live)
	if gc, n := Between(before, between).GC, cycles(before, between); gc > 0.01 || n != 0 {
		t.Errorf("forced by profguard: gc is %.2f in %d collections, want none", gc, n)
	}
	if gc, n := Between(between, after).GC, cycles(between, after); gc <= 0 || n != 1 { // on a busy machine the share is small
		t.Errorf("forced by the program: gc is %.4f in %d collections, want a share of one", gc, n)
	}
}

// cycles is how many collections of the program's own ended between two snapshots.
func cycles(a, b Snapshot) int64 { return b.gc.ended - a.gc.ended - (b.gc.forced - a.gc.forced) }

// What no collection's end has told is not known to be nothing.
func TestGCKnown(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64))
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // none comes by itself
	runtime.GC()                                     // and none runs any more
	known := func(meanwhile func()) bool {
		before := Read()
		meanwhile()
		return Between(before, Read()).GCKnown
	}
	if known(func() {}) {
		t.Error("no collection has ended, and gc is known")
	}
	if !known(runtime.GC) {
		t.Error("a collection has ended, and gc is not known")
	}
	if !known(func() { Force(1) }) {
		t.Error("profguard's own collection ends all others, and gc is not known")
	}
}
