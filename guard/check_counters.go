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
const counterPatience = 5 * time.Second

// checkCounters read the counters of Checker.Work on the test's goroutine. One that
// waits for what work holds would wait for ever, because it is the check that makes
// work let go: so work is stopped, and the check ends with what hangs. One that waits
// for anything else hangs the test, as it would anywhere in it.
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
	for i, name := range c.names {
		c.begin(r, i)
		units[name] = r.Work[name]()
		c.end()
	}
	if c.hung.Load() > 0 {
		r.ends = time.Now() // there is no more to find out
	}
	return units
}

// begin has work stopped if a counter takes too long. In a benchmark, whose loop is
// where the counters are read, there is nothing to stop.
func (c *checkCounters) begin(r *checkRun, i int) {
	if r.worker == nil || r.worker.cancel == nil {
		return
	}
	patience := counterPatience
	if at, ok := r.deadline(); ok {
		patience = min(patience, max(time.Until(at)-reserve/2, reserve/2))
	}
	c.at.Store(int64(i))
	if c.watch != nil {
		c.watch.Reset(patience)
		return
	}
	w := r.worker // and only once: allocations may be being counted
	c.watch = time.AfterFunc(patience, func() {
		c.hung.Store(c.at.Load() + 1)
		w.halt.Store(true)
		w.cancel()
	})
}

func (c *checkCounters) end() {
	if c.watch != nil {
		c.watch.Stop()
	}
}

// problem says which counter hung.
func (c *checkCounters) problem() string {
	n := c.hung.Load()
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("Checker.Work[%q] took too long, and work was stopped: a counter must not wait for what work holds, such as a lock; let it be an atomic load", c.names[n-1])
}
