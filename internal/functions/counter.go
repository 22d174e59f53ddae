// Package functions counts, over the life of a process, how many samples of CPU each of its
// functions was charged with. The counts add up over windows, processes and time, so they are what
// a fleet is judged by: docs/releases.md says how.
//
// A sample is charged as for a budget "no function": to each function of its stack but those of
// the way in and the floor, and to foreign code at its doors only. A function is counted under a
// name that outlives a release: that of the function which holds a literal, and without type
// arguments.
package functions

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/tree"
)

// longest is how much of a name is kept, in bytes.
const longest = 200

// A Counter counts windows of one process. It is not safe for concurrent use.
type Counter struct {
	sketch  *sketch
	samples int64
	seconds float64
	work    map[string]float64 // nil before the first window
}

// New returns a counter that names at most so many functions.
func New(most int) *Counter { return &Counter{sketch: newSketch(most)} }

// A Window is what was charged in a CPU profile, and what is known about it.
type Window struct {
	Tree    *tree.Tree
	Seconds float64 // how long it was
	// Work is what was done meanwhile, by unit, and NoWork has the units of which that is not known.
	Work   map[string]float64
	NoWork map[string]string
}

// Add counts a window. If it cannot be counted, nothing of it is: hits and work are of the same
// windows. So it is if the work in a unit is not known that was counted before. Units of work are
// those of the first window: one that comes later would lack what was done before.
func (c *Counter) Add(w Window) error {
	for name := range c.work {
		if why, unknown := w.NoWork[name]; unknown {
			return fmt.Errorf("count functions: %s", why)
		}
	}
	hits := map[string]int64{}
	for name, n := range w.Tree.Hits() {
		if name = pattern.Clipped(name, longest); name != "" {
			hits[name] = decode.AddSaturating(hits[name], whole(n))
		}
	}
	samples := whole(w.Tree.N())
	c.sketch.add(samples, hits)
	c.samples = decode.AddSaturating(c.samples, samples)
	c.seconds += max(0, w.Seconds)
	if c.work == nil {
		c.work = map[string]float64{}
		for name := range w.Work {
			c.work[name] = 0
		}
	}
	for name := range c.work {
		n, counted := w.Work[name]
		if c.work[name] += n; !counted || !(n >= 0 && c.work[name] <= math.MaxFloat64) {
			delete(c.work, name)
		}
	}
	return nil
}

// whole is a number of samples.
func whole(n float64) int64 { return int64(math.Round(min(max(n, 0), math.MaxInt64/2))) }

// Totals are the sums over all windows.
type Totals struct {
	Samples int64
	Seconds float64            // how long the windows were
	Work    map[string]float64 // by unit
	Hits    []Hits             // by name
	Rest    float64            // no function that is not in Hits had a larger share of late
}

// Hits are the samples that a function was charged with. There may have been more of them before
// it was noticed, but hardly ever are: see the sketch.
type Hits struct {
	Function string
	Count    int64
}

// Totals returns the sums so far. They do not change later.
func (c *Counter) Totals() Totals {
	t := Totals{Samples: c.samples, Seconds: c.seconds, Work: maps.Clone(c.work), Rest: c.sketch.rest()}
	for _, name := range slices.Sorted(maps.Keys(c.sketch.by)) {
		if tally := c.sketch.by[name]; tally.series {
			t.Hits = append(t.Hits, Hits{name, tally.hits})
		}
	}
	return t
}
