package evidence

import "math"

// Lower returns the lower bound of a share, with error alpha and overdispersion phi: k hits
// in n samples prove that the share is above it. It is 0 without hits.
func Lower(k, n, phi, alpha float64) float64 {
	k, n = counts(k, n)
	target := factor(phi) * surprise(alpha)
	switch {
	case k == 0:
		return 0
	case k == n:
		return math.Exp(-target / n)
	}
	return solve(0, k/n, target, true, func(p float64) (float64, float64) {
		return divergence(k, n, p), n * (p - k/n) / (p * (1 - p))
	})
}

// Upper returns the upper bound of a share, with error alpha and overdispersion phi: k hits
// in n samples prove that the share is below it. It is 1 without samples.
func Upper(k, n, phi, alpha float64) float64 {
	k, n = counts(k, n)
	target := factor(phi) * surprise(alpha)
	switch {
	case k == n:
		return 1
	case k == 0:
		return -math.Expm1(-target / n)
	}
	// KL(q || p) is at least (p-q)²/2p, which reaches the target at the upper end.
	q, t := k/n, target/n
	return solve(q, min(q+t+math.Sqrt(t*(t+2*q)), 1), target, false, func(p float64) (float64, float64) {
		return divergence(k, n, p), n * (p - q) / (p * (1 - p))
	})
}

// RateLower returns the lower bound of the expected count behind a count of k, with error
// alpha. A count is taken for k hits in [most] trials, which is a Poisson distribution. If
// there is overdispersion, divide k by it, and multiply the result by it.
func RateLower(k, alpha float64) float64 { return most * Lower(k, most, 1, alpha) }

// divergence returns n KL(k/n || p), possibly infinite. Written as two Poisson
// deviances it is a sum of terms that are not negative, so nothing cancels when
// p is near k/n.
func divergence(k, n, p float64) float64 {
	return deviance(k, n*p) + deviance(n-k, n*(1-p))
}

// deviance returns k ln(k/mu) - k + mu, possibly infinite. Near k = mu the terms cancel, so
// it is computed from their relative difference.
func deviance(k, mu float64) float64 {
	switch {
	case k == 0:
		return mu
	case mu <= 0:
		return math.Inf(1)
	case mu < k/2:
		return k*math.Log(k/mu) - k + mu
	}
	x := (mu - k) / k
	return k * (x - math.Log1p(x))
}

// solve finds x in (lo, hi), not negative, with g(x) = target, where g falls or rises
// through the target once. The argument g returns the value and its derivative. The method
// is Newton's, with bisection where Newton leaves the bracket: seven to twelve steps for
// most inputs.
func solve(lo, hi, target float64, falling bool, g func(float64) (float64, float64)) float64 {
	x := lo + (hi-lo)/2
	// 200 halvings reach 1e-60 of the bracket, past any bound worth printing.
	for range 200 {
		y, slope := g(x)
		if (y > target) == falling {
			lo = x
		} else {
			hi = x
		}
		next := x - (y-target)/slope
		if !(next > lo && next < hi) {
			next = lo + (hi-lo)/2
		}
		// Newton's next step would be of the order of this one's square.
		if math.Abs(next-x) <= 1e-13*x {
			return next
		}
		x = next
	}
	return x
}
