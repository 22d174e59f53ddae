package budget

import (
	"math"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/evidence"
)

// Counts turn what is charged to a function or package, or to what the budget is
// about (""), into hits out of trials, and the limit on their share.
type counts func(name string, value int64) (k, n, limit float64)

func (w *window) countsOf(r *rule, sums *charge.Sums) (counts, bool) {
	if r.budget.Rule == "grows" {
		return w.growthCounts(r, sums)
	}
	m := w.measureOf(r, sums)
	if m.problem != "" {
		return nil, false
	}
	if r.dim == dimShare {
		return func(_ string, v int64) (float64, float64, float64) { return m.hits(v), sums.N, r.limit }, true
	}
	trials := evidence.Trials(m.exposure, r.limit)
	return func(_ string, v int64) (float64, float64, float64) {
		return m.hits(v), trials, evidence.RareShare
	}, true
}

// growthCounts holds a stream against what the baseline allows.
func (w *window) growthCounts(r *rule, sums *charge.Sums) (counts, bool) {
	g, ok := w.growthOf(r)
	if !ok {
		return nil, false
	}
	return func(name string, v int64) (float64, float64, float64) {
		k := float64(v) / float64(sums.Total) * sums.N
		limit, _ := g.bounds(name)
		if r.dim == dimPoints {
			return k, sums.N, limit
		}
		return k, evidence.Trials(g.done, limit), evidence.RareShare
	}, true
}

// stream is made for a function or package, or for what the budget is about (""),
// with the limit that its counts state.
func (w *window) stream(r *rule, name string, limit, lnA float64) evidence.Stream {
	if r.budget.Rule == "grows" {
		if g, ok := w.growthOf(r); ok {
			most, pass := g.bounds(name)
			if r.dim != dimPoints && most > 0 {
				pass *= limit / most
			}
			return evidence.NewGrowthStream(limit, pass, lnA)
		}
	}
	return evidence.NewStream(limit, lnA)
}

// growthBounds tell what somebody's share, or hits per unit of work, may be: it
// has grown above most, and surely has not by 1.25 times the limit below pass.
type growthBounds struct {
	done   float64 // work of the window
	bounds func(name string) (most, pass float64)
	judge  func(name string) evidence.Sequential // for a trial
}

func (w *window) growthOf(r *rule) (g growthBounds, ok bool) {
	base := &w.judged.base
	if base.problem != "" {
		return g, false
	}
	before := base.counter.Sums(r.query)
	if before.Total <= 0 {
		return g, false
	}
	charged := func(name string) float64 {
		v := base.before(r)
		if r.class == classEach {
			v = base.charged(r.query, name)
		}
		return float64(v) / float64(before.Total) * before.N
	}
	if r.dim == dimPoints {
		g.bounds = func(name string) (float64, float64) {
			k0 := charged(name)
			return evidence.GrowthLimit(k0, before.N, 1, r.limit), evidence.GrowthEdge(k0, before.N, 1, r.limit)
		}
		g.judge = func(name string) evidence.Sequential {
			return evidence.NewSequentialGrowth(charged(name), before.N, r.limit)
		}
		return g, true
	}
	done0 := w.facts.BaselineWork[r.budget.Per]
	if g.done = w.facts.Work[r.budget.Per]; !isAmount(g.done) || !isAmount(done0) {
		return g, false
	}
	g.bounds = func(name string) (float64, float64) {
		k0 := charged(name)
		return evidence.RateLimit(k0, done0, 1+r.limit), evidence.RateEdge(k0, done0, 1+r.limit)
	}
	g.judge = func(name string) evidence.Sequential {
		return evidence.NewSequentialRatio(charged(name), done0, 1+r.limit)
	}
	return g, true
}

// leastAmount is less than any work is, and so far above zero that no
// profile's total, 1e19 at the most, becomes infinite when it is divided by it.
const leastAmount = 1e-100

// isAmount reports whether something can be divided by x.
func isAmount(x float64) bool { return x >= leastAmount && !math.IsInf(x, 1) }
