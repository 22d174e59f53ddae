package evidence

import (
	"fmt"
	"math"
)

// A Verdict is what the samples prove. The zero Verdict is [Inconclusive].
type Verdict int

const (
	Inconclusive Verdict = iota // the samples prove neither
	Pass                        // the quantity is below the end of the zone above its limit
	Fail                        // the quantity is above its limit
)

// String returns "inconclusive", "pass" or "fail", or Verdict(7) for an unknown one.
func (v Verdict) String() string {
	if names := [...]string{"inconclusive", "pass", "fail"}; v >= 0 && int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprintf("Verdict(%d)", int(v))
}

const (
	// FailAlpha is the chance of a fail within the limit. A fleet of a thousand
	// processes with ten budgets judges 14 million windows a day, and the bounds err
	// in under a tenth of their nominal level.
	FailAlpha = 1e-6

	// PassAlpha is the chance of a pass beyond the zone. A wrong pass costs the delay of
	// one window, a wrong fail may wake a person at night.
	PassAlpha = 1e-3

	// Zone times the limit is the end of the zone. The samples that are needed grow with
	// the inverse square of the zone's width.
	Zone = 1.25

	// Notable times the limit is what a judgement is expected to catch.
	Notable = 1.5
)

// The evidence that the two levels require: ln(1/alpha).
const (
	lnFail = 6 * math.Ln10
	lnPass = 3 * math.Ln10
)

// A Finding is a verdict with its numbers.
type Finding struct {
	Verdict Verdict

	// Value is the measured value, in the unit of the limit. Low is its lower bound with
	// error FailAlpha, High its upper bound with error PassAlpha, unless the function says
	// otherwise. Without an upper bound, High is the largest possible value: 1 for a share,
	// 1e15 for a rate.
	Value, Low, High float64

	// Needed is the number of samples in all (for a rate or a ratio: the exposure) that
	// would decide, if Value is the truth. It is 0 when there is a verdict, when no number
	// would decide, and for growth.
	Needed float64

	// SmallBaseline says that no number of samples would decide, because the baseline of
	// [Baseline.Growth] is too small.
	SmallBaseline bool
}

// Counted is the finding on a value that was counted in full, and not sampled.
func Counted(value, limit float64) Finding {
	f := Finding{Verdict: Pass, Value: value, Low: value, High: value}
	if value > limit {
		f.Verdict = Fail
	}
	return f
}

// decide sets the verdict by the bounds.
func (f *Finding) decide(limit, zone float64) {
	switch {
	case f.Low > limit:
		f.Verdict = Fail
	case f.High < zone:
		f.Verdict = Pass
	}
}

// Edge returns the end of the zone above a limit on a share. The two expressions meet
// at a limit of 2/3.
func Edge(limit float64) float64 { return min(Zone*limit, (1+limit)/2) }

// NotableShare returns the share that a judgement is expected to catch.
func NotableShare(limit float64) float64 { return min(Notable*limit, (1+limit)/2) }

// most is the largest count, weight or factor. Up to it float64 represents all whole
// numbers, and squares stay far from infinity.
const most = 1e15

// counts returns any k and n with 0 <= k <= n <= most.
func counts(k, n float64) (float64, float64) {
	n = amount(n)
	return min(amount(k), n), n
}

// least is the smallest number that is not taken for zero: its inverse is finite.
const least = 1e-100

// amount returns any number as one from 0 to most.
func amount(x float64) float64 {
	if !(x >= least) { // also NaN
		return 0
	}
	return min(x, most)
}

// share returns any number as one from 0 to 1.
func share(x float64) float64 { return min(amount(x), 1) }

// factor returns any overdispersion as one of at least 1.
func factor(phi float64) float64 { return max(1, amount(phi)) }

// finite returns any number as one from -most to most.
func finite(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return min(max(x, -most), most)
}

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
