package evidence

// RateLower returns the largest expected count that a count of k is proof to be
// exceeded, with error alpha: the lower solution of
//
//	k ln(k/x) - k + x = ln(1/alpha)
//
// Counts are taken as Poisson. Divide k by its overdispersion beforehand, and
// multiply the result by it, if there is any.
func RateLower(k, alpha float64) float64 {
	k = amount(k)
	if k == 0 {
		return 0
	}
	return solve(0, k, surprise(alpha), true, func(x float64) (float64, float64) {
		return deviance(k, x), 1 - k/x
	})
}

// RateUpper returns the smallest expected count that a count of k is proof to
// stay below, with error alpha: the upper solution of the equation of [RateLower].
func RateUpper(k, alpha float64) float64 {
	k = amount(k)
	target := surprise(alpha)
	if k == 0 {
		return target
	}
	// With x = k(1+z), the left side is k(z - ln(1+z)), at least z²k/(2+2z):
	// it reaches the target before z = t + sqrt(t²+2t), t = target/k, and that
	// is at most 2t+2.
	hi := k + 2*target + 2*k
	return solve(k, hi, target, false, func(x float64) (float64, float64) {
		return deviance(k, x), 1 - k/x
	})
}

// Rate judges a count per exposure, as [Fixed] judges a share: k samples of CPU
// over so many seconds or requests, against a limit in samples per second or
// per request. Value, Low, High are in the unit of the limit, Needed is an
// exposure.
func Rate(k, exposure, limit, phi float64) Finding {
	k, exposure, limit, phi = amount(k), amount(exposure), amount(limit), factor(phi)
	if exposure == 0 {
		return Finding{High: most, Needed: rateNeeded(Notable*limit, limit, phi)}
	}
	// The unit of the exposure may be anything (nanoseconds, requests), so a
	// tiny one can overflow the quotient.
	f := Finding{
		Value: min(k/exposure, most),
		Low:   min(RateLower(k/phi, FailAlpha)*phi/exposure, most),
		High:  min(RateUpper(k/phi, PassAlpha)*phi/exposure, most),
	}
	switch {
	case f.Low > limit:
		f.Verdict = Fail
	case f.High < Zone*limit:
		f.Verdict = Pass
	default:
		f.Needed = max(rateNeeded(f.Value, limit, phi), exposure)
	}
	return f
}

// rateNeeded returns the exposure that decides if the rate is the truth, or 0 if
// none does.
func rateNeeded(rate, limit, phi float64) float64 {
	if limit == 0 {
		return 0 // without a hit there is nothing to prove; with one there is no exposure to wait for
	}
	needed := most
	if rate > limit {
		needed = min(needed, phi*lnFail/deviance(rate, limit))
	}
	if u := Zone * limit; rate < u {
		needed = min(needed, phi*lnPass/deviance(rate, u))
	}
	return needed
}

// RareShare is the limit under which [Stream] and [Sequential] judge a rate: a
// count over an exposure is so many hits in a great number of trials of which
// few can hit. [Trials] says how many.
const RareShare = 1e-6

// Trials returns the number of trials that an exposure is worth, for a limit in
// counts per exposure, so that a count at the limit is a share of [RareShare]:
//
//	stream := NewStream(RareShare, lnA)
//	stream.Add(k, Trials(exposure, limit), false)
func Trials(exposure, limit float64) float64 {
	return amount(amount(exposure) * amount(limit) / RareShare)
}
