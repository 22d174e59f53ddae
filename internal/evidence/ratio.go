package evidence

// Ratio judges how a rate grew: k hits over exposure now, against k0 over
// exposure0 in the baseline, must be at most limit times as many per exposure
// (CPU per request: exposure counts requests; "grows below 10%" is the limit
// 1.1). phi is the overdispersion of the hits.
//
// Of all hits together, those of now are a share, and at the limit that share is
// known whatever the rates are; so the test of a share serves. Value, Low and
// High are ratios; Needed is how many hits of both together would decide.
func Ratio(k, exposure, k0, exposure0, limit, phi float64) Finding {
	k, k0 = amount(k), amount(k0)
	exposure, exposure0, limit, phi = amount(exposure), amount(exposure0), amount(limit), factor(phi)
	n := k + k0
	pi := RatioShare(exposure, exposure0, limit)
	zone := RatioShare(exposure, exposure0, limit*Zone)
	if exposure == 0 || exposure0 == 0 || limit == 0 {
		return Finding{High: most}
	}
	low, high := Lower(k, n, phi, FailAlpha), Upper(k, n, phi, PassAlpha)
	ratio := func(p float64) float64 { // the inverse of RatioShare
		if p >= 1 {
			return most
		}
		return amount(p / (1 - p) * (exposure0 / exposure))
	}
	f := Finding{Low: ratio(low), High: ratio(high)}
	if n > 0 {
		f.Value = ratio(k / n)
	}
	switch {
	case low > pi:
		f.Verdict = Fail
	case high < zone:
		f.Verdict = Pass
	default:
		f.Needed = ratioNeeded(k, n, pi, zone, phi)
	}
	return f
}

// RatioShare returns the share of all hits that fall into now, when its rate is
// limit times the baseline's.
func RatioShare(exposure, exposure0, limit float64) float64 {
	now := amount(limit) * amount(exposure)
	all := now + amount(exposure0)
	if all == 0 {
		return 0
	}
	return now / all
}

func ratioNeeded(k, n, pi, zone, phi float64) float64 {
	q := zone + (zone - pi) // Notable times the limit, nearly, when nothing was hit
	if n > 0 {
		q = k / n
	}
	q = min(q, 1)
	needed := most
	if q > pi {
		needed = min(needed, phi*lnFail/divergence(q, 1, pi))
	}
	if q < zone {
		needed = min(needed, phi*lnPass/divergence(q, 1, zone))
	}
	return ceil(needed, n)
}
