package evidence

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestGrowth(t *testing.T) {
	tests := []struct {
		name          string
		k, n, k0, n0  float64
		margin, tests float64
		want          Verdict
	}{
		{"no baseline", 10, 100, 0, 0, 0.05, 1, Inconclusive},
		{"nothing now", 0, 0, 10, 100, 0.05, 1, Inconclusive},
		{"from 5% to 20%", 200, 1000, 50, 1000, 0.05, 1, Fail},
		{"from 5% to 20%, one of a thousand", 200, 1000, 50, 1000, 0.05, 1e6, Inconclusive},
		{"from 5% to 20%, few", 20, 100, 5, 100, 0.05, 1, Inconclusive},
		{"the same", 1000, 20000, 1000, 20000, 0.05, 1, Pass},
		{"shrunk", 10, 1000, 300, 1000, 0.05, 1, Pass},
		{"new function", 150, 1000, 0, 5000, 0.05, 1, Fail},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := growth(tt.k, tt.n, tt.k0, tt.n0, tt.margin, 1, tt.tests)
			if f.Verdict != tt.want {
				t.Errorf("%v (%+v), want %v", f.Verdict, f, tt.want)
			}
			if f.Low > f.Value || f.High < f.Value {
				t.Errorf("bounds %v, %v do not hold %v", f.Low, f.High, f.Value)
			}
		})
	}
}

// TestGrowthBounds: the bound above the margin and the verdict are the same thing.
func TestGrowthBounds(t *testing.T) {
	for k := 0.0; k <= 500; k += 10 {
		f := growth(k, 500, 30, 400, 0.05, 1, 1)
		if (f.Low > 0.05) != (f.Verdict == Fail) {
			t.Errorf("k=%v: %v with lower bound %v", k, f.Verdict, f.Low)
		}
	}
}

func TestGrowthSimulation(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	const runs, n, n0, base, margin = 1000, 400, 400, 0.02, 0.05
	for _, grown := range []float64{0, 0.05, 0.15, 0.25} {
		var fail, pass, naive int
		for range runs {
			k, k0 := binomial(rng, n, base+grown), binomial(rng, n0, base)
			switch growth(k, n, k0, n0, margin, 1, 1).Verdict {
			case Fail:
				fail++
			case Pass:
				pass++
			}
			if k/n-k0/n0 > margin {
				naive++
			}
		}
		t.Logf("grown by %4.2f, margin %v: failed %.4f, passed %.4f, naive %.4f", grown, margin,
			float64(fail)/runs, float64(pass)/runs, float64(naive)/runs)
		switch {
		case grown <= margin && fail > 0:
			t.Errorf("%d of %d failed within the margin", fail, runs)
		case grown > 0.2 && fail < runs*95/100:
			t.Errorf("only %d of %d failed at five times the margin", fail, runs)
		case grown > 1.3*margin && pass > 0:
			t.Errorf("%d of %d passed beyond the zone", pass, runs)
		}
	}
}

func TestRatio(t *testing.T) {
	tests := []struct {
		name             string
		k, t1, k0, t0, r float64
		want             Verdict
	}{
		{"no baseline", 100, 1000, 0, 0, 1.1, Inconclusive},
		{"twice as dear", 2000, 1000, 1000, 1000, 1.1, Fail},
		{"twice the work at the same price", 20000, 20000, 10000, 10000, 1.1, Pass},
		{"the same, of a small baseline", 2000, 2000, 1000, 1000, 1.1, Inconclusive},
		{"a seventh dearer", 1150, 1000, 1000, 1000, 1.1, Inconclusive},
		{"cheaper", 500, 1000, 1000, 1000, 1.1, Pass},
		{"few", 12, 1000, 10, 1000, 1.1, Inconclusive},
		{"new cost", 200, 1000, 0, 1000, 1.1, Fail},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := ratio(tt.k, tt.t1, tt.k0, tt.t0, tt.r-1, 1)
			if f.Verdict != tt.want {
				t.Errorf("%v (%+v), want %v", f.Verdict, f, tt.want)
			}
			if tt.k0 > 0 {
				if want := tt.k/tt.t1/(tt.k0/tt.t0) - 1; math.Abs(f.Value-want) > 1e-9 {
					t.Errorf("ratio %v, want %v", f.Value, want)
				}
			}
			if f.Low > f.High {
				t.Errorf("bounds %v, %v", f.Low, f.High)
			}
		})
	}
}

// TestRatioNew: what the baseline has nothing of is compared with one hit of it.
func TestRatioNew(t *testing.T) {
	if f := ratio(200, 1000, 0, 4000, 0.1, 1); f.Value != 799 || f.Low > f.Value {
		t.Errorf("%+v, want a value of 799", f)
	}
}

// TestGrowthBaseline: a baseline is too small where no number of samples of now decides.
func TestGrowthBaseline(t *testing.T) {
	for _, tt := range []struct {
		k, n, k0, n0 float64
		rates, small bool
	}{
		{30, 100, 6, 20, false, true}, // far too small
		{300, 1000, 30, 100, false, true},
		{60, 200, 600, 2000, false, false}, // only now is small
		{2000, 2000, 1000, 1000, true, true},
		{20, 20, 100_000, 100_000, true, false},
		{5, 1e10, 5, 1e10, true, true}, // per byte sent, for example
	} {
		f := Baseline{tt.k0, tt.n0, tt.rates}.Growth(tt.k, tt.n, 0.05, 1, 1)
		if f.Verdict != Inconclusive || f.SmallBaseline != tt.small {
			t.Errorf("%+v: %+v", tt, f)
		}
	}
}
