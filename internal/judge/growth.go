package judge

import (
	"math"
	"slices"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/unit"
)

// A growth compares what a window charges with what the baseline does, in points of
// share or per unit of work.
type growth struct {
	w            *window
	r            *rule
	sums, before *charge.Sums
	done, done0  float64 // units of work, now and in the baseline; 0 for points
}

// growthOf is the comparison that a rule asks for, or why there is none.
func (w *window) growthOf(r *rule) (g growth, why Reason) {
	base := &w.judged.base
	if base.problem != nil {
		return g, base.problem
	}
	g = growth{w: w, r: r, sums: w.judged.counter.Sums(r.query), before: base.counter.Sums(r.query)}
	if g.before.Total <= 0 {
		return g, BaselineEmpty{}
	}
	if r.Dimension == unit.Points {
		return g, nil
	}
	if g.done, why = w.divisor(r); why != nil {
		return g, why
	}
	if g.done0 = w.facts.BaselineWork[r.Per]; !isAmount(g.done0) {
		return g, BaselineWorkUnknown{}
	}
	return g, nil
}

// inPoints reports whether shares are compared, and not amounts per unit of work.
func (g *growth) inPoints() bool { return g.r.Dimension == unit.Points }

func hits(s *charge.Sums, value int64) float64 { return s.Part(value) * s.N }

// charged is how many hits the baseline has of a function or package, or of what the
// rule is about ("").
func (g *growth) charged(name string) float64 {
	return hits(g.before, g.w.judged.base.charged(g.r, name))
}

// baseline is so many hits of it, as package evidence compares with them.
func (g *growth) baseline(k0 float64) evidence.Baseline {
	if g.inPoints() {
		return evidence.Baseline{K: k0, N: g.before.N, Limit: g.r.Limit}
	}
	return evidence.Baseline{K: k0, N: g.done0, Rates: true, Limit: g.r.Limit}
}

// bounds tell what somebody's share, or hits per unit of work, may be: it has grown
// above most, and surely has not by 1.25 times the limit below pass.
func (g *growth) bounds(name string) (most, pass float64) {
	return g.baseline(g.charged(name)).Bounds()
}

// sequential judges growth over blocks.
func (g *growth) sequential(name string) evidence.Sequential {
	return evidence.NewSequentialGrowth(g.baseline(g.charged(name)))
}

// grown is what is charged to somebody now and in the baseline, and what that proves.
type grown struct {
	key   int32
	k, k0 int64
	evidence.Finding
}

// of compares the value of a key with that of the baseline.
func (g *growth) of(key int32, k, k0 int64) grown {
	x := grown{key: key, k: k, k0: k0}
	now, then := hits(g.sums, k), hits(g.before, k0)
	switch {
	case g.inPoints() && g.r.value.census:
		x.Finding = counted(float64(k)/float64(g.sums.Total)-float64(k0)/float64(g.before.Total), g.r.Limit)
	case g.inPoints():
		tests := 1.0
		if g.r.Class == Each {
			tests = evidence.Tests(perSample, g.r.Limit)
		}
		x.Finding = g.baseline(then).Growth(now, g.sums.N, 1, tests)
	default:
		x.Finding = g.baseline(then).Growth(now, g.done, 1, 1)
		// What is missing is work; say it in samples, in proportion.
		x.Needed *= g.sums.N / g.done
		x.Baseline *= g.before.N / g.done0
	}
	return x
}

// grownBy compares a function or package by its name, or what the rule is about ("").
func (w *window) grownBy(r *rule, name string) (x grown) {
	if g, why := w.growthOf(r); why == nil {
		x = g.of(-1, w.charged(r, name), w.judged.base.charged(r, name))
	}
	return x
}

// charged is what the window charges to a function or package, 0 if it does not show; of
// a rule that is not about each, to the one thing that it is about.
func (w *window) charged(r *rule, name string) int64 {
	sums := w.judged.counter.Sums(r.query)
	if r.Class != Each {
		return r.charged(sums)
	}
	for _, key := range sums.Keys {
		if w.keyName(sums, key) == name {
			return sums.By(key)
		}
	}
	return 0
}

