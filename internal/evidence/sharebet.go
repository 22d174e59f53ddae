package evidence

import "math"

// A shareBet collects evidence from the windows' shares alone, however many
// samples they rest on and however these cluster: if the expected share of each
// window is at most the limit, then so is that of a bet whose stake grows with
// share/limit, and no overdispersion needs to be known.
//
// It is slow, some 20 windows at three times the limit, but nothing delays it.
// The [CUSUM] is quick where it knows the overdispersion; a step that comes
// before it does looks like overdispersion to it, and was seen to hide for 436
// windows.
type shareBet struct {
	limit, threshold float64
	sums             [len(stakes)]float64
	proof            float64 // after the last window
}

// stakes are the parts of the capital that are bet: the largest is best for
// shares far above the limit, the smallest for those near it.
var stakes = [4]float64{0.1, 0.3, 0.6, 0.9}

func (b *shareBet) add(k, n float64) (alarm bool) {
	k, n = counts(k, n)
	if n == 0 || b.limit <= 0 || b.limit >= 1 || b.threshold <= 0 {
		return false
	}
	gain := k/n/b.limit - 1
	top := math.Inf(-1)
	for i, stake := range stakes {
		// No window counts for more than a fifth of the threshold, as in a ledger.
		b.sums[i] = max(b.sums[i], 0) + min(math.Log1p(stake*gain), b.threshold/windowsAtLeast)
		top = max(top, b.sums[i])
	}
	var mean float64
	for _, s := range b.sums {
		mean += math.Exp(s-top) / float64(len(stakes))
	}
	b.proof = max(top+math.Log(mean), 0)
	return b.proof >= b.threshold
}

func (b *shareBet) clear() { b.sums = [len(stakes)]float64{} }
