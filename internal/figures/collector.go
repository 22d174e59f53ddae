package figures

import (
	"runtime/metrics"
	"sync"
	"time"
)

// forced is what the collections took that profguard has forced itself. They say
// nothing about the process's garbage, and no snapshot has them.
var forced struct {
	sync.Mutex
	collection
}

// Force calls collect, which forces n collections, and leaves them out of all later
// snapshots. It returns the CPU time that they took. That is the runtime's estimate,
// in which a P that waits for a core counts as busy; see the doc of this package.
func Force(n int, collect func()) time.Duration {
	before := account()
	collect()
	after := account()
	// Collections of the process's own may have ended meanwhile: these have their part.
	part := float64(n) / max(float64(n), float64(after.cycles)-float64(before.cycles))
	took := part * (after.gc - before.gc)
	forced.Lock()
	defer forced.Unlock()
	forced.cycles += uint64(n)
	forced.gc += took
	forced.pause += part * (after.pause - before.pause)
	return time.Duration(took * float64(time.Second))
}

// account is the runtime's own, with what was forced.
func account() collection {
	s := []metrics.Sample{{Name: metricNames[gcTotal]}, {Name: metricNames[gcPause]}, {Name: metricNames[gcCycles]}}
	metrics.Read(s)
	var c collection
	if v := s[0].Value; v.Kind() == metrics.KindFloat64 {
		c.gc = v.Float64()
	}
	if v := s[1].Value; v.Kind() == metrics.KindFloat64 {
		c.pause = v.Float64()
	}
	if v := s[2].Value; v.Kind() == metrics.KindUint64 {
		c.cycles = v.Uint64()
	}
	return c
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
