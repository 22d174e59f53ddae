package release

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sort"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/tree"
)

// Options say what is compared, and how.
type Options struct {
	Per   string  // the unit of work; "" for shares
	Limit float64 // the least growth, in parts of what a unit cost before, that matters: 0.03 are 3 points; 0 is [DefaultLimit]
	// Scale is what a unit costs now, in parts of what it cost before, with its bounds, where that is known from runs of
	// both builds in turns. Pieces tell less, and a machine that is slower now is no other explanation: a function has
	// grown if a unit of work costs more in it. The zero Scale says that the pieces have to tell.
	Scale Growth
	// Except are patterns of functions whose cost is accepted: see package charge.
	Except []string
	// Subject is a pattern of functions whose growth is judged, too, as one: see [Comparison.Subject].
	Subject string
	// Label is the label whose values are compared, in the place of functions. Except are values then.
	Label string
	// Fleet says that pieces are processes that ran apart, and sides are flat: see processes.go.
	Fleet bool
}

// FirstBuild says, perhaps with more behind it, why nothing is compared where there is no other build.
const FirstBuild = "this is the first build here; it becomes the reference"

// DefaultLimit is the growth of a function that matters where nobody says.
const DefaultLimit = 0.03

// LeastShares is the number of samples of a side from which shares without a unit of work are judged.
const LeastShares = 400

const (
	// alpha is the chance of a false alarm at one look at all functions. A release is looked at
	// some twenty times while its samples add up, which counts as ten times.
	alpha = 1e-4
	// highAlpha is the chance that a growth is above its upper bound.
	highAlpha = evidence.PassAlpha
	// perSample is the measured number of distinct functions that a sample is charged to.
	perSample = 10
	// notable is the share, of either side, from which a function is compared.
	notable = 0.005
)

// A comparing is a comparison that is being made.
type comparing struct {
	*merged
	Options
	measured
	sides [2]*Side
	tests float64 // see evidence.Tests
	// renamed are functions that are gone, and are another one now: see withoutCallers.
	renamed map[id]bool
	result  *Comparison
}

// measured is what everything costs now, which all functions are compared by.
type measured struct {
	scale  Growth  // what everything costs now, in parts of before; zero if nothing can be compared
	likely float64 // a lower bound of it that errs with highAlpha
	// process is one for what has no caller. Where the side before is of one piece, as in a test, whose functions mostly
	// have none, it errs with doubtAlpha as that of a caller does, and is what most functions have not in common.
	process float64
	counts  bool    // the side before is of one piece: see perUnit
	common  float64 // what most functions cost a unit now, in parts of before, as on a slower machine; 1 if it is less or not known
	alone   bool    // without a unit of work, it is not known what the functions have in common
	load    float64 // the work in a second now, in parts of before; 1 if that is not known
}

// grown is the growth of everything.
func (m *measured) grown() Growth {
	return Growth{m.scale.Value - 1, m.scale.Low - 1, m.scale.High - 1}
}

// Compare compares two sides.
func Compare(ctx context.Context, was, is *Side, o Options) (*Comparison, error) {
	if o.Limit <= 0 {
		o.Limit = DefaultLimit
	}
	trees := [2]*tree.Tree{&was.Tree, &is.Tree}
	if len(o.Except) > 0 && o.Label == "" {
		for i, t := range trees {
			var err error
			if trees[i], err = t.Except(o.Except); err != nil {
				return nil, fmt.Errorf("compare releases: %w", err)
			}
		}
	}
	c := &comparing{
		merged: merge(trees, true), Options: o, sides: [2]*Side{was, is},
		result: &Comparison{Per: o.Per, Limit: o.Limit},
	}
	if c.tests = evidence.Tests(perSample, o.Limit); o.Per != "" { // there may be fewer functions
		c.tests = min(c.tests, max(1, float64(len(c.names))))
	}
	r := c.result
	r.Before, r.Now = was.summary(o.Per, c.n[before], c.cut[before]), is.summary(o.Per, c.n[now], c.cut[now])
	r.Notes = c.notes()
	if c.measured, r.Why = c.measure(); !(c.scale.High > 0) {
		return r, nil
	}
	r.Scale = c.scale
	if o.Label != "" {
		c.values()
		return r, nil
	}
	if err := c.functions(ctx); err != nil {
		return nil, fmt.Errorf("compare releases: %w", err)
	}
	if o.Subject != "" {
		if err := c.subject(); err != nil {
			return nil, fmt.Errorf("compare releases: %w", err)
		}
	}
	return r, nil
}

// notes say what makes the two sides less alike.
func (c *comparing) notes() (notes []string) {
	a, b := c.sides[before].Build, c.sides[now].Build
	if a.Go != "" && b.Go != "" && a.Go != b.Go {
		notes = append(notes, fmt.Sprintf("built by %s, before by %s: changes in the compiler and the standard library count as the program's", b.Go, a.Go))
	}
	if a.Arch != "" && b.Arch != "" && a.Arch != b.Arch {
		notes = append(notes, fmt.Sprintf("on %s, before on %s: costs on different machines are compared", b.Arch, a.Arch))
	}
	if x, y := c.result.Before.Load, c.result.Now.Load; x > 0 && y > 0 && (y > 2*x || x > 2*y) {
		notes = append(notes, fmt.Sprintf("%.3g %s/s, before %.3g: costs under different loads are compared", y, c.Per, x))
	}
	if cut, cut0 := c.cut[now]/max(c.n[now], 1), c.cut[before]/max(c.n[before], 1); max(cut, cut0) >= notable {
		notes = append(notes, fmt.Sprintf("the runtime keeps %d frames of a stack, and has cut off those of %.1f%% of the samples, %.1f%% before: "+
			"what has called these may have grown by as much as they have", charge.CPUDepth, 100*cut, 100*cut0))
	}
	return notes
}

