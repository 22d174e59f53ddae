package process

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
)

// What profguard forces is in no figure; what the program forces itself is.
func TestForce(t *testing.T) {
	r := reader(t)
	live := make([]*[64]byte, 200_000)
	for i := range live {
		live[i] = new([64]byte)
	}
	runtime.GC() // of what came before
	before := r.Read()
	Force(2)
	between := r.Read()
	runtime.GC()
	after := r.Read()
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
	r := reader(t)
	figures := func(meanwhile func()) Figures {
		before := r.Read()
		meanwhile()
		return Between(before, r.Read())
	}
	known := func(meanwhile func()) bool { return figures(meanwhile).GCKnown }
	if f := figures(func() {}); !f.GCNone || f.GCKnown {
		t.Errorf("nothing makes this process collect: none is %t, known is %t", f.GCNone, f.GCKnown)
	}
	debug.SetMemoryLimit(1 << 40) // that could
	if f := figures(func() {}); f.GCNone || f.GCKnown {
		t.Errorf("no collection has ended: none is %t, known is %t", f.GCNone, f.GCKnown)
	}
	if !known(runtime.GC) {
		t.Error("a collection has ended, and gc is not known")
	}
	if !known(func() { Force(1) }) {
		t.Error("profguard's own collection ends all others, and gc is not known")
	}
}

func TestGCOff(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	r := reader(t)
	for percent, want := range map[int]bool{-1: true, 0: false, 20: false, 100: false, 10000: false} {
		debug.SetGCPercent(percent)
		if got := r.Read().gcIsNone; got != want {
			t.Errorf("GOGC=%d: off is %v", percent, got)
		}
	}
}
