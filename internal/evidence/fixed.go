package evidence

// Fixed judges a share by k hits in n samples of one window: Fail when [Lower]
// at [FailAlpha] is above the limit, Pass when [Upper] at [PassAlpha] is below
// [Zone] times the limit (for limits above 2/3, below the middle between the
// limit and 1). The number of samples must not depend on what they showed; who
// looks again until the verdict pleases needs [Stream] or [Sequential].
//
// phi is the overdispersion, 1 if nothing is known about it. A limit of 1 or
// more cannot be exceeded, so any sample passes; a limit of 0 cannot be shown
// to hold, so nothing does.
func Fixed(k, n, limit, phi float64) Finding {
	k, n = counts(k, n)
	limit = share(limit)
	f := Finding{Low: Lower(k, n, phi, FailAlpha), High: Upper(k, n, phi, PassAlpha)}
	if n > 0 {
		f.Value = k / n
	}
	switch {
	case f.Low > limit:
		f.Verdict = Fail
	case f.High < edge(limit), limit == 1 && n > 0:
		f.Verdict = Pass
	default:
		f.Needed = Needed(k, n, limit, phi)
	}
	return f
}

// Needed returns how many samples in all would let [Fixed] decide, if the share
// stays at k/n. Without samples it returns how many catch a share of [Notable]
// times the limit. It returns 0 when no number would do: no hit at a limit of 0.
func Needed(k, n, limit, phi float64) float64 {
	k, n = counts(k, n)
	limit, phi = share(limit), factor(phi)
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
		needed = min(needed, phi*lnFail/divergence(q, 1, limit))
	}
	if u := edge(limit); q < u {
		needed = min(needed, phi*lnPass/divergence(q, 1, u))
	}
	return ceil(needed, n)
}
