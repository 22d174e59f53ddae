package evidence

import "math"

// odds are the odds ratios of a mixture. Four are enough: between two of them
// the evidence loses under a tenth of what the best single ratio collects.
const odds = 4

// A Grid is the set of odds ratios that evidence is collected on.
type Grid [odds]float64

// Up returns the grid that proves a share to be above a limit.
func Up() Grid { return Grid{1.25, 1.6, 2.5, 6} }

// Down returns the grid that proves a share to be below a limit.
func Down() Grid { return Grid{0.8, 0.6, 0.35, 0.02} }

// UpNear and DownNear are Up and Down for growth: 10% more, and the 12.5% where
// its zone ends, are so near to what was that the first ratio of the wide grids
// jumps over them. Below 0.95 times the end of the zone, and above 1.03 times the
// limit, evidence grows; beyond twice the limit it takes a window more.
func UpNear() Grid   { return Grid{1.06, 1.2, 1.8, 5} }
func DownNear() Grid { return Grid{0.95, 0.88, 0.7, 0.3} }

// Evidence returns the logarithm of the mean, over the grid, of the likelihood
// ratios of k hits in n samples against the limit, tempered by phi. At a share
// that keeps to the limit it ever reaches ln(1/alpha) with a chance of at most
// alpha. About 2125 samples reach ln 1e6 at 1.25 times a limit of 20%, 557 at
// 1.5, 155 at 2 and 46 at 3 times.
func Evidence(k, n, limit float64, grid Grid, phi float64) float64 {
	k, n = counts(k, n)
	b := against(limit, grid)
	return b.evidence(k, n, factor(phi))
}

// weights are a grid against one limit, with its logarithms taken once: a hit is
// worth hit[i] on ratio i, and every sample costs cost[i].
type weights struct {
	hit, cost Grid
}

func against(limit float64, grid Grid) weights {
	limit = share(limit)
	var b weights
	for i, r := range grid {
		// Ratios from outside are kept to what has a logarithm.
		r = min(max(amount(r), 1/most), most)
		b.hit[i] = math.Log(r)
		b.cost[i] = math.Log1p(limit * (r - 1))
	}
	return b
}

// evidence is [Evidence] on inputs that make sense already.
func (b *weights) evidence(k, n, phi float64) float64 {
	var c Grid
	for i := range c {
		c[i] = (k*b.hit[i] - n*b.cost[i]) / phi
	}
	return lnMeanExp(&c)
}

// lnMeanExp takes the largest out first, so that nothing overflows.
func lnMeanExp(c *Grid) float64 {
	m := max(c[0], c[1], c[2], c[3])
	sum := 0.0
	for _, x := range c {
		// Below e^-40 a term is lost in the sum's last digit, and skipping it
		// saves an exponential.
		if x-m > -40 {
			sum += math.Exp(x - m)
		}
	}
	return m + math.Log(sum/odds)
}
