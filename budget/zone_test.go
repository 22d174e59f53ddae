package budget_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	. "github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/folded"
)

// TestPassIsWithinZone: for every rule that has a limit, a pass has an upper bound
// of at most 1.25 times the limit, and a fail a lower one above it, wherever the
// truth is and however small the baseline.
func TestPassIsWithinZone(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates pure code: nothing for the race detector")
	}
	rng := rand.New(rand.NewPCG(8, 8))
	for sentence, limit := range map[string]float64{
		"main.work below 20%":                              0.2,
		"main.work below 20% flat":                         0.2,
		"main.work below 80%":                              0.8,
		"no function above 20% except main.rest":           0.2,
		"no package above 20% except main":                 0.2,
		"main.work below 0.2 cores":                        0.2,
		"main.work below 2ms per request":                  0.002,
		"process below 10ms per request":                   0.01,
		"process grows below 10% per request":              0.1,
		"main.work grows below 10% per request":            0.1,
		"no function grows above 10% per request":          0.1,
		"main.work grows below 5 points":                   0.05,
		"no function grows above 5 points":                 0.05,
		"no function grows above 5 points of goroutine":    0.05,
		"no function above 500 of goroutine":               500,
		"process below 10000 of allocs":                    10000,
		"main.work below 0.00001 cores of mutex":           0.00001,
		"main.work grows below 50% per request":            0.5,
		"process grows below 300% per request":             3,
		"main.work grows below 90 points":                  0.9,
		"no function grows above 300% per request of cpu":  3,
		"main.work below 2ms per request when gc below 5%": 0.002,
	} {
		set := Must(sentence)
		for range rounds(100) {
			n := 30 << rng.IntN(11)
			n0 := 30 << rng.IntN(11)
			window := func(n int, share float64) *profile.Profile {
				work := int(share * float64(n))
				text := "cpu 10s\n"
				switch set[0].Kind {
				case "goroutine", "mutex", "allocs":
					text = string(set[0].Kind) + "\n"
				}
				line := func(who string, v int) string {
					if set[0].Kind == "mutex" || set[0].Kind == "allocs" {
						return fmt.Sprintf("main.main;main.run;%s %d %d\n", who, v, 1000*v)
					}
					return fmt.Sprintf("main.main;main.run;%s %d\n", who, v)
				}
				if work > 0 {
					text += line("main.work", work)
				}
				return folded.Must(text + line("main.rest", n-work) + line("x/y.z", 1))
			}
			facts := Facts{
				Kind: set[0].Kind, Elapsed: 10 * time.Second, Figures: map[Figure]float64{"gc": 0},
				Baseline: Baseline{Profile: window(n0, 0.1+0.1*rng.Float64()), Work: map[string]float64{"request": float64(n0)}},
				Work:     map[string]float64{"request": float64(n) * (0.3 + 1.5*rng.Float64())},
			}
			r := judged(t, set, window(n, 0.3*rng.Float64()), facts)[0]
			switch {
			case r.Limit != limit:
				t.Fatalf("%s: the limit is %v, want %v", sentence, r.Limit, limit)
			case r.Verdict == Pass && r.High > evidence.Zone*limit*(1+1e-9), r.Verdict == Fail && r.Low <= limit*(1-1e-5):
				t.Fatalf("%v to %v, the limit is %v:\n%s", r.Low, r.High, limit, r)
			}
		}
	}
}

// rounds is how often a simulation runs: a tenth of it with -short, which is for
// the race detector, and makes each several times as long.
func rounds(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}
