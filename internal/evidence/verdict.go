package evidence

import (
	"fmt"
	"math"
)

// A Verdict is what the samples prove. The zero Verdict is [Inconclusive].
type Verdict int8

const (
	// Inconclusive means that the samples prove neither.
	Inconclusive Verdict = iota
	// Pass means that the quantity is below [Zone] times its limit. Of a share with
	// a limit above 2/3, it is below the middle between the limit and 1.
	Pass
	// Fail means that the quantity is above its limit.
	Fail
)

// String returns "inconclusive", "pass" or "fail".
func (v Verdict) String() string {
	switch v {
	case Inconclusive:
		return "inconclusive"
	case Pass:
		return "pass"
	case Fail:
		return "fail"
	}
	return fmt.Sprintf("Verdict(%d)", int8(v))
}

const (
	// FailAlpha is the chance of failing what keeps to its limit. A fleet of a
	// thousand processes with ten budgets judges 14 million windows a day, and
	// the bounds err in under a tenth of their nominal level.
	FailAlpha = 1e-6

	// PassAlpha is the chance of passing what is beyond the zone. A wrong pass
	// costs one window's delay, a wrong fail costs somebody's night.
	PassAlpha = 1e-3

	// Zone times the limit is where a pass must be told from. A narrower zone
	// needs samples with the inverse square of its width.
	Zone = 1.25

	// Notable times the limit is what a judgement is expected to catch: it
	// sizes the number of samples to ask for when there is no share to go by.
	Notable = 1.5
)

// The evidence that the two levels ask for: ln(1/alpha).
const (
	lnFail = 6 * math.Ln10
	lnPass = 3 * math.Ln10
)

// A Finding is a verdict with the numbers that it rests on.
type Finding struct {
	Verdict Verdict

	// Value is what was measured, in the unit of the limit. Low bounds it from
	// below with error FailAlpha, High from above with error PassAlpha (unless
	// the function that made the Finding says otherwise), so that Low above the
	// limit is a fail, and High below the zone is a pass. Without a bound, High is
	// the most that the quantity can be: 1 for a share, 1e15 for a rate.
	Value, Low, High float64

	// Needed is how many samples (for a rate or a ratio: how much exposure) in all
	// would decide, if Value is the truth. It is 0 when the verdict is in, and when
	// no number would do.
	Needed float64

	// Baseline is set when no number would do because the baseline of [Growth] or
	// [Ratio] is too small: how many samples (for a ratio: how much exposure) of it
	// would decide, with as many now, if Value is the truth.
	Baseline float64
}

// edge returns the upper end of the zone of indifference of a limit on a share.
// Near 1 there is no room for 1.25 times the limit; there the zone is half of
// what remains. The two meet at a limit of 2/3.
func edge(limit float64) float64 {
	return min(Zone*limit, (1+limit)/2)
}

// notable returns the share that a judgement is expected to catch.
func notable(limit float64) float64 {
	return min(Notable*limit, (1+limit)/2)
}

// most is where counts, weights and factors are cut off: below it float64 still
// tells one from the next, and squares stay far from infinity.
const most = 1e15

// counts makes sense of any k and n: 0 <= k <= n <= most.
func counts(k, n float64) (float64, float64) {
	n = amount(n)
	return min(amount(k), n), n
}

// amount makes sense of any number that should not be negative.
func amount(x float64) float64 {
	if !(x > 0) { // also what is not a number
		return 0
	}
	return min(x, most)
}

// share makes sense of any number that should be between 0 and 1.
func share(x float64) float64 { return min(amount(x), 1) }

// factor makes sense of any overdispersion: at least 1.
func factor(phi float64) float64 { return max(1, amount(phi)) }

// surprise returns ln(1/alpha) for any alpha, between 0 and ln(1e300).
func surprise(alpha float64) float64 {
	if !(alpha < 1) {
		return 0
	}
	return -math.Log(max(alpha, 1e-300))
}

// ceil rounds a needed number of samples up, above what there was already.
func ceil(needed, had float64) float64 {
	return min(max(math.Ceil(needed), math.Floor(had)+1), most)
}
