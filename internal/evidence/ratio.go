package evidence

// Ratio judges how a rate grew: k hits over exposure now, against k0 over
// exposure0 in the baseline, must be at most limit times as many per exposure
// (CPU per request: exposure counts requests; "grows below 10%" is the limit
// 1.1). phi is the overdispersion of the hits.
//
// Of all hits together, those of now are a share, and at the limit that share is
// known whatever the rates are; so the test of a share serves. Value, Low and
// High are ratios. It passes when High is below 1 + [Zone] times the growth that
// the limit allows: 1.125 for the limit 1.1. Of what the baseline has not, Value is
// as if it had one hit of it. Needed is an exposure of now, Baseline one of the
// baseline.
func Ratio(k, exposure, k0, exposure0, limit, phi float64) Finding {
	k, k0 = amount(k), amount(k0)
	exposure, exposure0, limit, phi = amount(exposure), amount(exposure0), amount(limit), factor(phi)
	n := k + k0
	pi := RatioShare(exposure, exposure0, limit)
	zone := RatioShare(exposure, exposure0, ratioEdge(limit))
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
	switch {
	case k0 > 0:
		f.Value = ratio(k / n)
	case k > 0:
		// Infinitely much more says less than how much there is.
		f.Value = min(max(amount(k*(exposure0/exposure)), f.Low), f.High)
	}
	switch {
	case low > pi:
		f.Verdict = Fail
	case high < zone:
		f.Verdict = Pass
	case n > 0:
		c := comparison{amount(k / exposure), amount(k0 / exposure0), limit, phi}
		f.Needed = c.needed(exposure, exposure0)
		if f.Needed == 0 {
			f.Baseline = c.baseline()
		}
	}
	return f
}

// ratioEdge returns the upper end of the zone of indifference of a limit on a
// ratio. It is as wide as that of a limit on the growth, which is what people
// state: "below 10%" is kept up to 12.5%, not up to 37.5%.
func ratioEdge(limit float64) float64 {
	return limit + (Zone-1)*max(limit-1, 0)
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

// A comparison is two rates that are taken for the truth, and the limit on their
// ratio.
type comparison struct{ rate, rate0, limit, phi float64 }

// decides reports whether the exposures would be enough.
func (c comparison) decides(exposure, exposure0 float64) bool {
	k := amount(c.rate * exposure)
	n := k + amount(c.rate0*exposure0)
	pi, zone := RatioShare(exposure, exposure0, c.limit), RatioShare(exposure, exposure0, ratioEdge(c.limit))
	return k > n*pi && divergence(k, n, pi) >= c.phi*lnFail ||
		k < n*zone && divergence(k, n, zone) >= c.phi*lnPass
}

// needed returns the exposure of now that decides against the same baseline, or
// 0 if none does.
func (c comparison) needed(exposure, exposure0 float64) float64 {
	// A million times the exposure is as good as never.
	return amount(exposure * leastTimes(1<<20, func(times float64) bool { return c.decides(exposure*times, exposure0) }))
}

// baseline returns the exposure that decides when it is the same in both, or 0
// if none does.
func (c comparison) baseline() float64 {
	all := c.rate + c.rate0
	if all == 0 {
		return 0
	}
	q, needed := c.rate/all, most
	if pi := RatioShare(1, 1, c.limit); q > pi {
		needed = min(needed, c.phi*lnFail/divergence(q, 1, pi)/all)
	}
	if zone := RatioShare(1, 1, ratioEdge(c.limit)); q < zone {
		needed = min(needed, c.phi*lnPass/divergence(q, 1, zone)/all)
	}
	if needed >= most {
		return 0
	}
	return needed
}

// leastTimes returns the least factor above 1 that is enough, to a thousandth,
// or 0 if none up to most is.
func leastTimes(most float64, enough func(times float64) bool) float64 {
	lo, hi := 1.0, 2.0
	for !enough(hi) {
		lo, hi = hi, hi*2
		if hi > most {
			return 0
		}
	}
	for hi-lo > lo/1000 {
		if mid := (lo + hi) / 2; enough(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}
