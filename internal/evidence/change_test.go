package evidence

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestChangeBounds: the bounds of a change hold, at several scales, and with overdispersion.
func TestChangeBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const runs, alpha = 4000, 0.01
	for _, test := range []struct{ share, share0, n, n0, scale, phi float64 }{
		{0.1, 0.1, 2000, 4000, 1, 1},
		{0.1, 0.3, 1000, 1000, 1.5, 1},
		{0.02, 0, 3000, 3000, 0.7, 1},
		{0.3, 0.1, 500, 5000, 1, 4},
	} {
		draw := func(p, n float64) Hits { // phi samples at a time
			k := 0.0
			for range int(n / test.phi) {
				if r.Float64() < p {
					k += test.phi
				}
			}
			return Hits{k, n, test.phi}
		}
		truth := test.scale*test.share - test.share0
		above, below := 0, 0
		for range runs {
			now, before := draw(test.share, test.n), draw(test.share0, test.n0)
			low, high := ChangeAbove(now, before, test.scale, alpha), ChangeBelow(now, before, test.scale, alpha)
			if value := test.scale*now.K/now.N - before.K/before.N; low > value+1e-9 || high < value-1e-9 {
				t.Fatalf("%v: %v is not between %v and %v", test, value, low, high)
			}
			if low > truth+1e-9 {
				above++
			}
			if high < truth-1e-9 {
				below++
			}
		}
		if most := alpha * runs; float64(above) > most || float64(below) > most {
			t.Errorf("%v: %d lower and %d upper bounds of %d are wrong, want at most %v", test, above, below, runs, most)
		}
	}
}

// TestChangeOfOne: at a scale of 1 it is the growth of a share.
func TestChangeOfOne(t *testing.T) {
	f := Baseline{K: 30, N: 1000}.Growth(200, 1500, 0.05, 1, 1)
	low := ChangeAbove(Hits{200, 1500, 1}, Hits{30, 1000, 1}, 1, FailAlpha)
	high := ChangeBelow(Hits{200, 1500, 1}, Hits{30, 1000, 1}, 1, PassAlpha)
	if math.Abs(low-f.Low) > 1e-9 || math.Abs(high-f.High) > 1e-9 {
		t.Errorf("%v to %v, want %v to %v", low, high, f.Low, f.High)
	}
}

func TestChangeOfAnything(t *testing.T) {
	odd := []float64{0, 1, -1, 7, 1e300, math.Inf(1), math.NaN()}
	for _, k := range odd {
		for _, n := range odd {
			for _, scale := range odd {
				for _, phi := range odd {
					low, high := ChangeAbove(Hits{k, n, phi}, Hits{n, k, phi}, scale, 0.01), ChangeBelow(Hits{k, n, phi}, Hits{n, k, phi}, scale, 0.01)
					if !(low <= high+1e-6) || math.IsInf(low, 0) || math.IsInf(high, 0) {
						t.Fatalf("%v of %v, scale %v, phi %v: %v to %v", k, n, scale, phi, low, high)
					}
				}
			}
		}
	}
}

// TestCostPerWork: bounds of a ratio of costs hold where costs differ between batches, for few batches and
// for correlated ones.
func TestCostPerWork(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const runs, alpha = 4000, 0.01
	for _, test := range []struct {
		batches     int
		correlation float64
	}{{3, 0}, {10, 0}, {60, 0}, {60, 0.5}} {
		draw := func(cost float64) PerWork {
			var list []Batch
			state := r.NormFloat64()
			for range test.batches {
				state = test.correlation*state + math.Sqrt(1-test.correlation*test.correlation)*r.NormFloat64()
				work := 100 * math.Exp(0.3*r.NormFloat64())
				list = append(list, Batch{cost * work * (1 + 0.1*state), work})
			}
			return CostPerWork(list)
		}
		wrong := 0
		for range runs {
			_, low, high := draw(1.3).Against(draw(1), alpha)
			if low > 1.3 || high < 1.3 {
				wrong++
			}
		}
		if wrong > 2*alpha*runs {
			t.Errorf("%v: %d bounds of %d are wrong", test, wrong, runs)
		}
	}
	if _, low, high := CostPerWork([]Batch{{1, 1}}).Against(CostPerWork([]Batch{{1, 1}, {2, 2}, {3, 3.1}}), alpha); low != 0 || high != most {
		t.Errorf("a single batch has bounds: %v to %v", low, high)
	}
	for _, b := range [][]Batch{nil, {{0, 0}}, {{math.NaN(), 1}, {1, math.NaN()}}, {{1, 1}, {1, 1}}, {{math.Inf(1), 1}, {1, 1}}} {
		value, low, high := CostPerWork(b).Against(CostPerWork([]Batch{{1, 1}, {1, 1}}), alpha)
		if !(low <= value && value <= high) {
			t.Errorf("%v: %v from %v to %v", b, value, low, high)
		}
	}
}

// TestCommon: half of the samples in functions that changed do not hide what the others have in common.
func TestCommon(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	wrong := 0
	const runs = 1000
	for range runs {
		var now, before []Hits
		for i := range 30 {
			k0 := 40 + 10*float64(i)
			factor := 0.8
			if i%3 == 0 {
				factor = 2.5
			}
			draw := func(mean float64) float64 { return math.Round(mean + math.Sqrt(mean)*r.NormFloat64()) }
			now, before = append(now, Hits{draw(factor * k0), 6000, 1}), append(before, Hits{draw(k0), 6000, 1})
		}
		if _, low, high, known := Common(now, before, 0.001); !known || low > 0.8 || high < 0.8 {
			wrong++
		}
	}
	if wrong > runs/100 {
		t.Errorf("%d of %d are wrong", wrong, runs)
	}
	few := []Hits{{29, 1000, 1}, {100, 1000, 1}}
	if _, _, _, known := Common(few, few, 0.001); known {
		t.Error("two functions have nothing in common")
	}
}
