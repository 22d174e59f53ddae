package evidence

import "math"

// The methods in this file are what the package is compared with, and the means
// to compute them. Alpha is one-sided throughout.

// normalQuantile returns z with upper tail alpha.
func normalQuantile(alpha float64) float64 { return math.Sqrt2 * math.Erfcinv(2*alpha) }

// wilson is the lower (-1) or upper (+1) score bound.
func wilson(k, n, alpha, side float64) float64 {
	return score(k, n, normalQuantile(alpha), side)
}

// score is wilson for so many deviations.
func score(k, n, z, side float64) float64 {
	p := k / n
	if side < 0 && k == 0 {
		return 0
	}
	if side > 0 && k == n {
		return 1
	}
	centre := p + z*z/(2*n)
	half := z * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	if side < 0 {
		// The difference of the two cancels for small p; their product does not.
		return p * p / (centre + half)
	}
	return (centre + half) / (1 + z*z/n)
}

// lnBeta is the logarithm of the beta function.
func lnBeta(a, b float64) float64 {
	// Lgamma of large arguments loses the digits of the difference, so Stirling's
	// series is subtracted by hand there.
	if a >= 10 && b >= 10 {
		return (a-0.5)*math.Log(a/(a+b)) - b*math.Log1p(a/b) - 0.5*math.Log(b) +
			0.5*math.Log(2*math.Pi) + stirling(a) + stirling(b) - stirling(a+b)
	}
	if a > b {
		a, b = b, a
	}
	la, _ := math.Lgamma(a)
	if b >= 10 {
		// ln Gamma(b) - ln Gamma(a+b)
		d := -(b-0.5)*math.Log1p(a/b) - a*math.Log(a+b) + a + stirling(b) - stirling(a+b)
		return la + d
	}
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	return la + lb - lab
}

// stirling is the remainder of Stirling's formula for ln Gamma(x), x >= 10.
func stirling(x float64) float64 {
	y := 1 / (x * x)
	return (1.0/12 - y*(1.0/360-y*(1.0/1260-y*(1.0/1680-y*(1.0/1188-y*691.0/360360))))) / x
}

// lnBetaTail returns ln I_x(a, b), by the continued fraction (modified Lentz) on
// whichever side it converges.
func lnBetaTail(a, b, x float64) float64 {
	switch {
	case x <= 0:
		return math.Inf(-1)
	case x >= 1:
		return 0
	}
	if x > (a+1)/(a+b+2) {
		return math.Log1p(-math.Exp(lnBetaTail(b, a, 1-x)))
	}
	front := a*math.Log(x) + b*math.Log1p(-x) - lnBeta(a, b) - math.Log(a)
	const tiny = 1e-300
	c, d := 1.0, 1/(1-(a+b)*x/(a+1))
	h := d
	for m := 1.0; m < 100000; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d = 1 / (1 + even*d)
		c = 1 + even/c
		h *= d * c
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d = 1 + odd*d
		if math.Abs(d) < tiny {
			d = tiny
		}
		d = 1 / d
		c = 1 + odd/c
		step := d * c
		h *= step
		if math.Abs(step-1) < 1e-16 {
			break
		}
	}
	return front + math.Log(h)
}

// betaQuantile returns x with I_x(a, b) = p.
func betaQuantile(a, b, p float64) float64 {
	lo, hi := 0.0, 1.0
	target := math.Log(p)
	if p > 0.5 { // the other tail has the digits
		return 1 - betaQuantile(b, a, 1-p)
	}
	for range 200 {
		mid := (lo + hi) / 2
		if mid == lo || mid == hi {
			break
		}
		if lnBetaTail(a, b, mid) < target {
			lo = mid
		} else {
			hi = mid
		}
	}
	return (lo + hi) / 2
}

// upperBetaQuantile returns x with 1 - I_x(a, b) = alpha.
func upperBetaQuantile(a, b, alpha float64) float64 {
	lo, hi := 0.0, 1.0
	target := math.Log(alpha)
	for range 200 {
		mid := (lo + hi) / 2
		if mid == lo || mid == hi {
			break
		}
		if lnBetaTail(b, a, 1-mid) > target {
			lo = mid
		} else {
			hi = mid
		}
	}
	return (lo + hi) / 2
}

func clopperPearsonLower(k, n, alpha float64) float64 {
	if k == 0 {
		return 0
	}
	return betaQuantile(k, n-k+1, alpha)
}

func clopperPearsonUpper(k, n, alpha float64) float64 {
	if k == n {
		return 1
	}
	return upperBetaQuantile(k+1, n-k, alpha)
}

func jeffreysLower(k, n, alpha float64) float64 {
	if k == 0 {
		return 0
	}
	return betaQuantile(k+0.5, n-k+0.5, alpha)
}

func jeffreysUpper(k, n, alpha float64) float64 {
	if k == n {
		return 1
	}
	return upperBetaQuantile(k+0.5, n-k+0.5, alpha)
}

// binomialTail returns the chance of at least k hits in n at share p.
func binomialTail(k, n, p float64) float64 {
	if k == 0 {
		return 1
	}
	return math.Exp(lnBetaTail(k, n-k+1, p))
}

// mixture is the evidence of a uniform mixture over all shares.
func mixture(k, n, p float64) float64 {
	return lnBeta(k+1, n-k+1) - k*math.Log(p) - (n-k)*math.Log1p(-p)
}

// scoreZ is the score test of two shares that differ by d (Miettinen and
// Nurminen): the difference over its deviation under the best such pair.
func scoreZ(k, n, k0, n0, d float64) float64 {
	p0 := apart(k, n, k0, n0, 1, d)
	p1 := p0 + d
	variance := (p1*(1-p1)/n + p0*(1-p0)/n0) * (n + n0) / (n + n0 - 1)
	return (k/n - k0/n0 - d) / math.Sqrt(variance)
}
