package evidence

import (
	"cmp"
	"slices"
)

// trendAlpha is the error of [Trend]. Ten numbers that rise all but once have a
// chance of 2.8e-6 by accident (S = 43 of 45); of nine all must rise, and eight are never enough.
const trendAlpha = 3e-6

// Trend returns the median slope of a series, by Theil and Sen, and whether it rises beyond chance
// by more than least per number, by the exact test of Mann and Kendall. The work grows with the
// fourth power of how many there are.
func Trend(series []float64, least float64) (slope float64, rises bool) {
	slopes := pairSlopes(series)
	slope = quantile(slopes, 0.5)
	return slope, slope > least && mannKendallP(mannKendall(slopes), len(series)) <= trendAlpha
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
	// chance[j] is the chance of j falling pairs. The next element, put at a
	// random place among m others, makes 0 to m of them, each as likely.
	chance := []float64{1}
	for m := 1; m < n; m++ {
		next := make([]float64, len(chance)+m)
		for j, x := range chance {
			for more := range m + 1 {
				next[j+more] += x / float64(m+1)
			}
		}
		chance = next
	}
	p := 0.0
	for _, x := range chance[:(len(chance)-1-s)/2+1] { // S = pairs - 2*falling
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
