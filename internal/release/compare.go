package release

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/names"
)

// Options say what is compared, and how.
type Options struct {
	Per   string  // the unit of work; "" for shares, corrected for the composition
	Limit float64 // the least growth, in parts of what a unit cost before, that matters: 0.03 are 3 points; 0 is [DefaultLimit]
	// Except are patterns of functions whose cost is accepted: see package charge.
	Except []string
}

// FirstBuild says, perhaps with more behind it, why nothing is compared where there is no other build.
const FirstBuild = "this is the first build here; it becomes the reference"

// DefaultLimit is the growth of a function that matters where nobody says.
const DefaultLimit = 0.03

const (
	// alpha is the chance of a false alarm at one look at all functions. A release is looked at
	// some twenty times while its samples add up, which counts as ten times.
	alpha = 1e-4
	// highAlpha is the chance that a growth is above its upper bound.
	highAlpha = evidence.PassAlpha
	// perSample is the measured number of distinct functions that a sample is charged to.
	perSample = 10
	// least is the number of samples of a side from which shares without a unit of work are compared:
	// with 44 the correction for the composition went wrong by a factor of two.
	least = 2000
	// commonMost is the largest change of all functions in common that is taken for the machine's.
	// More is a change of the program.
	commonMost = 1.3
	// notable is the share, of either side, from which a function is compared.
	notable = 0.005
)

// A Status says what is known of a function.
type Status string

const (
	Grown     Status = "more"      // surely, by more than the limit
	Cheaper   Status = "less"      // surely
	Moved     Status = "moved"     // what calls it has not grown with it
	Undecided Status = "undecided" // it may have grown by more than the limit
	Same      Status = "same"      // it has not grown by more than the limit
)

// Comparison is what a build (now) costs against another one (before).
type Comparison struct {
	Per    string  `json:"per,omitempty"`
	Before Summary `json:"before"`
	Now    Summary `json:"now"`

	// Why says why nothing is compared, "" if something is.
	Why string `json:"why,omitempty"`

	// Process is the growth of the whole process per unit of work, as a part: 0.031 is 3.1% more.
	// Known says that there is one.
	Process Growth `json:"process"`
	Known   bool   `json:"known"`
	// Scale is what everything costs now in parts of what it cost before. Without a unit of work it
	// is relative to the functions that did not change.
	Scale Growth `json:"scale"`
	// Common is what most functions have in common, per unit of work; 1 if not known.
	Common float64 `json:"common"`

	// Functions are those with a notable share on either side: first those that cost more, with the
	// deepest of a chain of calls first, then by how much they have changed.
	Functions []Function `json:"functions"`
	// Matched is the part of the samples now that ends in functions which both builds have.
	Matched float64 `json:"matched"`
	// Machine says that the machine was busier on one side, and what that may be of the difference; "" if
	// it was not. The bounds of the process, and of functions, count that in.
	Machine string `json:"machine,omitempty"`
	// Collector is the growth of the garbage collector, which is no function's, in points: zero unless it surely
	// has grown by more than the limit, and no function is to be named.
	Collector Growth `json:"collector,omitzero"`
	// Notes are what a reader should know, as other releases of Go.
	Notes []string `json:"notes,omitempty"`
}

// A Summary says what was measured of a side.
type Summary struct {
	Build   Build   `json:"build"`
	Samples float64 `json:"samples"`
	CPU     float64 `json:"cpu"`     // seconds
	Elapsed float64 `json:"elapsed"` // seconds
	Work    float64 `json:"work"`    // in the unit of the comparison
	Load    float64 `json:"load"`    // work in a second; 0 if not known
	// Cut are samples whose stacks the runtime has cut off, so that other functions may be in them, too.
	Cut float64 `json:"cut,omitempty"`
}

