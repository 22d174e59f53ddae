package evidence

import (
	"math/rand/v2"
	"testing"
)

// TestPassIsWithinZone: whatever is judged, a pass has an upper bound of at most
// 1.25 times what the limit states, and a fail a lower bound above it.
func TestPassIsWithinZone(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds, on one goroutine")
	}
	rng := rand.New(rand.NewPCG(4, 4))
	for name, rule := range map[string]struct {
		limits []float64
		judge  func(share, n, limit float64) Finding
	}{
		"share": {
			limits: []float64{0.001, 0.05, 0.35, 2.0 / 3, 0.8, 0.99},
			judge:  func(q, n, limit float64) Finding { return Fixed(min(q, 1)*n, n, limit) },
		},
		"rate": {
			limits: []float64{0.01, 0.5, 40},
			judge:  func(q, n, limit float64) Finding { return Rate(q*n, n, limit) },
		},
		"growth in points": {
			limits: []float64{0.01, 0.05, 0.3, 0.9},
			judge: func(q, n, limit float64) Finding {
				q0 := min(max(0, 1-q), rng.Float64())
				return growth(min(q0+q, 1)*n, n, q0*n, n, limit, 1, 1)
			},
		},
		"growth in percent": {
			limits: []float64{0.01, 0.1, 0.5, 4},
			judge:  func(q, n, limit float64) Finding { return ratio((1+q)*n, 1000, n, 1000, limit, 1) },
		},
		"absent": { // its limit is what may hide, at a level of its own
			limits: []float64{AbsentShare},
			judge: func(q, n, limit float64) Finding {
				if q < limit {
					q = 0
				}
				return Absent(q*n, n)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			passed, failed := 0, 0
			for _, limit := range rule.limits {
				for range 2000 {
					times := 0.3 + 1.2*rng.Float64()
					n := 10 * float64(int(1)<<rng.IntN(18))
					f := rule.judge(times*limit, n, limit)
					low, high := f.Low, f.High
					switch f.Verdict {
					case Pass:
						passed++
						if high > Zone*limit*(1+1e-9) {
							t.Fatalf("limit %v, at %v times it with %v samples: pass with an upper bound of %v", limit, times, n, high)
						}
					case Fail:
						failed++
						// Of growth in points, the bound is found to five digits.
						if low <= limit*(1-1e-5) && name != "absent" {
							t.Fatalf("limit %v, at %v times it with %v samples: fail with a lower bound of %v", limit, times, n, low)
						}
					}
				}
			}
			if passed == 0 || failed == 0 {
				t.Errorf("%d passed and %d failed: nothing was tried", passed, failed)
			}
		})
	}
}
