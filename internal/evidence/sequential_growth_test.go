package evidence

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Baselines are drawn anew for each check, so that they are as often too low as too
// high. At the limit of the growth none fails, at the end of the zone next to none
// passes, and without growth nearly all pass.
func TestSequentialGrowth(t *testing.T) {
	runs := 400
	switch {
	case *long:
		runs = 4000
	case testing.Short():
		runs = 100
	}
	const blocks, size = 200, 10
	for _, tt := range []struct {
		name     string
		n0       int
		growth   float64 // in limits
		pass     bool    // nearly all
		fail     bool
		mostPass int // in a thousand
	}{
		{"none", 3000, 0, true, false, 1000},
		{"the limit", 3000, 1, false, false, 1000},
		{"the zone's end", 3000, 1.25, false, false, 5},
		{"the zone's end, a small baseline", 300, 1.25, false, false, 5},
		{"thrice", 3000, 3, false, true, 0},
	} {
		for _, rates := range []bool{false, true} {
			rng := rand.New(rand.NewPCG(uint64(tt.n0), math.Float64bits(tt.growth)))
			pass, fail, closed := 0, 0, 0
			for range runs {
				var s Sequential
				var next func() (k, n float64)
				if rates {
					const limit = 0.2 // growth of 20% per unit, of which a block has one
					k0 := poisson(rng, float64(tt.n0))
					exposure0 := float64(tt.n0) / size
					b := Limit{limit, true, true, k0, exposure0}
					s = NewSequential(b)
					next = func() (float64, float64) { return poisson(rng, size*(1+0.2*tt.growth)), 1 }
				} else {
					k0 := float64(draw(rng, tt.n0, 0.3))
					s = NewSequential(Limit{0.1, false, true, k0, float64(tt.n0)})
					next = func() (float64, float64) { return float64(draw(rng, size, 0.3+0.1*tt.growth)), size }
				}
				for range blocks {
					if s.Add(next()) != Inconclusive {
						break
					}
				}
				switch s.Verdict() {
				case Pass:
					pass++
				case Fail:
					fail++
				}
				if s.Close().Verdict == Pass {
					closed++
				}
			}
			t.Logf("%s, rates %t: %d pass, %d more at the end, %d fail of %d", tt.name, rates, pass, closed-pass, fail, runs)
			if pass*1000 > tt.mostPass*runs || tt.pass && pass < runs*9/10 || tt.fail && fail < runs*9/10 || !tt.fail && fail > 0 {
				t.Errorf("%s, rates %t: %d pass, %d fail of %d", tt.name, rates, pass, fail, runs)
			}
			if tt.growth >= 2 && closed > 0 {
				t.Errorf("%s, rates %t: %d pass at the end", tt.name, rates, closed)
			}
		}
	}
}

func draw(rng *rand.Rand, n int, p float64) (k int) {
	for range n {
		if rng.Float64() < p {
			k++
		}
	}
	return k
}

// poisson counts what comes in so much time, one at a time on the mean.
func poisson(rng *rand.Rand, mean float64) (k float64) {
	for at := rng.ExpFloat64(); at < mean; at += rng.ExpFloat64() {
		k++
	}
	return k
}

// A judge whose baseline is all or nothing is no vacuous pass.
func TestSequentialGrowthEnds(t *testing.T) {
	for _, tt := range []struct {
		name         string
		k0, n0, k, n float64 // k of n in each of 60 blocks
		want         Verdict
	}{
		{"all, as ever", 3000, 3000, 10, 10, Pass},
		{"all, of few", 5, 5, 10, 10, Inconclusive},
		{"nearly all, of few", 9, 10, 10, 10, Inconclusive},
		{"none, as ever", 0, 3000, 0, 10, Pass},
		{"none, then all", 0, 3000, 10, 10, Fail},
		{"no baseline", 0, 0, 0, 10, Inconclusive},
	} {
		s := NewSequential(Limit{0.05, false, true, tt.k0, tt.n0})
		for range 60 {
			s.Add(tt.k, tt.n)
		}
		if s.Verdict() != tt.want {
			t.Errorf("%s: %v, want %v: %+v", tt.name, s.Verdict(), tt.want, s.Close())
		}
	}
	if s := NewSequential(Limit{0.1, true, true, 0, 100}); s.Add(0, 1) != Inconclusive {
		t.Error("a ratio to nothing was decided by one block")
	}
}
