package process

import (
	"runtime"
	"runtime/metrics"
	"sync"
)

// forced is what the collections took that profguard has forced itself. They say
// nothing about the process's garbage, and no snapshot has them.
var forced struct {
	sync.Mutex
	collection
}

// Force forces n collections, and leaves them out of all later snapshots. What they took is
// the runtime's estimate, in which a P that waits for a core counts as busy; see the doc of
// this package.
func Force(n int) {
	r := newReadings()
	metrics.Read(r[:])
	before := r.collector()
	for range n {
		runtime.GC()
	}
	metrics.Read(r[:])
	after := r.collector()
	// Collections of the process's own may have ended meanwhile: these have their part.
	part := float64(n) / max(float64(n), float64(after.cycles)-float64(before.cycles))
	forced.Lock()
	defer forced.Unlock()
	forced.cycles += uint64(n)
	forced.gc += part * (after.gc - before.gc)
	forced.pause += part * (after.pause - before.pause)
}

// withoutForced takes out what was forced.
func (c collection) withoutForced() collection {
	forced.Lock()
	defer forced.Unlock()
	c.cycles -= min(c.cycles, forced.cycles)
	c.gc -= forced.gc
	c.pause -= forced.pause
	c.total -= forced.gc
	return c
}
