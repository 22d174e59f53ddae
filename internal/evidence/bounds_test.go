package evidence

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestBoundsIdentity(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for range 2000 {
		n := math.Floor(math.Exp(rng.Float64() * 12))
		k := math.Floor(rng.Float64() * (n + 1))
		phi := 1 + 3*rng.Float64()
		alpha := math.Exp(-14 * rng.Float64())
		target := phi * -math.Log(alpha)
		low, high := Lower(k, n, phi, alpha), Upper(k, n, phi, alpha)
		if !(0 <= low && low <= k/n && k/n <= high && high <= 1) {
			t.Fatalf("k=%v n=%v: bounds %v, %v around %v", k, n, low, high, k/n)
		}
		for _, p := range []float64{low, high} {
			if p == 0 || p == 1 {
				continue
			}
			// How far the divergence may be off: what the solver's tolerance, 1e-13
			// of p, makes of it.
			slack := 1e-9*target + n*math.Abs(p-k/n)/(p*(1-p))*2e-13*p
			if 1-p < 1e-9 {
				continue // no digits are left to tell p from 1
			}
			if got := divergence(k, n, p); math.Abs(got-target) > slack {
				t.Errorf("k=%v n=%v alpha=%v phi=%v: divergence at %v is %v, want %v", k, n, alpha, phi, p, got, target)
			}
		}
	}
}

// TestBoundsLevel adds up the exact chance that the lower bound is above the
// true share: it must keep to alpha without wasting all of it.
func TestBoundsLevel(t *testing.T) {
	for _, n := range []float64{50, 300, 2000} {
		for _, p := range []float64{0.02, 0.2, 0.5} {
			for _, alpha := range []float64{0.05, 1e-3, 1e-6} {
				// The first k whose bound is above p; the bound rises with k.
				k := 0.0
				for k <= n && Lower(k, n, 1, alpha) <= p {
					k++
				}
				err := 0.0
				if k <= n {
					err = binomialTail(k, n, p)
				}
				t.Logf("n %4.0f share %4.2f alpha %7.0e: true error %.1e", n, p, alpha, err)
				if err > alpha {
					t.Errorf("n=%v p=%v: error %v, want at most %v", n, p, err, alpha)
				}
				if n*p > 50 && err < alpha/100 {
					t.Errorf("n=%v p=%v: error %v wastes the level %v", n, p, err, alpha)
				}
			}
		}
	}
}

func TestBoundsMirror(t *testing.T) {
	for k := 0.0; k <= 40; k++ {
		low, high := Lower(k, 40, 1.3, 1e-4), Upper(40-k, 40, 1.3, 1e-4)
		if math.Abs(low+high-1) > 1e-12 {
			t.Errorf("lower bound of %v hits %v, upper bound of as many misses %v", k, low, high)
		}
	}
}

func TestRateBounds(t *testing.T) {
	for _, k := range []float64{0.5, 1, 3, 10, 100, 1e4, 1e6} {
		for _, alpha := range []float64{0.05, 1e-3, 1e-6} {
			target := -math.Log(alpha)
			low := RateLower(k, alpha)
			if !(low < k) {
				t.Fatalf("k=%v: lower bound %v", k, low)
			}
			// A plain computation, good to what its terms cancel.
			if got := k*math.Log(k/low) - k + low; math.Abs(got-target) > 1e-9*target+1e-15*k {
				t.Errorf("k=%v alpha=%v: deviance at %v is %v, want %v", k, alpha, low, got, target)
			}
		}
	}
	if got := RateLower(0, 1e-3); got != 0 {
		t.Errorf("lower bound of no hits %v, want 0", got)
	}
	// A rate is the share of few hits in a great many trials.
	if got, want := RateLower(20, 1e-3), Lower(20, 1e9, 1, 1e-3)*1e9; math.Abs(got-want) > 1e-6*want {
		t.Errorf("rate bound %v, bound of a tiny share %v", got, want)
	}
}

func TestRateLevel(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 2))
	const runs, mean, alpha = 50_000, 30.0, 0.01
	tooHigh := 0
	for range runs {
		// Exponential gaps make Poisson counts.
		k := 0.0
		for at := rng.ExpFloat64(); at < mean; at += rng.ExpFloat64() {
			k++
		}
		if RateLower(k, alpha) > mean {
			tooHigh++
		}
	}
	t.Logf("Poisson of mean %v, alpha %v: lower bound wrong %.5f", mean, alpha, float64(tooHigh)/runs)
	// Measured a tenth of alpha; 0 would be a bound that says nothing.
	if tooHigh > alpha*runs || tooHigh < alpha*runs/50 {
		t.Errorf("%d of %d bounds wrong at alpha %v", tooHigh, runs, alpha)
	}
}

// The bounds of a mean hold: of many means as many are outside as they may be.
func TestMeanBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 2))
	const alpha, runs = 0.01, 20_000
	for _, n := range []int{3, 6, 24} {
		outside := 0
		for range runs {
			var m Mean
			for range n {
				m.Add(10+rng.NormFloat64(), 1)
			}
			if low, _ := m.Bounds(alpha, 0); low > 10 {
				outside++
			}
		}
		if outside > 1.3*alpha*runs { // the likelihood ratio is nearly exact
			t.Errorf("%d batches: %d of %d are outside, want at most %v", n, outside, runs, alpha*runs)
		}
	}
}
