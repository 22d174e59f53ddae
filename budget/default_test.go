package budget_test

import (
	"math"
	"math/rand/v2"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	. "github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
)

// TestDefaultHasNoDeadRow: each default budget can tell something of a service that
// uses a twentieth of a core, in this runtime.
func TestDefaultHasNoDeadRow(t *testing.T) {
	facts := Facts{
		Elapsed: 10 * time.Second,
		Figures: map[Figure]float64{FigureProcess: 0.05, "goroutines": 20, "heap": 4 << 20, "rss": 12 << 20, "gc": 0.1},
	}
	work := folded.Must("cpu 10s\nmain.main;main.serve;main.handle 50")
	for _, b := range Default() {
		if b.Rule == "steady" {
			continue // TestDefaultSlowLeak
		}
		r := judged(t, Set{b}, work, facts)[0]
		switch {
		case b.Rule == "leaked":
			if pprof.Lookup("goroutineleak") == nil {
				t.Errorf("%s: the runtime has no such profile", b)
			}
		case r.Samples == 0 && r.Verdict == Inconclusive:
			t.Errorf("nothing is judged:\n%s", r)
		}
	}
}

// TestDefaultFindsDumps: prints of all sorts at half of the CPU are too much.
func TestDefaultFindsDumps(t *testing.T) {
	for _, function := range []string{"fmt.Sprintf", "fmt.Sprint", "fmt.Fprintf", "fmt.Fprintln", "fmt.Printf", "fmt.Appendf"} {
		p := folded.Must("cpu 10s\nmain.main;main.serve;main.handle 250\nmain.main;main.serve;" + function + ";fmt.(*pp).printValue 250")
		var failed []string
		for _, r := range judged(t, Default(), p, Facts{Figures: map[Figure]float64{"goroutines": 20, "gc": 0.1}}) {
			if r.Verdict == Fail {
				failed = append(failed, r.Budget.Name)
			}
		}
		if len(failed) != 1 || failed[0] != "debug-print" {
			t.Errorf("%s: expected debug-print to fail, found %v", function, failed)
		}
	}
}

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
			watch, err := newWatch(Default(), time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			nothing := &profile.Profile{SampleType: []*profile.ValueType{{Type: "figures", Unit: "count"}}, PeriodType: &profile.ValueType{}}
			for at := time.Minute; at <= tt.length; at += time.Minute {
				results, err := watch.Profile(nothing, at, Facts{
					Elapsed: 10 * time.Second,
					Figures: map[Figure]float64{FigureProcess: load(at), "goroutines": tt.goroutines(at), "heap": 64 << 20, "rss": 128 << 20, "gc": 0.1},
				})
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range results {
					if r.Proven != Fail {
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
