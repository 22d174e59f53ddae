// Package functions counts, over the life of a process, how many samples of CPU each of its
// functions was charged with. The counts add up over windows, processes and time, so they are what
// a fleet is judged by: docs/fleet.md says how.
//
// A sample is charged as for a budget "no function": to each function of its stack but those of
// the way in and the floor, and to foreign code at its doors only. A function is counted under a
// name that outlives a release: that of the function which holds a literal, and without type
// arguments.
package functions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"sort"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/names"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/unit"
)

// maxFrames limits the frames of one window that are looked at, which takes a tenth of a second.
const maxFrames = 10_000_000

// longest is how much of a name is kept, in bytes.
const longest = 200

// A Counter counts windows of one process. It is not safe for concurrent use.
type Counter struct {
	counter charge.Counter
	layout  *charge.Layout
	query   int
	sketch  *sketch
	samples int64
	seconds float64
	work    map[string]float64 // nil before the first window
}

// New returns a counter that names at most so many functions.
func New(most int) *Counter {
	c := &Counter{sketch: newSketch(most)}
	c.Rest()
	return c
}

// Rest drops what is kept to count the next profile of the same decoder fast, which is about as
// large as the profile.
func (c *Counter) Rest() {
	c.layout, c.counter = nil, charge.Counter{Names: charge.NewNames(pattern.NewIndex(nil))}
	c.counter.Names.Fold = fold
}

// fold is the name that a function is counted under.
func fold(name string) string { return pattern.Clipped(names.Fold(name), longest) }

// A Window is a CPU profile and what is known about it.
type Window struct {
	Table   *decode.Table
	Live    bool     // of this process
	Module  string   // of the program
	Modules []string // the others
	// Work is what was done meanwhile, by unit, and NoWork has the units of which that is not known.
	Work   map[string]float64
	NoWork map[string]string
}

// Add counts a window. If it cannot be counted, nothing of it is: hits and work are of the same
// windows. So it is if the work in a unit is not known that was counted before. Units of work are
// those of the first window: one that comes later would lack what was done before.
func (c *Counter) Add(ctx context.Context, w Window) error {
	for name := range c.work {
		if why, unknown := w.NoWork[name]; unknown {
			return fmt.Errorf("count functions: %s", why)
		}
	}
	t := w.Table
	if t.Frames > maxFrames {
		return fmt.Errorf("count functions: the profile has %d frames, more than the limit of %d: make windows shorter", t.Frames, maxFrames)
	}
	if !c.layout.Fits(t, kinds.CPU) {
		layout := charge.LayoutOf(t, kinds.CPU)
		v, ok := layout.Value(kinds.CPU, unit.Count)
		if !ok {
			return fmt.Errorf("count functions: expected a profile of CPU with its samples, found one of %s", layout.Kind)
		}
		c.layout = layout
		c.counter.Forget()
		c.query = c.counter.Ask(charge.Query{Value: v.Index, Weight: v.Weight, Unit: charge.Folded, Charge: charge.Inner, In: -1, Where: -1, Except: -1})
	}
	c.counter.Live, c.counter.Names.Module, c.counter.Names.Modules = w.Live, w.Module, w.Modules
	if err := c.counter.Names.Learn(ctx, t); err != nil {
		return fmt.Errorf("count functions: %w", err)
	}
	c.counter.Open(t)
	sums := c.counter.Sums(c.query)
	if c.counter.Full() {
		return errors.New("count functions: the profile has too many functions")
	}
	hits := map[string]int64{}
	for i, key := range sums.Keys {
		if name := c.counter.Name(c.query, key); name != "" {
			hits[name] = sums.Values[i]
		}
	}
	c.sketch.add(sums.Total, hits)
	c.samples = decode.AddSaturating(c.samples, sums.Total)
	c.seconds += max(0, float64(t.DurationNanos)*1e-9)
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
	for name, tally := range c.sketch.by {
		if tally.series {
			t.Hits = append(t.Hits, Hits{name, tally.hits})
		}
	}
	sort.Slice(t.Hits, func(i, j int) bool { return t.Hits[i].Function < t.Hits[j].Function }) // smaller than an instance of slices.SortFunc
	return t
}