// functions compares the functions, each by itself, and then with their callers.
func (c *comparing) functions(ctx context.Context) error {
	var list []Function
	for i := range c.names {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if k := c.hits[i]; max(k[now]/c.n[now], k[before]/c.n[before]) >= notable {
			list = append(list, c.compare(id(i)))
		}
	}
	for i := range list {
		f := &list[i]
		if c.result.Why != "" { // where other functions cost less, this one seems to have grown, and cost to have moved
			f.Status = Undecided
			continue
		}
		if f.Status == Grown {
			if c.Fleet {
				c.withoutCallers(f)
			} else if c.withCallers(f); c.alone && f.Status == Moved {
				f.Status = Undecided // something else may cost less
			}
		}
		if f.Status == Grown && f.Points.Low <= c.Limit {
			f.Status = Undecided
			if f.Points.High < evidence.Edge(c.Limit) {
				f.Status = Same
			}
		}
	}
	named, above := c.chosen(list)
	for i := range list {
		f := &list[i]
		f.Named, f.Above = named[f.id] > 0, above[f.id] > 0
		c.locate(f)
	}
	sort.SliceStable(list, func(i, j int) bool { // smaller than an instance of slices.SortStableFunc
		a, b := &list[i], &list[j]
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(named[a.id], named[b.id]), -cmp.Compare(c.result.weight(a), c.result.weight(b)), cmp.Compare(a.Name, b.Name)) < 0
	})
	if c.result.Functions = list; len(list) == 0 || !list[0].Named {
		c.result.Collector = c.collector()
	}
	return nil
}

// compare is a function's change by itself.
func (c *comparing) compare(at id) Function {
	k := c.hits[at]
	f := Function{Name: c.names[at], New: c.isNew(at), Hits: k[now], id: at, Status: Undecided}
	if c.was[at] != f.Name {
		f.Was = c.was[at]
	}
	f.Now, f.Before = k[now]/c.n[now], k[before]/c.n[before]
	if c.Per != "" {
		f.Now, f.Before = f.Now*c.sides[now].Pieces.costOf(c.Per).Value, f.Before*c.sides[before].Pieces.costOf(c.Per).Value
	}
	f.Points.Value = c.points(k)
	f.Points.Low, f.Points.High = c.boundsWithCut(at, k)
	f.Share = c.share(c.names[at], c.was[at], k)
	switch {
	case f.Points.Low > 0:
		f.Status = Grown
	case f.Points.High < 0:
		f.Status = Cheaper
	case f.Points.High < evidence.Edge(c.Limit):
		f.Status = Same
	}
	return f
}

// subject compares what is in functions that a pattern matches, whatever calls them: where cost has moved to, it is.
func (c *comparing) subject() error {
	p, err := pattern.Parse(c.Subject)
	if err != nil {
		return err
	}
	index := pattern.NewIndex([]*pattern.Pattern{p})
	matches := make([]bool, len(c.names))
	for i, name := range c.names {
		matches[i] = len(index.Match(name, nil)) > 0 || c.was[i] != "" && len(index.Match(c.was[i], nil)) > 0
	}
	inside := make([]bool, len(c.nodes))
	var k [2]float64
	for i := range c.nodes {
		x := &c.nodes[i]
		if i == 0 || x.id == process {
			continue
		}
		inside[i] = inside[x.parent] || matches[x.id] && x.kind == tree.Function
		if inside[i] || matches[x.id] && x.kind == tree.Entry {
			add(&k, x.own)
		}
	}
	f := Function{Name: c.Subject, Hits: k[now], New: k[before] == 0, Status: Undecided, Now: k[now] / c.n[now], Before: k[before] / c.n[before]}
	if c.Per != "" {
		f.Now, f.Before = f.Now*c.sides[now].Pieces.costOf(c.Per).Value, f.Before*c.sides[before].Pieces.costOf(c.Per).Value
	}
	f.Points.Value = c.points(k)
	f.Points.Low, f.Points.High = c.perUnit("", c.sample(now, "", k[now]), c.sample(before, "", k[before]), alpha)
	if cut := c.cut[before] + c.cut[now]; cut > 0 { // the pattern may match what was cut off, before or now
		f.Points.Low, f.Points.High = f.Points.Low-c.cut[before]/c.n[before], f.Points.High+c.scale.High*c.cut[now]/c.n[now]
	}
	f.Share = c.share("", "", k)
	switch {
	case f.Points.Low > c.Limit:
		f.Status = Grown
	case f.Points.High < evidence.Edge(c.Limit):
		f.Status = Same
	}
	c.result.Subject = &f
	return nil
}

// collector is the growth of the garbage collector's own goroutines, if it is surely above the limit.
func (c *comparing) collector() Growth {
	var k [2]float64
	for i := range c.nodes {
		if x := &c.nodes[i]; x.id != process && c.names[x.id] == "runtime.gcBgMarkWorker" {
			add(&k, x.below)
		}
	}
	is, was := c.sample(now, "", k[now]), c.sample(before, "", k[before])
	g := Growth{Value: c.points(k), Low: evidence.ChangeAbove(is, was, c.scale.Low, alpha), High: evidence.ChangeBelow(is, was, c.scale.High, highAlpha)}
	if k[now] == 0 || g.Low <= c.Limit || math.IsNaN(g.Value) {
		return Growth{}
	}
	return g
}