// worst compares all that the rule is about, and returns the worst and those over the
// limit.
func (g *growth) worst() (worst grown, over []grown) {
	found := false
	consider := func(x grown) {
		if !found || worse(x.Finding, worst.Finding) {
			worst, found = x, true
		}
		if x.Value > g.r.Limit {
			over = append(over, x)
		}
	}
	base := &g.w.judged.base
	switch g.r.Class {
	case Each:
		for key := range g.w.ranked(g.r.query) {
			small := found && g.isSmall(key)
			if small && (!g.inPoints() || worst.Verdict != evidence.Pass || g.sums.Share(key) <= worst.Value) {
				break // this one, and all that have less
			}
			k0 := base.charged(g.r, g.w.keyName(g.sums, key))
			if small && g.sums.Share(key)-g.before.Part(k0) <= worst.Value {
				continue // it passes, and is not the one to name
			}
			consider(g.of(key, g.sums.By(key), k0))
		}
	default:
		consider(g.of(-1, g.r.charged(g.sums), base.charged(g.r, "")))
	}
	if !found {
		consider(g.of(-1, 0, 0))
	}
	return worst, over
}

// smallShare is the share of a window below which nobody asks what a function costs
// per unit of work.
const smallShare = 0.01

// isSmall reports whether the key, and with it all that have less, need not be
// compared. A share cannot have grown by more than it is. And what a function
// costs per unit of work is not worth asking of one that has a hundredth of it:
// of the many that were hit once or twice, some have always doubled.
func (g *growth) isSmall(key int32) bool {
	share := g.sums.Share(key)
	if !g.inPoints() {
		return share < smallShare
	}
	n, limit := g.sums.N, g.r.Limit
	return share <= limit && (g.r.value.census || evidence.Upper(share*n, n, 1, evidence.PassAlpha) < evidence.Zone*limit)
}

// worse orders findings: a fail before what is open before a pass, and among
// equals the one that is further beyond.
func worse(f, than evidence.Finding) bool {
	switch {
	case f.Verdict != than.Verdict:
		return severity(f.Verdict) > severity(than.Verdict)
	case f.Verdict == evidence.Fail:
		return f.Low > than.Low
	case f.Verdict == evidence.Pass:
		return f.Value > than.Value
	}
	return f.High > than.High
}

func severity(v evidence.Verdict) int {
	return [...]int{evidence.Pass: 0, evidence.Inconclusive: 1, evidence.Fail: 2}[v]
}

// grows judges growth in one window.
func (w *window) grows(r *rule, f *Finding) {
	g, why := w.growthOf(r)
	if why != nil {
		f.Reason = why
		return
	}
	x, over := g.worst()
	f.Verdict = x.Verdict
	switch {
	case f.Verdict == evidence.Fail:
		over = slices.DeleteFunc(over, func(o grown) bool { return o.Verdict != evidence.Fail })
	case f.Verdict == evidence.Pass && (g.sums.Cut > 0 || g.before.Cut > 0):
		f.Verdict, f.Cut, f.BaselineCut = evidence.Inconclusive, w.cut(r), g.sums.Cut == 0
	}
	if f.Verdict != evidence.Pass && len(over) > 0 {
		x = g.explain(x, over, f)
	}
	x.Verdict = f.Verdict
	f.take(x.Finding)
	f.Hits = int64(math.Round(hits(g.sums, x.k)))
	if x.key >= 0 {
		f.Who = w.keyName(g.sums, x.key)
	}
	f.Reason = Growth{
		Before: g.before.N, New: !g.inPoints() && x.k > 0 && x.k0 <= 0,
		Needed: x.Needed, NeededBefore: x.Baseline,
	}
	f.Elsewhere = w.elsewhere(r)
}

// explain names those who are over the limit, and returns what the finding is of:
// among each it is the deepest, otherwise the worst.
func (g *growth) explain(worst grown, over []grown, f *Finding) grown {
	m := shareOf(g.r.value, g.sums)
	if g.r.Class != Each {
		g.w.explainSubject(g.r, m, f)
		return worst
	}
	limit := int64(0) // whoever has grown is named, however little it has
	if g.inPoints() {
		limit = int64(g.r.Limit * float64(g.sums.Total))
	}
	keys := make([]int32, len(over))
	for i := range over {
		keys[i] = over[i].key
	}
	f.Over = len(over)
	if first, ok := g.w.explain(g.r, g.r.query, keys, limit, m, f); ok {
		return over[slices.Index(keys, first)]
	}
	return worst
}
