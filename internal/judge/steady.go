package judge

import "github.com/profguard/profguard/internal/evidence"

// steady compares calls of a test, see [Rule.Levels]. Nothing else judges it.
type steady struct{ figure }

func (s steady) needs() Needs { return Needs{Periodic: true, Calls: true} }

func (s steady) window(*measurement) Finding { return Finding{Reason: BetweenCalls{}} }

// LeastLevels is the number of levels that the exact test of Mann and Kendall needs. With
// MostLevels it finds growth that is no larger than what the figure varies by.
const LeastLevels, MostLevels = 10, 15

// Levels judges a figure by its levels between the calls of a test's work, one after each so many
// calls: it fails if they rise beyond chance.
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
	f := Finding{
		Verdict: evidence.Pass, Value: xs[n-1], Low: xs[n-1], High: xs[n-1], Samples: int64(n),
		Reason: Levels{First: xs[0], Rise: rise, Calls: calls},
	}
	if rises {
		f.Verdict = evidence.Fail
	}
	return f
}
