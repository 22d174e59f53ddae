package budget

import (
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/tally"
)

// A bet turns what is charged to a function or package, or to what the budget is
// about (""), into hits out of trials, and the limit on their share.
type bet func(name string, value int64) (k, n, limit float64)

func (w *window) betOf(r *rule, sums *tally.Sums) (bet, bool) {
	if r.budget.Rule == "grows" {
		return w.growthBet(r, sums)
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

// growthBet holds a stream against what the baseline allows.
func (w *window) growthBet(r *rule, sums *tally.Sums) (bet, bool) {
	base := &w.judged.base
	if base.problem != "" {
		return nil, false
	}
	before := base.counter.Sums(r.query)
	if before.Total <= 0 {
		return nil, false
	}
	hits := func(s *tally.Sums, v int64) float64 { return float64(v) / float64(s.Total) * s.N }
	charged := func(name string) float64 {
		if r.class == classEach {
			return hits(before, base.charged(r.query, name))
		}
		return hits(before, base.before(r))
	}
	if r.dim == dimPoints {
		return func(name string, v int64) (float64, float64, float64) {
			return hits(sums, v), sums.N, evidence.GrowthLimit(charged(name), before.N, 1, r.limit)
		}, true
	}
	done, done0 := w.facts.Work[r.budget.Per], w.facts.BaselineWork[r.budget.Per]
	if !(done > 0 && done0 > 0) {
		return nil, false
	}
	return func(name string, v int64) (float64, float64, float64) {
		// As many hits per unit of work as the baseline can have had, and the margin.
		rate := evidence.RateUpper(charged(name), 0.01) / done0 * (1 + r.limit)
		return hits(sums, v), evidence.Trials(done, rate), evidence.RareShare
	}, true
}
