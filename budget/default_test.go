package budget

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// TestDefaultSlowLeak lets days pass under a clock of its own: a leak that begins
// after the two days of learning fires within a day, and a service that only
// breathes with its load stays quiet for a week. The other default budgets are
// tried on real services in internal/integration.
func TestDefaultSlowLeak(t *testing.T) {
	const learning = 48 * time.Hour
	load := func(at time.Duration) float64 { // cores, by the time of day
		return 1 + 0.8*math.Sin(2*math.Pi*at.Hours()/24)
	}
	random := rand.New(rand.NewPCG(1, 2))
	breathing := func(at time.Duration) float64 { return 200 + 150*load(at) + 40*random.NormFloat64() }
	tests := []struct {
		name       string
		goroutines func(at time.Duration) float64
		length     time.Duration
		fires      bool
	}{
		{"breathes", breathing, 7 * 24 * time.Hour, false},
		{"leaks a fifth an hour", func(at time.Duration) float64 {
			return breathing(at) + 100*max(0, (at-learning).Hours())
		}, learning + 24*time.Hour, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			watch, err := NewWatch(Default(), time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			nothing := &profile.Profile{SampleType: []*profile.ValueType{{Type: "figures", Unit: "count"}}, PeriodType: &profile.ValueType{}}
			for at := time.Minute; at <= tt.length; at += time.Minute {
				results, err := watch.Profile(nothing, at, Facts{
					Elapsed: 10 * time.Second,
					Figures: map[string]float64{"cores": load(at), "goroutines": tt.goroutines(at), "heap": 64 << 20, "rss": 128 << 20, "gc": 0.1},
				})
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range results {
					if r.Alarm != Fail {
						continue
					}
					if !tt.fires || r.Budget.Name != "goroutine-growth" || at < learning {
						t.Fatalf("%s fires after %v: %s", r.Budget.Name, at, r.Reason)
					}
					t.Logf("fires %v after the leak began: %s", at-learning, r.Reason)
					return
				}
			}
			if tt.fires {
				t.Errorf("nothing fires in %v", tt.length)
			}
		})
	}
}
