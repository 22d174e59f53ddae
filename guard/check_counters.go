package guard

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"
)

// counterPatience is how long a counter of Checker.Work may take: it is meant to be
// an atomic load, on a machine that may be starved.
const counterPatience = 10 * time.Second

// checkCounters read the counters of Checker.Work on the test's goroutine. One that
// waits for what work holds would wait for ever, because it is the check that makes
// work let go: so work is stopped, and the check ends with what hangs.
type checkCounters struct {
	names []string
	watch *time.Timer
	at    atomic.Int64 // the counter that is being read
	hung  atomic.Int64 // the one that did not return in time, counted from 1
}

// read returns what the counters say.
func (c *checkCounters) read(r *checkRun) map[string]float64 {
	units := map[string]float64{}
	if c.names == nil {
		c.names = slices.Sorted(maps.Keys(r.Work))
	}
	if len(c.names) == 0 || r.worker == nil { // nothing runs beside a benchmark's loop
		for _, name := range c.names {
			units[name] = r.Work[name]()
		}
		return units
	}
	patience := min(counterPatience, max(time.Until(r.ends), reserve/2))
	if c.watch == nil { // and only once: allocations may be being counted
		c.watch = time.AfterFunc(patience, func() {
			c.hung.Store(c.at.Load() + 1)
			r.worker.halt.Store(true)
			r.worker.cancel()
		})
	} else {
		c.watch.Reset(patience)
	}
	defer c.watch.Stop()
	for i, name := range c.names {
		c.at.Store(int64(i))
		units[name] = r.Work[name]()
	}
	if c.hung.Load() > 0 {
		r.ends = time.Now() // there is no more to find out
	}
	return units
}

// problem says which counter hung.
func (c *checkCounters) problem() string {
	n := c.hung.Load()
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("Checker.Work[%q] did not return until work was stopped: a counter must not wait for what work holds, such as a lock; let it be an atomic load", c.names[n-1])
}
