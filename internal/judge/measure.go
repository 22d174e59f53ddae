package judge

import (
	"math"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/unit"
)

// measure is what a limit is compared with: the value charged to somebody, in
// the unit of the limit.
type measure struct {
	total, n float64 // of the window: the sum of its values, and how many hits those are
	share    bool    // of the total, and not an amount over something
	census   bool    // every value is known, and none is a sample
	scale    float64 // from values to the base unit
	over     float64 // what amounts are divided by
	exposure float64 // for amounts: the limit times this is a number of hits
}

// shareOf measures shares.
func shareOf(v valueType, sums *charge.Sums) measure {
	return measure{total: float64(sums.Total), n: sums.N, share: true, census: v.census, scale: v.scale}
}

// measureOf tells how the rule compares, or why it cannot.
func (w *window) measureOf(r *rule, sums *charge.Sums) (measure, Reason) {
	m := shareOf(r.value, sums)
	if r.isShare() {
		return m, nil
	}
	m.share = false
	var why Reason
	if m.over, why = w.divisor(r); why != nil {
		return m, why
	}
	worth := m.total * m.scale / m.n // of one hit, in base units
	if m.total == 0 {
		worth = float64(w.t.Period) * m.scale
	}
	if !(worth > 0) {
		return m, NoSamples{}
	}
	m.exposure = m.over / worth
	return m, nil
}

// part is a value in the unit of the limit.
func (m measure) part(value int64) float64 {
	if m.share {
		return float64(value) / m.total
	}
	return float64(value) * m.scale / m.over
}

// hits is how many hits a value is.
func (m measure) hits(value int64) float64 {
	if value == 0 {
		return 0 // of nothing, as well
	}
	return float64(value) / m.total * m.n
}

func (m measure) finding(value int64, limit float64) evidence.Finding {
	switch {
	case m.census:
		return counted(m.part(value), limit)
	case m.share:
		return evidence.Fixed(m.hits(value), m.n, limit, 1)
	}
	return evidence.Rate(m.hits(value), m.exposure, limit, 1)
}

// nameAlpha is the chance of naming somebody who is not above the limit, where it is
// proven that others are.
const nameAlpha = 0.05

// low is below the truth but for that chance.
func (m measure) low(value int64) float64 {
	switch {
	case m.census:
		return m.part(value)
	case m.share:
		return evidence.Lower(m.hits(value), m.n, 1, nameAlpha)
	}
	return evidence.RateLower(m.hits(value), nameAlpha) / m.exposure
}

// findingWithin is a finding on a value of which the samples tell only that it is between
// two: it fails by the lower and passes by the upper.
func (m measure) findingWithin(low, high int64, limit float64) evidence.Finding {
	f := m.finding(low, limit)
	if high <= low {
		return f
	}
	g := m.finding(high, limit)
	f.High = g.High
	if f.Verdict == evidence.Pass && g.Verdict != evidence.Pass {
		f.Verdict = evidence.Inconclusive
	}
	if f.Verdict == evidence.Inconclusive {
		f.Needed = 0 // more samples of this kind do not help
	}
	return f
}

// values is how much is charged to somebody who is at a limit.
func (m measure) values(limit float64) int64 {
	if m.share {
		return int64(limit * m.total)
	}
	return int64(limit * m.over / m.scale)
}

// divisor is what values are divided by: seconds, work, or nothing.
func (w *window) divisor(r *rule) (over float64, why Reason) {
	switch {
	case r.Per != "":
		done, given := w.facts.Work[r.Per]
		if !given || !isAmount(done) {
			unknown := WorkUnknown{Given: given, Done: done}
			if !given {
				unknown.Why = w.facts.NoWork[r.Per]
			}
			return 0, unknown
		}
		return done, nil
	case r.Dimension == unit.Cores:
		if w.elapsed <= 0 {
			return 0, DurationUnknown{}
		}
		return w.elapsed, nil
	}
	return 1, nil
}

// leastAmount is less than any work is, and so far above zero that no
// profile's total, 1e19 at the most, becomes infinite when it is divided by it.
const leastAmount = 1e-100

// isAmount reports whether something can be divided by x.
func isAmount(x float64) bool { return x >= leastAmount && !math.IsInf(x, 1) }
