package judge

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/release"
	"github.com/profguard/profguard/internal/tree"
	"github.com/profguard/profguard/internal/unit"
)

// ComparesBuilds reports whether a rule on growth is about CPU of each function, of a pattern, or of the process,
// without conditions on samples.
func (r *Rule) ComparesBuilds() bool {
	if r.Test != Grows || r.Kind != kinds.CPU || r.In != "" || len(r.Where) > 0 || r.Flat || r.Literal {
		return false
	}
	switch r.Class {
	case EachFunction, EachValue, Pattern:
		return r.Dimension == unit.Points
	case Process:
		return r.Per != ""
	}
	return false
}

// released compares builds: in the command, and in a guard that has a reference. Where there is none,
// a window is compared with the baseline.
type released struct{ growth }

// byBuilds reports whether builds are compared.
func (r released) byBuilds(m *measurement) bool {
	return m.facts.Releases != nil || r.Class.IsEach() && r.Per != ""
}

func (r released) window(m *measurement) Finding {
	why := m.unjudged(r.rule)
	switch {
	case why != nil:
		return Finding{Reason: why}
	case r.byBuilds(m):
		return r.compared(m)
	}
	f := r.growth.window(m)
	if f.Verdict != evidence.Fail || !r.Class.IsEach() {
		return f
	}
	// Where one function got cheaper, the shares of all others grow. With enough samples, that is told apart.
	of := r.compared(m)
	if _, tooFew := of.Reason.(NoRelease); !tooFew && of.Verdict != evidence.Fail {
		return of
	}
	return f
}

func (r released) follow(rec *record, m *measurement, f Finding) Finding {
	if r.byBuilds(m) {
		return rec.proven(f)
	}
	return r.growth.follow(rec, m, f)
}

// options say what is compared.
func (r released) options() release.Options {
	o := release.Options{Per: r.Per, Except: r.Except, Label: r.Label}
	if r.Class != Process {
		o.Limit = r.Limit
	}
	if r.Class == Pattern {
		o.Subject = r.Subject
	}
	return o
}

// compared judges by comparing builds.
func (r released) compared(m *measurement) Finding {
	var c *release.Comparison
	o := r.options()
	var why string
	if m.facts.Releases != nil {
		c, why = m.facts.Releases.Compare(m.ctx, o)
	} else {
		c, why = m.compareWith(o)
	}
	switch {
	case c == nil && why == "":
		return Finding{Reason: NoBaseline{}}
	case c == nil:
		return Finding{Reason: NoRelease{why}}
	case c.Why != "":
		return Finding{Samples: int64(c.Now.Samples), Reason: NoRelease{c.Why}}
	}
	f := r.findingOf(c)
	if r.Class == EachValue && r.query >= 0 {
		c := m.charges(r.rule)
		c.locate(f.Offenders)
		for i := range f.Offenders {
			f.Offenders[i].Low, f.Offenders[i].High = 0, 0 // the finding is about points
		}
	}
	return f
}

// compareWith compares the profile with the baseline.
func (m *measurement) compareWith(o release.Options) (c *release.Comparison, why string) {
	base := m.facts.Baseline
	if base == nil {
		return nil, ""
	}
	counter := &tree.Counter{Module: m.facts.Module, Modules: m.facts.Modules}
	if o.Label != "" {
		counter.Labels = []string{o.Label}
	}
	was, is := float64(base.DurationNanos)*1e-9, m.elapsed
	if m.facts.full {
		was, is = 0, 0
	}
	before, err := sideOf(m.ctx, counter, "the baseline", base, was, m.facts.BaselineWork)
	if err != nil {
		return nil, err.Error()
	}
	now, err := sideOf(m.ctx, counter, "this build", m.t, is, m.facts.Work)
	if err != nil {
		return nil, err.Error()
	}
	if o.Per == "" {
		o.Per = commonUnit(m.facts.Work, m.facts.BaselineWork) // what is known of the work tells what a function costs by itself
	}
	if c, err = release.Compare(m.ctx, before, now, o); err != nil {
		return nil, err.Error()
	}
	return c, ""
}

