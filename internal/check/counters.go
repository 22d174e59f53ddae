package check

import (
	"fmt"
	"sync/atomic"
	"time"
)

// counterPatience is how long the counters of Checker.Work may take: each is meant to be
// an atomic load, on a machine that may be starved.
const counterPatience = 5 * time.Second

// counters reads those of Checker.Work on the test's goroutine. One that waits for what
// work holds would wait for ever, because it is the check that makes work let go: so
// work is stopped, and the check ends with what hangs. One that waits for anything else
// hangs the test, as it would anywhere in it.
type counters struct {
	at   atomic.Pointer[string] // the counter that is being read
	hung atomic.Pointer[string] // the one that did not return in time
}

// read returns what the counters say. In a benchmark, whose loop is where they are
// read, there is nothing to stop.
func (c *counters) read(r *run) map[string]float64 {
	units := map[string]float64{}
	if len(r.Work) > 0 && r.worker != nil && r.worker.cancel != nil {
		patience := counterPatience
		if at, ok := r.deadline(); ok {
			patience = min(patience, max(time.Until(at)-reserve/2, reserve/2))
		}
		watch := time.AfterFunc(patience, func() {
			c.hung.Store(c.at.Load())
			r.worker.halt.Store(true)
			r.worker.cancel()
		})
		defer watch.Stop()
	}
	for name, counter := range r.Work {
		c.at.Store(&name)
		units[name] = counter()
	}
	if c.hung.Load() != nil {
		r.ends, r.latest = time.Now(), time.Now() // there is no more to find out
	}
	return units
}

// problem says which counter hung.
func (c *counters) problem() string {
	name := c.hung.Load()
	if name == nil {
		return ""
	}
	return fmt.Sprintf("Checker.Work[%q] took too long, and work was stopped: a counter must not wait for what work holds, such as a lock; let it be an atomic load", *name)
}
