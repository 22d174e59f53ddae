package process

import (
	"runtime"
	"sync/atomic"
	"time"
)

// Snapshot is one reading. For CPU, allocations and garbage collection only the differences to
// another Snapshot of the same process have a meaning. It is a plain value.
type Snapshot struct {
	At          time.Time     // with its monotonic reading
	CPU         time.Duration // of the process since its start, user and system; Windows counts ticks of 15.6 ms
	RSS         int64         // resident bytes; kernels 6.2 to 6.16 are off by some megabytes on many cores
	Heap        int64         // bytes of objects that are live, or dead and not yet swept
	Goroutines  int64         // without those of the runtime
	Allocated   int64         // bytes since the start
	Allocations int64         // objects since the start

	mapped, released int64 // bytes of the runtime
	gc               collection
}

// collection is the runtime's account of the collector, as of the end of the
// last collection. Times are in CPU seconds.
type collection struct {
	ended  int64   // number of collections
	forced int64   // number of collections that profguard has forced
	gc     float64 // marking, of all sorts, and pauses
	pause  float64 // the part of gc in pauses, of all Ps together
	total  float64 // Ps times time
	idle   float64 // the part of total in which Ps had nothing to run
	procs  int64   // number of Ps
}

// Figures are the figures of a process between two snapshots.
type Figures struct {
	Elapsed time.Duration
	CPU     time.Duration // that was used
	Cores   float64       // CPU per Elapsed
	GC      float64       // share of the CPU that garbage collection used, 0 to 1
	GCKnown bool          // a collection has ended: the runtime counts its cost at the end
}

// GCUnknown says why the share of garbage collection is not known.
const GCUnknown = "no collection has ended, and its cost is known only then"

// Between returns the figures of the time from a to b. It is pure. If b is not after a, figures
// that depend on the time between them are 0.
func Between(a, b Snapshot) Figures {
	f := Figures{Elapsed: max(0, b.At.Sub(a.At)), CPU: max(0, b.CPU-a.CPU)}
	if f.Elapsed == 0 {
		return f
	}
	f.Cores = f.CPU.Seconds() / f.Elapsed.Seconds()
	if f.GCKnown = b.gc.ended > a.gc.ended; f.GCKnown {
		f.GC = share(a.gc, b.gc)
	}
	return f
}

// forced is the number of collections that profguard has forced.
var forced atomic.Int64

// Force forces n collections. They do not count in the share of garbage collection, because
// they are not caused by the process's garbage.
func Force(n int) {
	for range n {
		Forcing(runtime.GC)
	}
}

// Forcing calls what forces one collection, which does not count either. It returns the CPU time
// that the collector has used meanwhile.
func Forcing(collect func()) time.Duration {
	before := Read()
	collect()
	forced.Add(1)
	after := Read()
	return time.Duration((after.gc.gc - before.gc.gc) * float64(time.Second))
}

// share returns the collector's share of the CPU between two accounts. The total is the
// runtime's too, from the end of one collection to the end of another: by the kernel's CPU time a
// collection that ended just after the first reading would count in full (1.36 was seen for
// 0.39). Sweeping and write barriers are not included. A collection that profguard has forced is
// taken to cost as much as the others, because the cost depends on the live heap.
func share(a, b collection) float64 {
	ended := float64(b.ended - a.ended)
	own := max(0, ended-float64(b.forced-a.forced)) / ended
	// In a pause one P works and the others are stopped.
	still := 0.0
	if b.procs > 1 {
		still = (b.pause - a.pause) * (1 - 1/float64(b.procs))
	}
	all := b.gc - a.gc - still
	gc := own * all
	busy := (b.total - a.total) - (b.idle - a.idle) - still - (all - gc)
	// These are estimates, so that the result may be slightly outside of 0 to 1.
	if gc <= 0 || busy <= 0 {
		return 0
	}
	return min(gc/busy, 1)
}
