package evidence

import "math"

// Fixed judges a share by k hits in n samples of one window: Fail when [Lower] at
// [FailAlpha] is above the limit, Pass when [Upper] at [PassAlpha] is below the end of
// the zone. The number of samples must not depend on what they showed: repeated looks
// need [Stream] or [Sequential].
//
// A limit of 1 cannot be exceeded, so any sample passes; a limit of 0 cannot be shown to
// hold, so nothing does.
func Fixed(k, n, limit float64) Finding {
	k, n = counts(k, n)
	limit = share(limit)
	f := Finding{Low: Lower(k, n, 1, FailAlpha), High: Upper(k, n, 1, PassAlpha)}
	if n > 0 {
		f.Value = k / n
	}
	switch {
	case f.Low > limit:
		f.Verdict = Fail
	case f.High < edge(limit), limit == 1 && n > 0:
		f.Verdict = Pass
	default:
		f.Needed = Needed(k, n, limit)
	}
	return f
}

// Needed returns how many samples in all let [Fixed] decide, if the share stays at k/n.
// Without samples it returns how many catch a share of [Notable] times the limit. It
// returns 0 when no number does: no hit at a limit of 0.
func Needed(k, n, limit float64) float64 {
	k, n = counts(k, n)
	limit = share(limit)
	if limit == 1 {
		return ceil(1, 0)
	}
	q := notable(limit)
	if n > 0 {
		q = k / n
	}
	if q == 0 && limit == 0 {
		return 0
	}
	needed := most
	if q > limit {
		needed = min(needed, lnFail/divergence(q, 1, limit))
	}
	if u := edge(limit); q < u {
		needed = min(needed, lnPass/divergence(q, 1, u))
	}
	return ceil(needed, n)
}

// rareShare is the limit under which a rate is judged as a share: a count over an
// exposure is so many hits in trials of which few can hit.
const rareShare = 1e-6

// A worth is the exposure of one trial: 1 for a share, whose trials are samples. For a rate
// it is such that a count at the limit is a share of [rareShare].
type worth float64

func worthOf(limit float64) worth { return worth(amount(rareShare / amount(limit))) }

// trials are what an exposure is worth.
func (w worth) trials(exposure float64) float64 { return amount(exposure / float64(w)) }

// rate is a share of the trials, in counts per exposure.
func (w worth) rate(share float64) float64 { return w.trials(share) }

// exposure is what so many trials are of.
func (w worth) exposure(trials float64) float64 { return amount(trials * float64(w)) }

// Rate judges a count per exposure, as [Fixed] judges a share: k samples of CPU
// over so many seconds or requests, against a limit in samples per second or
// per request. Value, Low, High are in the unit of the limit, Needed is an
// exposure.
func Rate(k, exposure, limit float64) Finding {
	k, exposure, limit = amount(k), amount(exposure), amount(limit)
	n := min(max(k, limit*exposure, 1)/rareShare, most)
	scale := n / exposure
	f := Fixed(k, n, limit/scale)
	f.Value, f.Low, f.High = amount(k/exposure), amount(f.Low*scale), amount(f.High*scale)
	f.Needed = amount(f.Needed / scale)
	return f
}

const (
	// absentAlpha is the error of the bound that [Absent] passes on: the customary
	// 95%, since a pass here is a statement about a small share, not about none.
	absentAlpha = 0.05

	// AbsentShare is the largest share that [Absent] lets hide. It takes 299 samples.
	AbsentShare = 0.01
)

// Absent judges that something does not occur at all. One hit is proof of the
// contrary. Without hits, High is the share that could hide in n samples, with
// error 0.05, and it passes when that is at most [AbsentShare].
func Absent(k, n float64) Finding {
	k, n = counts(k, n)
	f := Finding{Low: Lower(k, n, 1, FailAlpha), High: Upper(k, n, 1, absentAlpha)}
	needed := absentNeeded(AbsentShare, absentAlpha)
	switch {
	case k > 0:
		f.Verdict, f.Value = Fail, k/n
	case n >= needed:
		f.Verdict = Pass
	default:
		f.Needed = needed
	}
	return f
}

// absentNeeded returns how many samples without a hit show, with error alpha,
// that the share is at most hide.
func absentNeeded(hide, alpha float64) float64 {
	return ceil(surprise(alpha)/-math.Log1p(-hide), 0)
}