// A Growth is a number with its bounds.
type Growth struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// A Function is one that both builds have, or one of them.
type Function struct {
	Name   string `json:"function"`
	Was    string `json:"was,omitempty"` // its name before, if that was another one
	Status `json:"change"`
	// Now and Before are its cost: CPU seconds per unit of work, or a share without a unit.
	Now    float64 `json:"now"`
	Before float64 `json:"before"`
	// Points is its growth in parts of what everything cost before, without what has Moved to it. Where its
	// Status is Moved, it is with that.
	Points Growth `json:"points"`
	// Moved is the part of the growth that has only moved, in points.
	Moved float64 `json:"moved,omitempty"`
	// Named says that it is to be named: it costs more for sure, and not because of a function
	// below it that does.
	Named bool `json:"named"`
	// Caller is what the growth was compared with, and From the functions where what has Moved was before.
	Caller string   `json:"caller,omitempty"`
	From   []string `json:"from,omitempty"`
	// Line is its costliest line, and Blame the nearest one of the program's own module on the way to it. See
	// mostLocated for those without.
	Line  Frame `json:"line,omitzero"`
	Blame Frame `json:"blame,omitzero"`
	// New says that no sample before has it.
	New bool `json:"new"`
	// Hits are its samples now.
	Hits float64 `json:"hits"`

	id id
}

