package budget

import (
	"fmt"
	"math"

	"github.com/profguard/profguard/internal/evidence"
)

// boundless is a ratio from which on there is no bound: package evidence cuts off
// at 1e15.
const boundless = 1e14

// grew is the sentence about growth. Of what is new, it has no number.
func grew(r *rule, f evidence.Finding, who string, isNew bool, res *Result, before float64) string {
	amount := func(x float64) string {
		if r.dim == dimPoints {
			return fmt.Sprintf("%.2f points", 100*x)
		}
		return percentage(x)
	}
	// moved says which way, and by is how far to either side.
	const least = 5e-5 // what shows as 0.01
	moved := func(x float64) string {
		switch {
		case x <= -least:
			return "fell by " + amount(-x)
		case x < least:
			return "stayed the same"
		}
		return "grew by " + amount(x)
	}
	basis := fmt.Sprintf("%s against %.0f", samples(res.Samples), before)
	said := who + " " + moved(f.Value)
	if isNew {
		said = who + " is new"
	}
	switch {
	case r.value.census, isNew && (res.Verdict == Fail || f.Baseline > 0):
	case isNew:
		said += ", with too few samples to be sure"
	case res.Verdict == Fail:
		said += ", surely by more than " + amount(f.Low)
	case res.Verdict == Pass && f.High < least:
		said += ", and surely did not grow"
	case res.Verdict == Pass && f.Value < least:
		said += ", and surely did not grow by more than " + amount(f.High)
	case res.Verdict == Pass:
		said += ", surely by less than " + amount(f.High)
	case f.High >= boundless:
		said += ", too few samples to tell by how much"
	case f.Low <= -least:
		said += fmt.Sprintf(", and may have fallen by %s or grown by %s", amount(-f.Low), amount(f.High))
	default:
		said += fmt.Sprintf(", which may be %s to %s", amount(max(f.Low, 0)), amount(f.High))
	}
	switch {
	case r.value.census || res.Verdict != Inconclusive:
	case f.Baseline > 0:
		said += fmt.Sprintf("; the baseline is too small to tell, one of %.0f samples would", math.Ceil(f.Baseline))
	case f.Needed > 0:
		said += fmt.Sprintf("; %.0f samples would tell", math.Ceil(f.Needed))
	}
	return said + " (" + basis + ")"
}
