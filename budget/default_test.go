package budget_test

import (
	"runtime/pprof"
	"testing"
	"time"

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