// A Frame is a line of a function.
type Frame struct {
	Function string `json:"function"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Own      bool   `json:"own,omitempty"` // of the program's own module
}

// comparing is a comparison that is being made.
type comparing struct {
	Options
	before, now *counted
	names       []string // by id: those of now, where there are
	was         []string // by id: those of before
	scale       Growth   // its High is what all may cost if the machine was busier before
	likely      float64  // a lower bound of it that errs with highAlpha
	expected    float64  // what a function may cost now, in parts of what it cost before, without a change of the program
	moves       map[id]move
	result      *Comparison
}

// Compare compares two sides. An error says that a side is none, or that the context has ended.
func Compare(ctx context.Context, before, now *Side, o Options) (*Comparison, error) {
	if o.Limit <= 0 {
		o.Limit = DefaultLimit
	}
	c := &comparing{Options: o, moves: map[id]move{}, result: &Comparison{Per: o.Per, Common: 1}}
	before, now, err := aligned(ctx, before, now)
	if err != nil {
		return nil, fmt.Errorf("compare releases: %w", err)
	}
	if c.before, err = count(ctx, before, o.Except); err != nil {
		return nil, fmt.Errorf("compare releases: before: %w", err)
	}
	if c.now, err = count(ctx, now, o.Except); err != nil {
		return nil, fmt.Errorf("compare releases: now: %w", err)
	}
	c.pair()
	r := c.result
	r.Before, r.Now = before.summary(o.Per), now.summary(o.Per)
	r.Before.Samples, r.Now.Samples = c.before.n, c.now.n
	r.Before.Cut, r.Now.Cut = c.before.cut, c.now.cut
	r.Notes = c.notes()
	if r.Why = c.measure(); r.Why != "" {
		return r, nil
	}
	r.Scale = c.scale
	c.functions()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("compare releases: %w", context.Cause(ctx))
	}
	return r, nil
}

func (s *Side) summary(per string) Summary {
	t := s.total()
	sum := Summary{Build: s.Build, CPU: t.CPU, Elapsed: t.Elapsed, Work: t.Work[per]}
	if t.Elapsed > 0 {
		sum.Load = sum.Work / t.Elapsed
	}
	return sum
}

// pair gives one id to the names of both sides that mean the same function.
func (c *comparing) pair() {
	was, is := c.before.folded(), c.now.folded()
	pairs := names.Pair(without(was, is), without(is, was))
	byOld, byNew := map[string]id{}, map[string]id{}
	for _, name := range sorted(was) {
		byOld[name] = id(len(c.names))
		c.names, c.was = append(c.names, name), append(c.was, name)
	}
	for _, name := range sorted(is) {
		old := name
		if paired := pairs[name]; paired != "" {
			old = paired
		}
		at, known := byOld[old]
		if !known {
			at = id(len(c.names))
			c.names, c.was = append(c.names, name), append(c.was, "")
		}
		c.names[at], byNew[name] = name, at
	}
	c.before.number(len(c.names), func(name string) id { return byOld[name] })
	c.now.number(len(c.names), func(name string) id { return byNew[name] })
	matched := 0.0
	for at, k := range c.now.leaf {
		if c.before.all[at] > 0 {
			matched += k
		}
	}
	if c.now.n > 0 {
		c.result.Matched = matched / c.now.n
	}
}

func without(names, others map[string]bool) (list []string) {
	for _, name := range sorted(names) {
		if !others[name] {
			list = append(list, name)
		}
	}
	return list
}

func sorted(names map[string]bool) (list []string) {
	for name := range names {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// notes say what makes the two sides less alike.
func (c *comparing) notes() (notes []string) {
	a, b := c.before.Build, c.now.Build
	if a.Go != "" && b.Go != "" && a.Go != b.Go {
		notes = append(notes, fmt.Sprintf("built by %s, before by %s: what the compiler and the standard library changed counts as the program's", b.Go, a.Go))
	}
	if a.Arch != "" && b.Arch != "" && a.Arch != b.Arch {
		notes = append(notes, fmt.Sprintf("on %s, before on %s: costs of other machines are compared", b.Arch, a.Arch))
	}
	if x, y := c.result.Before.Load, c.result.Now.Load; x > 0 && y > 0 && (y > 2*x || x > 2*y) {
		notes = append(notes, fmt.Sprintf("%.3g %s/s, before %.3g: costs of another load are compared", y, c.Per, x))
	}
	if cut, cut0 := c.now.cut/max(c.now.n, 1), c.before.cut/max(c.before.n, 1); max(cut, cut0) >= notable {
		notes = append(notes, fmt.Sprintf("the runtime keeps %d frames of a stack, and has cut off those of %.1f%% of the samples, %.1f%% before: "+
			"what has called these may have grown by as much as they have", charge.CPUDepth, 100*cut, 100*cut0))
	}
	return notes
}

// measure finds the scale, or says why there is none.
func (c *comparing) measure() (why string) {
	r := c.result
	if c.before.n < 1 || c.now.n < 1 {
		return "there are no samples yet"
	}
	c.expected = 1
	now, before := c.leaves()
	common, low, high, known := evidence.Common(now, before, highAlpha)
	if c.Per == "" {
		switch {
		case c.before.n < least || c.now.n < least:
			return fmt.Sprintf("without a unit of work, growth takes %d samples on both sides: there are %.0f, and %.0f before", least, c.now.n, c.before.n)
		case !known:
			return "too few functions have samples in both builds: budgets per unit of work can tell"
		}
		c.scale, c.likely = Growth{1 / common, 1 / high, 1 / low}, 1/high
		return ""
	}
	is, was := c.now.cost(c.Per), c.before.cost(c.Per)
	switch {
	case r.Before.Work > 0 && !(r.Before.CPU > 0):
		return "it is not known how much CPU time was used before: the profile does not say for how much each sample stands"
	case r.Now.Work > 0 && !(r.Now.CPU > 0):
		return "it is not known how much CPU time is used now: the profile does not say for how much each sample stands"
	case !(was.Value > 0):
		return fmt.Sprintf("it is not known how many units of %q there were before", c.Per)
	case !(is.Value > 0):
		return fmt.Sprintf("it is not known how many units of %q there are now", c.Per)
	}
	sampled(&is, c.now)
	sampled(&was, c.before)
	_, least, _ := is.Against(was, alpha)
	value, likely, most := is.Against(was, highAlpha)
	busier, wasBusier, said := c.machine()
	r.Machine = said
	c.scale, c.likely = Growth{value, least, most * wasBusier}, likely
	load := 1.0
	if x, y := r.Before.Load, r.Now.Load; x > 0 && y > 0 {
		load = max(1, x/y)
	}
	if known {
		r.Common = value * common
		c.expected = min(max(r.Common, 1), commonMost)
	}
	c.expected = max(c.expected, load, busier)
	r.Process, r.Known = Growth{value - 1, least/busier - 1, c.scale.High - 1}, true
	return ""
}

// sampled makes up for a side without windows, whose only piece shows no variance: that of its samples
// is known.
func sampled(p *evidence.PerWork, c *counted) {
	if p.Freedom < 1 && p.Value > 0 {
		p.Variance, p.Freedom = unmeasured/max(c.n, 1), math.Inf(1)
	}
}

// leaves are the hits of functions in their own bodies, of both sides.
func (c *comparing) leaves() (now, before []evidence.Hits) {
	for at := range c.names {
		if k, k0 := c.now.leaf[at], c.before.leaf[at]; k > 0 && k0 > 0 {
			now, before = append(now, c.now.hits(k, "")), append(before, c.before.hits(k0, ""))
		}
	}
	return now, before
}

// functions compares the functions, each by itself.
func (c *comparing) functions() {
	var list []Function
	tests := evidence.Tests(perSample, c.Limit)
	for at := range c.names {
		k, k0 := c.now.inner[at], c.before.inner[at]
		if max(k/c.now.n, k0/c.before.n) < notable || c.names[at] == "" {
			continue
		}
		list = append(list, c.compare(id(at), tests))
	}
	for i := range list {
		f := &list[i]
		if f.Points.Low > 0 {
			c.judgeMove(f, tests)
		}
		if f.Status == Grown && f.Points.Low <= c.Limit {
			f.Status = Undecided
			if f.Points.High < evidence.Edge(c.Limit) {
				f.Status = Same
			}
		}
	}
	order := c.named(list)
	sort.SliceStable(list, func(i, j int) bool { // smaller than an instance of slices.SortStableFunc
		a, b := &list[i], &list[j]
		return cmp.Or(cmp.Compare(order[a.id], order[b.id]), -cmp.Compare(math.Abs(a.Points.Value), math.Abs(b.Points.Value)), cmp.Compare(a.Name, b.Name)) < 0
	})
	for i := range list {
		f := &list[i]
		f.Named = order[f.id] < unnamed
		if i < mostLocated || f.Status != Same && f.Status != Undecided {
			c.locate(f)
		}
	}
	c.result.Functions = slices.Clone(list) // which is kept
	if len(list) == 0 || !list[0].Named {
		c.result.Collector = c.collector()
	}
}

// collector is the growth of the garbage collector's own goroutines, if it is surely above the limit.
func (c *comparing) collector() Growth {
	at := slices.Index(c.names, "runtime.gcBgMarkWorker")
	if at < 0 {
		return Growth{}
	}
	now, before := c.now.hits(c.now.all[at], ""), c.before.hits(c.before.all[at], "")
	g := Growth{Value: c.scale.Value*now.K/now.N - before.K/before.N}
	if g.Low, g.High = c.bounds(now, before, 1); g.Low <= c.Limit {
		return Growth{}
	}
	return g
}

// compare is a function's change.
func (c *comparing) compare(at id, tests float64) Function {
	now, before := c.both(at)
	share, share0 := now.K/now.N, before.K/before.N
	f := Function{Name: c.names[at], New: c.before.all[at] == 0, Hits: now.K, id: at, Status: Undecided}
	if c.was[at] != f.Name {
		f.Was = c.was[at]
	}
	f.Now, f.Before = share, share0
	if c.Per != "" {
		f.Now, f.Before = share*c.now.cost(c.Per).Value, share0*c.before.cost(c.Per).Value
	}
	f.Points.Value = c.scale.Value*share - share0
	f.Points.Low, f.Points.High = c.bounds(now, before, tests)
	if cut, cut0 := c.now.cut-c.now.known[at], c.before.cut-c.before.known[at]; cut+cut0 > 0 {
		// The bounds hold whether none of what was cut off is the function's, or all of it.
		now.K, before.K = now.K+cut, before.K+cut0
		low, high := c.bounds(now, before, tests)
		f.Points.Low, f.Points.High = min(f.Points.Low, low), max(f.Points.High, high)
	}
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

// both are what is charged to a function on both sides.
func (c *comparing) both(at id) (now, before evidence.Hits) {
	return c.now.hits(c.now.inner[at], c.names[at]), c.before.hits(c.before.inner[at], c.was[at])
}

// bounds are those of a growth, of which the lower one errs with alpha over so many tests.
func (c *comparing) bounds(now, before evidence.Hits, tests float64) (low, high float64) {
	low = evidence.ChangeAbove(now, before, c.scale.Low, alpha/tests)
	if e := c.expected; e > 1 { // beyond what the machine and the load may explain
		low = min(low, e*evidence.ChangeAbove(now, before, c.scale.Low/e, alpha/tests))
	}
	return low, evidence.ChangeBelow(now, before, c.scale.High, highAlpha)
}

// mostLocated is from which function on only those have lines that cost more or less, or have moved: nobody shows
// the others, and of many functions with deep stacks the lines took three quarters of a comparison.
const mostLocated = 40

// locate finds the lines of a function.
func (c *comparing) locate(f *Function) {
	side := c.now
	if c.now.inner[f.id] == 0 {
		side = c.before
	}
	name := f.Name
	if side == c.before && f.Was != "" {
		name = f.Was
	}
	e := side.counter.Explain(side.query, side.counter.Key(side.query, name))
	f.Line, f.Blame = frame(&e.Here), frame(&e.Own)
}

func frame(f *charge.Frame) Frame { return Frame{f.Function, f.File, f.Line, f.Own} }
