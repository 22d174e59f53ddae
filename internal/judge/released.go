package judge

import (
	"cmp"
	"context"
	"math"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/release"
	"github.com/profguard/profguard/internal/unit"
)

// comparesBuilds reports whether a rule on growth is about CPU of each function, or of the process,
// without conditions on samples.
func (r *Rule) comparesBuilds() bool {
	if r.Test != Grows || r.Kind != kinds.CPU || r.In != "" || len(r.Where) > 0 || r.Flat || r.Literal {
		return false
	}
	return r.Class == Each && !r.Packages && r.Dimension == unit.Points || r.Class == Process && r.Per != ""
}

// released compares builds: in the command, and in a guard that has a reference. Where there is none,
// a window is compared with the baseline.
type released struct{ growth }

// byBuilds reports whether builds are compared.
func (r released) byBuilds(m *measurement) bool {
	return m.facts.Releases != nil || r.Class == Each && r.Per != ""
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
	if f.Verdict != evidence.Fail || r.Class != Each {
		return f
	}
	// Where one function got cheaper, the shares of all others grow. With enough samples, that is told apart.
	if of := r.compared(m); of.Verdict != evidence.Fail && !tooFewToCompare(of) {
		return of
	}
	return f
}

// tooFewToCompare reports whether the samples are too few to correct shares for what else has changed.
func tooFewToCompare(f Finding) bool {
	_, none := f.Reason.(NoRelease)
	return none
}

func (r released) follow(rec *record, m *measurement, f Finding) Finding {
	if r.byBuilds(m) {
		return rec.proven(f)
	}
	return r.growth.follow(rec, m, f)
}

// compared judges by comparing builds.
func (r released) compared(m *measurement) Finding {
	o := release.Options{Per: r.Per, Except: r.Except}
	if r.Class == Each {
		o.Limit = r.Limit
	}
	return r.comparedBy(m, o)
}

func (r released) comparedBy(m *measurement, o release.Options) Finding {
	var c *release.Comparison
	var why string
	if m.facts.Releases != nil {
		c, why = m.facts.Releases.Compare(context.Background(), o)
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
	return r.findingOf(c)
}

// compareWith compares the profile with the baseline.
func (m *measurement) compareWith(o release.Options) (c *release.Comparison, why string) {
	base := m.facts.Baseline
	if base == nil {
		return nil, ""
	}
	before := &release.Side{Build: release.Build{Version: "the baseline"}, Table: base, Module: m.facts.Module, Modules: m.facts.Modules, Windows: []release.Window{{CPU: release.SampledCPU(base), Work: m.facts.BaselineWork}}}
	now := &release.Side{Build: release.Build{Version: "this build"}, Table: m.t, Module: m.facts.Module, Modules: m.facts.Modules, Windows: []release.Window{{CPU: release.SampledCPU(m.t), Elapsed: m.elapsed, Work: m.facts.Work}}}
	c, err := release.Compare(context.Background(), before, now, o)
	if err != nil {
		return nil, err.Error()
	}
	return c, ""
}

// findingOf is what a comparison says about the rule.
func (r released) findingOf(c *release.Comparison) Finding {
	f := Finding{Samples: int64(c.Now.Samples)}
	if r.Class == Each && c.Verdict() != evidence.Fail {
		f.Notes.Cut = int64(math.Round(c.Now.Cut + c.Before.Cut))
	}
	if r.Class == Process {
		f.Verdict, f.Value, f.Low, f.High = c.ProcessVerdict(r.Limit), c.Process.Value, c.Process.Low, min(c.Process.High, mostGrowth)
		f.Hits, f.Reason = f.Samples, Released{Of: c}
		return f
	}
	f.Verdict = c.Verdict()
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
	if worst != nil {
		f.Who, f.Hits = worst.Name, int64(math.Round(worst.Hits))
		f.Value, f.Low, f.High = worst.Points.Value, worst.Points.Low, worst.Points.High
	}
	f.Reason = Released{c, worst}
	return f
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
		return Frame{Function: of.Function, File: of.File, Line: of.Line, Share: share, Amount: share * c.Now.CPU, Own: of.Own}
	}
	o := Offender{Frame: frame(f.Line), Blame: frame(f.Blame)}
	o.Function = cmp.Or(f.Name, o.Function)
	return o
}
