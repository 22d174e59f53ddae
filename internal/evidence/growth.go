package evidence

// A Baseline has K hits in N samples, or over an exposure of N.
type Baseline struct {
	K, N  float64
	Rates bool
}

// Growth judges whether a share or a rate has grown by more than a limit, with k hits in n now: 0.05 is 5 points of
// share, or 5% of the rate. phi is the overdispersion, and tests is the number of shares that are judged together
// ([Tests]). Value, Low and High are differences of shares, or parts of the baseline's rate.
func (b Baseline) Growth(k, n, limit, phi, tests float64) Finding {
	judge := func(k, n float64) Finding {
		if b.Rates {
			return ratio(k, n, b.K, b.N, limit, phi)
		}
		return growth(k, n, b.K, b.N, limit, phi, tests)
	}
	f := judge(k, n)
	if f.Verdict == Inconclusive {
		many := min(1e6, most/max(amount(k), amount(n), 1)) // times as many samples will never come
		f.SmallBaseline = judge(many*k, many*n).Verdict == Inconclusive
	}
	return f
}

// growth compares shares: k hits in n now, k0 in n0 in the baseline.
//
// It is a likelihood ratio: the best pair of shares that differ by the margin
// against the best pair. Wald's and the score test, which take the difference
// for normal, are 40 to 4,500 times over their error at this level.
func growth(k, n, k0, n0, margin, phi, tests float64) Finding {
	k, n = counts(k, n)
	k0, n0 = counts(k0, n0)
	margin, phi, tests = share(margin), factor(phi), factor(tests)
	if n == 0 || n0 == 0 {
		return Finding{Low: -1, High: 1}
	}
	fail, pass := phi*surprise(FailAlpha/tests), phi*lnPass
	f := Finding{
		Value: k/n - k0/n0,
		Low:   differenceBound(k, n, k0, n0, 1, fail, -1),
		High:  differenceBound(k, n, k0, n0, 1, pass, +1),
	}
	f.decide(margin, Edge(margin))
	return f
}

// ratio compares rates: k hits over exposure now, against k0 over exposure0 in the
// baseline, may be more per exposure by the margin (CPU per request: exposure counts
// requests; "grows below 10%" is the margin 0.1).
//
// The hits of now are a share of all hits together. At the limit that share does not depend
// on the rates, so the test of a share can be used. If the baseline has no hit, Value is as
// if it had one.
func ratio(k, exposure, k0, exposure0, margin, phi float64) Finding {
	k, k0 = amount(k), amount(k0)
	exposure, exposure0, margin, phi = amount(exposure), amount(exposure0), amount(margin), factor(phi)
	n := k + k0
	if exposure == 0 || exposure0 == 0 {
		return Finding{Value: -1, Low: -1, High: most}
	}
	value := func(p float64) float64 { // p is its part of all hits
		if p >= 1 {
			return most
		}
		return amount(p/(1-p)*(exposure0/exposure)) - 1
	}
	f := Finding{Value: value(k / n), Low: value(Lower(k, n, phi, FailAlpha)), High: value(Upper(k, n, phi, PassAlpha))}
	if k0 == 0 && k > 0 { // an infinite growth would not tell how much there is
		f.Value = min(max(amount(k*(exposure0/exposure))-1, f.Low), f.High)
	}
	f.decide(margin, Zone*margin)
	return f
}

// differs returns the evidence against scale times the share now differing by exactly d from the
// one before, and its derivative.
func differs(k, n, k0, n0, scale, d float64) (evidence, slope float64) {
	p := apart(k, n, k0, n0, scale, d)
	p1 := share((p + d) / scale) // which may leave [0, 1] by a rounding error, and must not
	// At the best p the evidence changes with d only through p+d.
	return divergence(k, n, p1) + divergence(k0, n0, p), n * (p1 - k/n) / (p1 * (1 - p1)) / scale
}

// apart returns the most likely share of the baseline, given that scale times the share now is
// higher by exactly d. The log likelihood
//
//	k ln(p+d) + (n-k) ln(scale-p-d) + k0 ln p + (n0-k0) ln(1-p)
//
// is concave, so its derivative has one root, or the maximum is at an end.
func apart(k, n, k0, n0, scale, d float64) float64 {
	derivative := func(p float64) (rise, slope float64) {
		for _, x := range [...]struct{ k, at, sign float64 }{{k, p + d, +1}, {n - k, scale - p - d, -1}, {k0, p, +1}, {n0 - k0, 1 - p, -1}} {
			if x.k > 0 { // without hits the term is 0, also at 0
				at := max(x.at, 1e-150)
				rise += x.sign * x.k / at
				slope -= x.k / (at * at)
			}
		}
		return rise, slope
	}
	left, right := max(0, -d), min(1, scale-d)
	if rise, _ := derivative(left); rise <= 0 {
		return left
	}
	if rise, _ := derivative(right); rise >= 0 {
		return right
	}
	return solve(left, right, 0, true, derivative)
}

// differenceBound returns the difference, below (-1) or above (+1) the measured
// one, at which the evidence against it reaches the target.
func differenceBound(k, n, k0, n0, scale, target, side float64) float64 {
	// Shifted by one, differences are positive, as solve expects.
	lo, hi := scale*k/n-k0/n0+1, 0.0
	if side > 0 {
		hi = scale + 1
	} else {
		lo, hi = hi, lo
	}
	return solve(lo, hi, target, side < 0, func(x float64) (float64, float64) { return differs(k, n, k0, n0, scale, x-1) }) - 1
}