// sideOf is one profile as a side of a comparison. elapsed is 0 if it says nothing.
func sideOf(ctx context.Context, counter *tree.Counter, name string, t *decode.Table, elapsed float64, work map[string]float64) (*release.Side, error) {
	s, err := release.Of(ctx, counter, t, release.Piece{CPU: release.SampledCPU(t), Elapsed: elapsed, Work: work})
	if err == nil {
		s.Build.Version = name
	}
	return s, err
}

// commonUnit is a unit of work of which both sides know how much was done, "" if there is none.
func commonUnit(now, before map[string]float64) string {
	for _, per := range slices.Sorted(maps.Keys(now)) {
		if isAmount(now[per]) && isAmount(before[per]) {
			return per
		}
	}
	return ""
}

// findingOf is what a comparison says about the rule.
func (r released) findingOf(c *release.Comparison) Finding {
	f := Finding{Samples: int64(c.Now.Samples)}
	if c.Without > notableWithout {
		f.Notes.Without = c.Without
	}
	if r.Class == EachFunction && c.Verdict() != evidence.Fail {
		f.Notes.Cut = int64(math.Round(c.Now.Cut + c.Before.Cut))
	}
	f.Verdict = r.verdictOf(c)
	if r.Class == Process {
		f.Value, f.Low, f.High = c.Process.Value, c.Process.Low, min(c.Process.High, mostGrowth)
		f.Hits, f.Reason = f.Samples, Released{Of: c}
		return f
	}
	if x := c.Subject; r.Class == Pattern && x != nil {
		f.Hits, f.Reason = int64(math.Round(x.Hits)), Released{c, x}
		f.Value, f.Low, f.High = x.Points.Value, x.Points.Low, x.Points.High
		return f
	}
	var worst *release.Function
	for i := range c.Functions {
		x := &c.Functions[i]
		if x.Named {
			f.Over++
			if len(f.Offenders) < mostOffenders {
				f.Offenders = append(f.Offenders, offenderOf(x, c))
			}
		}
		if x.Status != release.Moved && (worst == nil || !worst.Named && (x.Named || x.Points.Low > worst.Points.Low)) {
			worst = x
		}
	}
	if nearest := c.Nearest(); f.Verdict == evidence.Inconclusive && nearest != nil { // the others are surely below the limit
		worst = nearest
	}
	if worst != nil {
		f.Who, f.Hits = worst.Name, int64(math.Round(worst.Hits))
		f.Value, f.Low, f.High = worst.Points.Value, worst.Points.Low, worst.Points.High
	}
	f.Reason = Released{c, worst}
	return f
}

// verdictOf is the verdict of a comparison.
func (r released) verdictOf(c *release.Comparison) evidence.Verdict {
	switch x := c.Subject; {
	case r.Class == Process:
		return c.ProcessVerdict(r.Limit)
	case r.Class != Pattern:
		return c.Verdict()
	case x == nil || c.Why != "":
		return evidence.Inconclusive
	case x.Status == release.Grown:
		return evidence.Fail
	case x.Status == release.Same:
		return evidence.Pass
	}
	return evidence.Inconclusive
}

// mostGrowth bounds a growth that nothing is known of.
const mostGrowth = 1e15

// mostOffenders is how many functions are named.
const mostOffenders = 5

// offenderOf is a function that has grown. Its share is of the samples, and has no bounds: those of the finding
// are in points.
func offenderOf(f *release.Function, c *release.Comparison) Offender {
	share := 0.0
	if c.Now.Samples > 0 {
		share = f.Hits / c.Now.Samples
	}
	frame := func(of release.Frame) Frame {
		return Frame{Function: of.Function, File: of.File, Line: of.Line, Share: share, Amount: share * c.Now.CPU, InModule: of.InModule}
	}
	o := Offender{Frame: frame(f.Line), Blame: frame(f.Blame)}
	o.Function = cmp.Or(f.Name, o.Function)
	return o
}
