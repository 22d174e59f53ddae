package evidence

import (
	"math/rand/v2"
	"testing"
)

// What is beyond doubt fails after a second of one core, also in the blocks of 50 ms
// of a benchmark; what keeps to the limit does not, whatever its bursts.
func TestSequentialPlain(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 6))
	runs := often(2000)
	for _, tt := range []struct {
		limit, share, size float64
		once               bool
		blocks             int // four of five have failed by then
	}{
		{0.2, 0.98, 10, false, 11}, {0.2, 0.98, 5, true, 21}, {0.2, 0.9, 10, false, 14}, {0.05, 0.9, 10, false, 11}, {0.5, 0.98, 10, false, 26},
	} {
		judge := NewSequential(Limit{Most: tt.limit})
		judge.Once = tt.once
		d := simulate(rng, judge, func() source {
			return func(rng *rand.Rand, p float64) (float64, float64) { return binomial(rng, int(tt.size), p), tt.size }
		}, tt.share, runs/10, tt.blocks)
		t.Logf("%+v: %d of %d failed", tt, d.fail, d.runs)
		if d.fail < d.runs*4/5 {
			t.Errorf("%+v: %d of %d failed", tt, d.fail, d.runs)
		}
	}
	for _, src := range sequentialSources() {
		for _, limit := range []float64{0.05, 0.2, 0.5} {
			d := simulate(rng, NewSequential(Limit{Most: limit}), src.make, limit, runs, 20)
			t.Logf("%-14s at the limit of %v: %d of %d failed", src.name, limit, d.fail, d.runs)
			// A burst of 100 ms on the average lasts for all of the first second with a
			// chance of e^-10.
			if d.fail > max(1, runs/10_000) {
				t.Errorf("%s at the limit of %v: %d of %d failed", src.name, limit, d.fail, d.runs)
			}
		}
	}
}

// What a check says is needed is right within a factor of two: at the median of the
// checks that were not decided when they were asked, as many samples decide. With fewer
// samples than have five hits at the limit, the share itself is not known as well.
func TestSequentialNeeded(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 7))
	if testing.Short() {
		t.Skip("computes for seconds, on one goroutine")
	}
	runs := often(15)
	for _, src := range sequentialSources()[:2] {
		for _, limit := range []float64{0.02, 0.2, 0.5} {
			for _, x := range []float64{0.3, 0.8, 1, 1.3, 1.6, 2.2} {
				for _, blocks := range []int{8, 14, 30} {
					var ratios []float64
					for range runs {
						s, from := NewSequential(Limit{Most: limit}), src.make()
						for range blocks {
							s.Add(from(rng, limit*x))
						}
						if s.all.n*limit < 5 || src.name != "steady" && s.all.k < 20 {
							continue // so few hits say nothing of how they come
						}
						f := s.Close()
						if f.Verdict != Inconclusive || f.Needed == 0 {
							continue
						}
						for range 20_000 {
							if s.Add(from(rng, limit*x)); s.Close().Verdict != Inconclusive {
								break
							}
						}
						ratios = append(ratios, f.Needed/s.all.n)
					}
					if len(ratios) < runs/2 {
						continue // most are decided
					}
					factor := 2.0
					if src.name != "steady" {
						factor = 2.5 // the dispersion is estimated, too
					}
					if q := quantile(ratios, 0.5); q < 1/factor || q > factor {
						t.Errorf("%-14s %4.1fx of %4.2f after %2d blocks: %d asked, %.2f (%.2f to %.2f) of what it took", src.name, x, limit, blocks,
							len(ratios), q, quantile(ratios, 0.1), quantile(ratios, 0.9))
					}
				}
			}
		}
	}
}
