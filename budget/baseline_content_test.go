package budget

import (
	"math/rand/v2"
	"testing"

	"github.com/profguard/profguard/internal/folded"
)

// TestWatchBaselineRead: a baseline that is read anew for each window is the same
// baseline, and a violation of it fires; another one begins anew.
func TestWatchBaselineRead(t *testing.T) {
	for _, other := range []bool{false, true} {
		l := &load{rand.New(rand.NewPCG(3, 9)), 1000}
		next := watcher(t, "main.work grows below 5 points")
		fired := false
		for i := range 200 {
			base := folded.Must("cpu 10s\nmain.main;main.run;main.work 2000\nmain.main;main.run;main.rest 8000\n")
			if other {
				base.TimeNanos = int64(i)
			}
			fired = fired || next(l.window(0.32), Facts{Baseline: base}).Evidence >= 1
		}
		if fired == other {
			t.Errorf("a baseline that changes: %t, fired: %t", other, fired)
		}
	}
}
