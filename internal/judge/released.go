package judge

import (
	"cmp"
	"context"
	"math"

	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/release"
	"github.com/profguard/profguard/internal/unit"
)

// Releases compare the build that runs, by all its windows, with the one before.
type Releases interface {
	// Compare returns the newest comparison, or nil and why there is none.
	Compare(ctx context.Context, o release.Options) (c *release.Comparison, why string)
}

// comparesBuilds reports whether a rule on growth is about CPU of each function, or of the process,
// without conditions on samples.
func (r *rule) comparesBuilds() bool {
	if r.Test != Grows || r.Kind != kinds.CPU || r.in >= 0 || r.where >= 0 || r.Flat || r.Literal {
		return false
	}
	return r.Class == Each && !r.Packages && r.Dimension == unit.Points || r.Class == Process && r.Per != ""
}

// byBuilds reports whether a rule is judged by comparing builds.
func (g growth) byBuilds(m *measurement) bool {
	return g.comparesBuilds() && (m.facts.Releases != nil || g.Class == Each && g.Per != "")
}

// released judges a rule by comparing builds. It reports false if the rule is judged by the window
// alone.
func (g growth) released(m *measurement) (f Finding, ok bool) {
	if !g.byBuilds(m) {
		return f, false
	}
	o := release.Options{Per: g.Per, Except: g.Except}
	if g.Class == Each {
		o.Limit = g.Limit
	}
	var c *release.Comparison
	var why string
	if m.facts.Releases != nil {
		c, why = m.facts.Releases.Compare(context.Background(), o)
	} else {
		c, why = m.compareWith(o)
	}
	switch {
	case c == nil && why == "":
		return Finding{Reason: NoBaseline{}}, true
	case c == nil:
		return Finding{Reason: NoRelease{why}}, true
	case c.Why != "":
		return Finding{Samples: int64(c.Now.Samples), Reason: NoRelease{c.Why}}, true
	}
	return g.findingOf(c), true
}

// compareWith compares the profile with the baseline.
func (m *measurement) compareWith(o release.Options) (c *release.Comparison, why string) {
	base := m.facts.Baseline
	if base == nil {
		return nil, ""
	}
	before := &release.Side{Table: base, Module: m.facts.Module, Modules: m.facts.Modules, Windows: []release.Window{{CPU: release.SampledCPU(base), Work: m.facts.BaselineWork}}}
	now := &release.Side{Table: m.t, Module: m.facts.Module, Modules: m.facts.Modules, Windows: []release.Window{{CPU: release.SampledCPU(m.t), Elapsed: m.elapsed, Work: m.facts.Work}}}
	c, err := release.Compare(context.Background(), before, now, o)
	if err != nil {
		return nil, err.Error()
	}
	return c, ""
}

// findingOf is what a comparison says about the rule.
func (g growth) findingOf(c *release.Comparison) Finding {
	f := Finding{Samples: int64(c.Now.Samples)}
	if g.Class == Process {
		f.Verdict, f.Value, f.Low, f.High = c.ProcessVerdict(g.Limit), c.Process.Value, c.Process.Low, min(c.Process.High, most)
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
		if x.Status != release.Moved && (worst == nil || !worst.Named && (x.Named || x.Points.High > worst.Points.High)) {
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

// most bounds a growth that nothing is known of.
const most = 1e15

// mostOffenders is how many functions are named.
const mostOffenders = 5

// offenderOf is a function that has grown. Its share is of the samples.
func offenderOf(f *release.Function, c *release.Comparison) Offender {
	share := 0.0
	if c.Now.Samples > 0 {
		share = f.Hits / c.Now.Samples
	}
	frame := func(of release.Frame) Frame {
		return Frame{Function: of.Function, File: of.File, Line: of.Line, Share: share, Amount: share * c.Now.CPU, Own: of.Own}
	}
	o := Offender{Frame: frame(f.Line), Low: f.Points.Low, High: f.Points.High, Blame: frame(f.Blame)}
	o.Function = cmp.Or(f.Name, o.Function)
	return o
}
