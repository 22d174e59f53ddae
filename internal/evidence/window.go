package evidence

import "math"

// Fixed judges a share by k hits in n samples of one window: Fail when [Lower] at
// [FailAlpha] is above the limit, Pass when [Upper] at [PassAlpha] is below the end of
// the zone. The number of samples must not depend on their result: for repeated looks use
// [Stream] or [Sequential].
func Fixed(k, n, limit float64) Finding {
	k, n = counts(k, n)
	limit = share(limit)
	f := Finding{Value: amount(k / n), Low: Lower(k, n, 1, FailAlpha), High: Upper(k, n, 1, PassAlpha)}
	if f.decide(limit, Edge(limit)); f.Verdict == Inconclusive {
		f.Needed = Needed(k, n, limit)
	}
	return f
}

// Needed returns the number of samples in all with which [Fixed] decides, if the share stays
// at k/n. Without samples it returns the number that catches a share of [Notable] times the
// limit.
func Needed(k, n, limit float64) float64 {
	k, n = counts(k, n)
	limit = share(limit)
	q := NotableShare(limit)
	if n > 0 {
		q = k / n
	}
	needed := most
	if q > limit {
		needed = min(needed, lnFail/divergence(q, 1, limit))
	}
	if u := Edge(limit); q < u {
		needed = min(needed, lnPass/divergence(q, 1, u))
	}
	return ceil(needed, n)
}

// rareShare is the limit with which a rate is judged as a share. A count over an exposure is
// taken for hits in a very large number of trials.
const rareShare = 1e-6

// Rate judges a count per exposure, as [Fixed] judges a share: k samples of CPU
// over so many seconds or requests, against a limit in samples per second or
// per request. Value, Low, High are in the unit of the limit, Needed is an
// exposure.
func Rate(k, exposure, limit float64) Finding {
	k, expected := amount(k), amount(limit*exposure) // hits at the limit
	n := min(max(k, expected, 1)/rareShare, most)
	f := Fixed(k, n, expected/n)
	f.Value, f.Low, f.High = amount(k/exposure), amount(f.Low*n/exposure), amount(f.High*n/exposure)
	f.Needed = amount(f.Needed * exposure / n)
	return f
}

const (
	// absentAlpha is the error of the bound by which [Absent] passes: the customary 95%,
	// since a pass is a statement about a small share, and not about none.
	absentAlpha = 0.05

	// AbsentShare is the largest share that may be hidden when [Absent] passes.
	AbsentShare = 0.01

	// AbsentSamples without a hit have an upper bound below AbsentShare.
	AbsentSamples = 299

	// lnOver is the evidence that an excess is over, see [CalmWindows]: one of ten thousand rows of
	// windows errs, and a day has some hundreds of them.
	lnOver = 4 * math.Ln10
)

// CalmWindows is the number of windows in a row within a limit which proves that an excess is over
// that showed in k of n windows. A window is one observation, however many samples it has, because
// bursts show in all of them.
func CalmWindows(k, n float64) float64 {
	return ceil(lnOver/-math.Log1p(-Lower(k, n, 1, absentAlpha)), 0)
}

// Absent judges that something does not occur at all. One hit is proof of a fail. Without
// hits, High is the upper bound of the share, with error 0.05, and the verdict is a pass if
// that is at most [AbsentShare].
func Absent(k, n float64) Finding {
	k, n = counts(k, n)
	f := Finding{Low: Lower(k, n, 1, FailAlpha), High: Upper(k, n, 1, absentAlpha)}
	switch {
	case k > 0:
		f.Verdict, f.Value = Fail, k/n
	case n >= AbsentSamples:
		f.Verdict = Pass
	default:
		f.Needed = AbsentSamples
	}
	return f
}
