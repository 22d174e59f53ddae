package evidence

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

// A Limit is the largest share of samples, or the largest rate per exposure.
type Limit struct {
	Most  float64
	Rates bool
}

// shares returns the limit as a share of trials, and the exposure of a trial. That is 1 for a share, whose trials are
// samples. For a rate it is chosen so that a count at the limit is a share of [rareShare].
func (l Limit) shares() (limit, trial float64) {
	if l.Rates {
		return rareShare, amount(rareShare / amount(l.Most))
	}
	return share(l.Most), 1
}

const (
	// absentAlpha is the error of the bound by which [Absent] passes: the customary 95%,
	// since a pass is a statement about a small share, and not about none.
	absentAlpha = 0.05

	// AbsentShare is the largest share that may be hidden when [Absent] passes.
	AbsentShare = 0.01

	// AbsentSamples without a hit have an upper bound below AbsentShare.
	AbsentSamples = 299
)

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
