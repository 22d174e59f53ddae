package evidence

import (
	"cmp"
	"slices"
)

// trendAlpha is the error of [Trend]. Ten floors that rise all but once have a
// chance of 2.8e-6 by accident (S = 43 of 45); of nine all must rise, and eight are never enough.
const trendAlpha = 3e-6

// trendFloors is the number of floors for a pass: fewer could not have failed with one of
// them out of order.
const trendFloors = 10

// Trend judges whether a series of floors (the minima of a figure between
// collections, say) rises by more than slope per floor. It fails when the
// floors rise beyond chance by the exact test of Mann and Kendall, and their
// median slope, by Theil and Sen, is above the limit; it passes when that slope
// is not above the limit, given at least ten floors. The work grows with the
// fourth power of their number. Value is the slope; there are no bounds.
func Trend(floors []float64, slope float64) Finding {
	slopes := pairSlopes(floors)
	f := Finding{Value: quantile(slopes, 0.5)}
	steep := f.Value > slope
	switch {
	case steep && mannKendallP(mannKendall(slopes), len(floors)) <= trendAlpha:
		f.Verdict = Fail
	case !steep && len(floors) >= trendFloors:
		f.Verdict = Pass
	}
	return f
}

// mannKendall returns the statistic S: pairs that rise minus pairs that fall.
func mannKendall(slopes []float64) (s int) {
	for _, x := range slopes {
		s += cmp.Compare(x, 0)
	}
	return s
}

// mannKendallP returns the chance that a series of n in random order has a statistic of
// at least s. Ties only make it smaller.
func mannKendallP(s, n int) float64 {
	pairs := n * (n - 1) / 2
	// chance[j] is the chance of j falling pairs. The next element, put at a
	// random place among m others, makes 0 to m of them, each as likely.
	chance := make([]float64, pairs+1)
	chance[0] = 1
	for m := 1; m < n; m++ {
		for j := pairs; j >= 0; j-- { // in place, as an entry depends on those below it
			sum := 0.0
			for _, x := range chance[max(j-m, 0) : j+1] {
				sum += x
			}
			chance[j] = sum / float64(m+1)
		}
	}
	p := 0.0
	for _, x := range chance[:(pairs-s)/2+1] { // S = pairs - 2*falling
		p += x
	}
	return min(p, 1)
}

// pairSlopes returns the slopes of all pairs, per step. Values that are not finite are taken as 0.
func pairSlopes(series []float64) []float64 {
	var slopes []float64
	for i, x := range series {
		for j := i + 1; j < len(series); j++ {
			slopes = append(slopes, (finite(series[j])-finite(x))/float64(j-i))
		}
	}
	return slopes
}

// quantile sorts its argument, and interpolates between neighbours. It is 0 for no numbers.
func quantile(xs []float64, q float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	slices.Sort(xs)
	at := q * float64(len(xs)-1)
	i := int(at)
	if i+1 >= len(xs) {
		return xs[len(xs)-1]
	}
	return xs[i] + (at-float64(i))*(xs[i+1]-xs[i])
}
