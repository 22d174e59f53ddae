package evidence

import (
	"math"
	"slices"
)

const (
	// pairClip is how many deviations of a pair count. A slice beside a burst may be off by a
	// factor, which is no more proof than this. On pairs that were measured on a busy machine, 10%
	// more is found within 316 of them in 98.8% of comparisons with 1, in 96.2% with 2, and in 94.2%
	// with 3.
	pairClip = 1

	// pairsAtFirst are entered with pairDeviation, until their own deviation is known.
	pairsAtFirst  = 6
	pairDeviation = 0.05

	// leastDeviation is the least that is assumed, a tenth of a percent.
	leastDeviation = 0.001
)

// stakes are the differences from the limit, in deviations of a pair, for which the evidence
// grows fastest.
var stakes = grid{0.15, 0.3, 0.6, 2.5}

// A Paired is the verdict on the growth of a cost, by pairs of measurements of which one is
// with the old code and one with the new, in random order. It may be looked at after each pair.
// The evidence needs no distribution: at the limit, the logarithm of a pair's ratio is as often
// and as far above that of the limit as below, whatever else the machine does, because chance has
// decided which of the two was measured beside it. So for an odd function f between -1 and 1, the
// product of 1 + f has a mean of at most 1, and exceeds 1/alpha with a chance of at most alpha.
// Make one with [NewPaired].
type Paired struct {
	grown          float64 // the evidence for any growth that a Fail takes
	limit, notable float64 // as logarithms of a ratio

	logs, scales []float64 // of the pairs, and the deviations that they were entered with
	scale        float64
	known        int // pairs that the scale is of

	aboveEqual, above, below, belowNotable grid
	verdict                                Verdict
	notNotable                             bool // at one look the growth was surely below notable
}

// PairedAlpha is the chance of a wrong verdict on a growth that is just the limit. It harms
// nobody to hear that 5% is above 5%.
const PairedAlpha = 0.01

// NewPaired returns the judge of a growth by at most limit: 0.05 is 5%. A Fail takes evidence with
// error alpha that there is any growth, and with error [PairedAlpha] that it is above the limit. So
// code that costs the same fails with a chance of at most alpha. A Pass takes evidence with error
// PairedAlpha that the growth is below the limit.
func NewPaired(limit, alpha float64) *Paired {
	return &Paired{
		grown: surprise(alpha), scale: pairDeviation,
		limit: math.Log1p(amount(limit)), notable: math.Log1p(amount(Notable * limit)),
	}
}

// Add takes a pair of costs, which are above zero, and returns the verdict. Once it is Pass or
// Fail it stays, and further pairs change the bounds only.
func (p *Paired) Add(before, now float64) Verdict {
	x := finite(math.Log(now) - math.Log(before))
	p.enter(&p.aboveEqual, x)
	p.enter(&p.above, x-p.limit)
	p.enter(&p.below, p.limit-x)
	p.enter(&p.belowNotable, p.notable-x)
	p.notNotable = p.notNotable || lnMeanExp(&p.belowNotable) >= surprise(PairedAlpha)
	p.logs, p.scales = append(p.logs, x), append(p.scales, p.scale)
	if n := len(p.logs); n >= pairsAtFirst && 4*n >= 5*p.known {
		p.scale, p.known = deviation(p.logs), n
	}
	switch {
	case p.verdict != Inconclusive:
	case lnMeanExp(&p.above) >= surprise(PairedAlpha) && lnMeanExp(&p.aboveEqual) >= p.grown:
		p.verdict = Fail
	case lnMeanExp(&p.below) >= surprise(PairedAlpha):
		p.verdict = Pass
	}
	return p.verdict
}

func (p *Paired) enter(sums *grid, x float64) {
	for i, stake := range stakes {
		sums[i] += entry(x, p.scale, stake)
	}
}

// entry is the evidence of a pair whose logarithm is x above the one in question.
func entry(x, scale, stake float64) float64 {
	return math.Log1p(math.Tanh(stake * min(max(x/scale, -pairClip), pairClip)))
}

// deviation is the standard deviation of the logarithms, by their median distance from the median,
// which outliers do not change.
func deviation(logs []float64) float64 {
	x := slices.Sorted(slices.Values(logs))
	middle := x[len(x)/2]
	for i := range x {
		x[i] = math.Abs(x[i] - middle)
	}
	slices.Sort(x)
	return max(1.4826*x[len(x)/2], leastDeviation)
}

// Verdict returns the verdict so far.
func (p *Paired) Verdict() Verdict { return p.verdict }

// Pairs is how many pairs there were.
func (p *Paired) Pairs() int { return len(p.logs) }

// Value is the measured growth. Outliers count as the nearest pairs that are none.
func (p *Paired) Value() float64 {
	if len(p.logs) == 0 {
		return 0
	}
	reach := pairClip * deviation(p.logs)
	return math.Expm1(falls(slices.Min(p.logs), slices.Max(p.logs), func(at float64) bool {
		sum := 0.0
		for _, x := range p.logs {
			sum += min(max(x-at, -reach), reach)
		}
		return sum >= 0
	}))
}

// Bounds are the tightest bounds of the growth at any look so far, each with error alpha at all looks
// together: what was proven once stays so, as verdicts do. So a Pass has an upper bound below the limit,
// also after further pairs. Too few pairs bound nothing: -1 and infinity. Where looks contradict each
// other, as they do with a chance of at most twice alpha, the bounds are those of the last look.
func (p *Paired) Bounds(alpha float64) (low, high float64) {
	if low, high = p.bounds(alpha, true); low > high {
		low, high = p.bounds(alpha, false)
	}
	return low, high
}

func (p *Paired) bounds(alpha float64, anyLook bool) (low, high float64) {
	low, high = -1, math.Inf(1)
	if len(p.logs) == 0 {
		return low, high
	}
	enough := surprise(alpha)
	proof := func(at, sign float64) bool {
		var sums grid
		for i, x := range p.logs {
			for j, stake := range stakes {
				sums[j] += entry(sign*(x-at), p.scales[i], stake)
			}
			if anyLook && lnMeanExp(&sums) >= enough {
				return true
			}
		}
		return lnMeanExp(&sums) >= enough
	}
	const far = 1e3 // deviations; no pair counts beyond pairClip of them
	reach := far * slices.Max(p.scales)
	lo, hi := slices.Min(p.logs)-reach, slices.Max(p.logs)+reach
	if proof(lo, +1) {
		low = math.Expm1(falls(lo, hi, func(at float64) bool { return proof(at, +1) }))
	}
	if proof(hi, -1) {
		high = math.Expm1(falls(lo, hi, func(at float64) bool { return !proof(at, -1) }))
	}
	return low, high
}

// falls returns where a condition, which holds at lo, ceases to hold.
func falls(lo, hi float64, holds func(float64) bool) float64 {
	for range 40 { // to 1e-12 of the range
		middle := lo + (hi-lo)/2
		if holds(middle) {
			lo = middle
		} else {
			hi = middle
		}
	}
	return lo
}

// Close returns the verdict when the time is up. An open one becomes Pass on evidence that the
// growth is below [Notable] times the limit: a change near the limit must not be undecided for ever.
func (p *Paired) Close() Verdict {
	if p.verdict == Inconclusive && p.notNotable {
		return Pass
	}
	return p.verdict
}
