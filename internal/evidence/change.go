package evidence

import (
	"math"
	"sort"
)

// Hits are the hits of one function in the samples of one build. Phi is their overdispersion.
type Hits struct{ K, N, Phi float64 }

// ChangeAbove and ChangeBelow are the lower and the upper bound, with error alpha, of the change of a
// function's cost, in parts of what everything cost before: scale times its share now, less its
// share before. scale is what everything costs now, in the same unit.
func ChangeAbove(now, before Hits, scale, alpha float64) float64 {
	return change(now, before, scale, alpha, -1)
}

// ChangeBelow is the upper bound: see [ChangeAbove].
func ChangeBelow(now, before Hits, scale, alpha float64) float64 {
	return change(now, before, scale, alpha, +1)
}

func change(now, before Hits, scale, alpha, side float64) float64 {
	k, n, k0, n0 := now.independent(), now.samples(), before.independent(), before.samples()
	scale = min(max(amount(scale), 1e-6), 1e6) // differences of shares are exact enough then
	switch {
	case n > 0 && n0 > 0:
		return differenceBound(k, n, k0, n0, scale, surprise(alpha), side)
	case side < 0:
		return -1
	}
	return scale
}

// independent and samples are as many hits and samples as are as uncertain if they are independent.
func (h Hits) independent() float64 { k, _ := counts(h.K, h.N); return k / factor(h.Phi) }
func (h Hits) samples() float64     { return amount(h.N) / factor(h.Phi) }

// A Batch is the cost of some work.
type Batch struct{ Cost, Work float64 }

// A PerWork is a cost per unit of work, measured in batches.
type PerWork struct {
	Value    float64
	Variance float64 // of the value's logarithm
	Freedom  float64 // degrees of it, with which Variance is known
}

// CostPerWork adds batches up, which are in the order of their time. Close ones are
// correlated: the variance is larger by that. It is infinite for less than two batches.
func CostPerWork(batches []Batch) PerWork {
	var cost, work float64
	n := 0
	for _, b := range batches {
		if b := b.valid(); b.Work > 0 {
			cost, work, n = cost+b.Cost, work+b.Work, n+1
		}
	}
	if !(cost > 0) || !(work > 0) {
		return PerWork{Variance: math.Inf(1)}
	}
	p := PerWork{Value: cost / work, Variance: math.Inf(1)}
	if n < 2 {
		return p
	}
	var square, product, last float64
	for _, b := range batches {
		if b := b.valid(); b.Work > 0 {
			rest := b.Cost - p.Value*b.Work
			square, product, last = square+rest*rest, product+rest*last, rest
		}
	}
	p.Freedom = float64(n - 1)
	p.Variance = square / (cost * cost) * float64(n) / p.Freedom
	if square > 0 {
		correlation := min(max(product/square, 0), 0.9)
		p.Variance *= (1 + correlation) / (1 - correlation)
	}
	return p
}

func (b Batch) valid() Batch { return Batch{amount(b.Cost), amount(b.Work)} }

// Against returns by what factor the cost has changed, with bounds of error alpha each.
func (p PerWork) Against(before PerWork, alpha float64) (value, low, high float64) {
	if !(p.Value > 0) || !(before.Value > 0) {
		return 0, 0, most
	}
	value = amount(p.Value / before.Value)
	variance := p.Variance + before.Variance
	if math.IsInf(variance, 1) || math.IsNaN(variance) {
		return value, 0, most
	}
	freedom := math.Inf(1) // of the sum, by Welch and Satterthwaite
	if variance > 0 {
		var inverse float64
		for _, part := range [...]PerWork{p, before} {
			if share := part.Variance / variance; share > 0 {
				inverse += share * share / part.Freedom
			}
		}
		freedom = 1 / inverse
	}
	width := math.Sqrt(2*untempered(surprise(alpha), freedom)) * math.Sqrt(variance)
	return value, amount(value * math.Exp(-min(width, 60))), amount(value * math.Exp(min(width, 60)))
}

// untempered is the evidence e of a known variance which counts as much as the target if the
// variance is estimated with so many degrees of freedom: the inverse of (nu+1)/2 ln(1 + 2e/nu).
func untempered(target, freedom float64) float64 {
	if math.IsInf(freedom, 1) {
		return target
	}
	return min(freedom/2*math.Expm1(min(2*target/(freedom+1), 60)), most)
}

// Estimated is the factor by which more evidence is asked for with error alpha, where a variance is not known but
// estimated with so many degrees of freedom: see [PerWork.Freedom]. With less than one nothing is evidence.
func Estimated(alpha, freedom float64) float64 {
	if !(freedom >= 1) {
		return most
	}
	return untempered(surprise(alpha), freedom) / surprise(alpha)
}

// A shareRatio is that of two shares of one function.
type shareRatio struct{ log, variance, weight float64 }

// Common returns the factor by which shares have changed that most samples have in common, with
// bounds of error alpha each: the weighted median of the ratios of now to before, over the functions with
// at least leastHits on both sides. known is false if there are too few of these. A function that got
// cheaper makes the shares of all others larger, by the same factor. Functions whose ratio is
// surely another one have changed by themselves, and are left out.
func Common(now, before []Hits, alpha float64) (value, low, high float64, known bool) {
	var ratios []shareRatio
	var total float64
	for i := range now {
		if a, b := now[i], before[i]; a.K >= leastHits && b.K >= leastHits {
			variance := a.logVariance() + b.logVariance()
			ratios = append(ratios, shareRatio{math.Log(a.K / a.N * b.N / b.K), variance, 1 / variance})
			total += 1 / variance
		}
	}
	if len(ratios) < fewRatios {
		return 1, 0, most, false
	}
	for i := range ratios { // one function is no majority
		ratios[i].weight = min(ratios[i].weight, total/4)
	}
	sort.Slice(ratios, func(i, j int) bool { return ratios[i].log < ratios[j].log }) // smaller than an instance of slices.SortFunc
	kept := ratios
	median := medianOf(kept)
	for range 5 {
		kept = nil
		for _, r := range ratios {
			if distance := r.log - median; distance*distance <= 9*r.variance {
				kept = append(kept, r)
			}
		}
		if len(kept) == 0 || len(kept) < len(ratios) && len(ratios) < leastRatios {
			return 1, 0, most, false
		}
		median = medianOf(kept)
	}
	var weights, spread float64
	for _, r := range kept {
		weights, spread = weights+r.weight, spread+r.weight*math.Sqrt(r.variance)
	}
	// The variance of a weighted median is pi/2 times that of the mean. Some that changed, and cannot
	// be told apart, move it by a part of the standard deviation of a typical ratio.
	width := math.Sqrt(2*surprise(alpha)*math.Pi/2/weights) + 0.6*spread/weights
	return math.Exp(median), math.Exp(median - width), math.Exp(median + width), true
}

// medianOf is the weighted median of ratios in their order.
func medianOf(ratios []shareRatio) float64 {
	var total, passed float64
	for _, r := range ratios {
		total += r.weight
	}
	for _, r := range ratios {
		if passed += r.weight; passed >= total/2 {
			return r.log
		}
	}
	return 0
}

// leastHits are the hits of a function that has a part in [Common], and leastRatios the number of
// such functions.
// functions. Fewer will do, down to fewRatios, if none differs from the others.
const leastHits, leastRatios, fewRatios = 30, 5, 2

// logVariance is the variance of the logarithm of the share.
func (h Hits) logVariance() float64 { return factor(h.Phi) / h.K * max(1-h.K/h.N, 0.01) }
