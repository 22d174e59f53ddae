package evidence

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestTrend(t *testing.T) {
	rise := func(n int, slope float64) []float64 {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = 100 + slope*float64(i)
		}
		return xs
	}
	swap := func(xs []float64, i, j int) []float64 {
		xs[i], xs[j] = xs[j], xs[i]
		return xs
	}
	tests := []struct {
		name   string
		floors []float64
		slope  float64
		want   bool
	}{
		{"none", nil, 1, false},
		{"eight that rise prove nothing", rise(8, 5), 1, false},
		{"ten that rise", rise(10, 5), 1, true},
		{"ten, two neighbours out of order", swap(rise(10, 5), 3, 4), 1, true},
		{"ten, out of order by two", swap(rise(10, 5), 3, 5), 1, false},
		{"ten that rise too little to matter", rise(10, 0.5), 1, false},
		{"flat", rise(10, 0), 0, false},
		{"falling", rise(10, -5), 1, false},
		{"a long rise", rise(64, 5), 1, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if slope, rises := Trend(tt.floors, tt.slope); rises != tt.want {
				t.Errorf("%v (slope %v, S %d), want %v", rises, slope, mannKendall(pairSlopes(tt.floors)), tt.want)
			}
		})
	}
}

func TestMannKendallP(t *testing.T) {
	// Every order of six, counted one by one.
	counts := map[int]int{}
	var permute func(xs []float64, at int)
	permute = func(xs []float64, at int) {
		if at == len(xs) {
			counts[mannKendall(pairSlopes(xs))]++
			return
		}
		for i := at; i < len(xs); i++ {
			xs[at], xs[i] = xs[i], xs[at]
			permute(xs, at+1)
			xs[at], xs[i] = xs[i], xs[at]
		}
	}
	permute([]float64{1, 2, 3, 4, 5, 6}, 0)
	for s := -15; s <= 15; s++ {
		atLeast := 0
		for v, c := range counts {
			if v >= s {
				atLeast += c
			}
		}
		if got, want := mannKendallP(s, 6), float64(atLeast)/720; math.Abs(got-want) > 1e-12 {
			t.Errorf("P(S >= %d) = %v, want %v", s, got, want)
		}
	}
	if got, want := mannKendallP(43, 10), 10/3628800.0; math.Abs(got-want) > 1e-12 {
		t.Errorf("P(S >= 43) of ten = %v, want %v", got, want)
	}
}

func TestTheilSen(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	var xs []float64
	for i := range 20 {
		xs = append(xs, 3*float64(i)+rng.NormFloat64())
	}
	xs[7] = 1e6 // one wild value does not matter
	if got := quantile(pairSlopes(xs), 0.5); math.Abs(got-3) > 0.2 {
		t.Errorf("slope %v, want about 3", got)
	}
}
