package evidence

import "math"

// odds is how many odds ratios a mixture has. Four are enough: between two of them
// the evidence loses under a tenth of what the best single ratio collects.
const odds = 4

// A grid is the odds ratios that evidence is collected on.
type grid [odds]float64

var (
	// up proves a share to be above a limit, and down to be below.
	up   = grid{1.25, 1.6, 2.5, 6}
	down = grid{0.8, 0.6, 0.35, 0.02}

	// upFar proves a share to be many times a limit.
	upFar = grid{25, 60, 200, 1000}
)

// weights are a grid against one limit, with its logarithms computed once: a hit adds hit[i] to
// the evidence for ratio i, and every sample subtracts cost[i].
type weights struct {
	hit, cost grid
}

func against(limit float64, ratios grid) weights {
	limit = share(limit)
	var b weights
	for i, r := range ratios {
		b.hit[i] = math.Log(r)
		b.cost[i] = math.Log1p(limit * (r - 1))
	}
	return b
}

// evidence returns the logarithm of the mean, over the grid, of the likelihood ratios
// of k hits in n samples against the limit, divided by phi. While a share keeps to the
// limit, it ever reaches ln(1/alpha) with a chance of at most alpha. About 2125 samples
// reach ln 1e6 at 1.25 times a limit of 20%, 557 at 1.5 times, 155 at 2 and 46 at 3.
func (b *weights) evidence(k, n, phi float64) float64 {
	var c grid
	for i := range c {
		c[i] = (k*b.hit[i] - n*b.cost[i]) / phi
	}
	return lnMeanExp(&c)
}

// lnMeanExp takes the largest out first, so that nothing overflows.
func lnMeanExp(c *grid) float64 {
	m := max(c[0], c[1], c[2], c[3])
	sum := 0.0
	for _, x := range c {
		sum += math.Exp(x - m)
	}
	return m + math.Log(sum/odds)
}

// temper corrects evidence e whose overdispersion was estimated from nu+1
// pieces, as Student's t corrects the normal distribution: with few pieces the
// estimate may be far too small by chance. Evidence against (e <= 0) stays as
// it is; from fewer than two pieces there is none.
func temper(e, nu float64) float64 {
	e = finite(e)
	switch {
	case e <= 0:
		return e
	case !(nu >= 1):
		return 0
	}
	nu = min(nu, most)
	return (nu + 1) / 2 * math.Log1p(2*e/nu)
}
