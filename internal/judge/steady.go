package judge

import (
	"slices"

	"github.com/profguard/profguard/internal/evidence"
)

// steady follows a figure over hours. One window can only tell that it is over its cap.
type steady struct{ figure }

func (s steady) needs() Needs { return Needs{Periodic: true, Hours: true} }

func (s steady) window(m *measurement) Finding {
	if why := m.unmet(s.rule); why != nil {
		return Finding{Reason: why}
	}
	value, known := m.reading(s.Subject)
	switch {
	case !known:
		return Finding{Reason: s.unknown(m, nil)}
	case s.Limit > 0 && value > s.Limit:
		return s.measured(m)
	}
	return Finding{Value: value, Low: value, High: value, Reason: OverHours{}}
}

func (s steady) follow(r *record, m *measurement, f Finding) Finding {
	value, ok := m.reading(s.Subject)
	if !ok || m.unmet(s.rule) != nil {
		return r.with(f)
	}
	if r.hours == nil {
		r.hours = evidence.NewSteady()
	}
	load, _ := m.reading("process")
	if s.Class == Process {
		load = 0 // the figure is the load itself
	}
	r.Proven = r.hours.Add(m.at, value, load)
	r.Evidence = r.hours.Strength()
	if f.Verdict == evidence.Fail { // its cap
		r.Proven, r.Evidence = evidence.Fail, 1
	} else {
		f.Verdict, f.Reason = r.Proven, Learning{r.hours.Learned()}
	}
	return r.with(f)
}

// LeastLevels is the number of levels that the exact test of Mann and Kendall needs. With
// MostLevels it finds growth that is no larger than what the figure varies by.
const LeastLevels, MostLevels = 10, 15

// Levels judges a figure by its levels between the calls of a test's work, one after each so many
// calls: it fails if they rise beyond chance, or are all above the cap.
func (r *Rule) Levels(xs []float64, calls int64) Finding {
	n := len(xs)
	if n < LeastLevels {
		return Finding{Samples: int64(n), Reason: Levels{Calls: calls, Needed: LeastLevels}}
	}
	// The least growth from level to level that counts. Less than a goroutine in two levels,
	// or less than two spans of small objects, comes from other code.
	least := 0.5
	if r.Subject == "heap" {
		least = 16 << 10
	}
	rise, rises := evidence.Trend(xs, least)
	lowest := slices.Min(xs)
	f := Finding{
		Verdict: evidence.Pass, Value: xs[n-1], Low: xs[n-1], High: xs[n-1], Samples: int64(n),
		Reason: Levels{First: xs[0], Least: lowest, Rise: rise, Calls: calls},
	}
	if r.Limit > 0 && lowest > r.Limit || rises {
		f.Verdict = evidence.Fail
	}
	return f
}
