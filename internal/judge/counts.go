package judge

import (
	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/unit"
)

// Counts turn what is charged to a function or package, or to what the rule is
// about (""), into hits out of trials, and the limit on their share.
type counts func(name string, value int64) (k, n, limit float64)

// countsOf are those of a window, nil if it says nothing.
func (w *window) countsOf(r *rule, sums *charge.Sums) counts {
	if r.Test == Grows {
		g, why := w.growthOf(r)
		if why != nil {
			return nil
		}
		return func(name string, v int64) (k, n, limit float64) {
			limit, _ = g.bounds(name)
			if g.inPoints() {
				return hits(sums, v), sums.N, limit
			}
			return hits(sums, v), evidence.Trials(g.done, limit), evidence.RareShare
		}
	}
	m, why := w.measureOf(r, sums)
	if why != nil {
		return nil
	}
	if r.Dimension == unit.Share {
		return func(_ string, v int64) (k, n, limit float64) { return m.hits(v), sums.N, r.Limit }
	}
	trials := evidence.Trials(m.exposure, r.Limit)
	return func(_ string, v int64) (k, n, limit float64) { return m.hits(v), trials, evidence.RareShare }
}

// stream is made for a function or package, or for what the rule is about (""),
// with the limit that its counts state.
func (w *window) stream(r *rule, name string, limit, lnA float64) evidence.Stream {
	if r.Test == Grows {
		if g, why := w.growthOf(r); why == nil {
			most, pass := g.bounds(name)
			if !g.inPoints() && most > 0 {
				pass *= limit / most
			}
			return evidence.NewGrowthStream(limit, pass, lnA)
		}
	}
	return evidence.NewStream(limit, lnA)
}
