package evidence

import (
	"math/rand/v2"
	"testing"
)

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
