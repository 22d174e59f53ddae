package guard

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/internal/profiler"
)

// README promises that the default budgets find expressions that are compiled in each request. They
// are 25% to 48% of the programs in which that was planted, and 5.4% of one; twelve sound programs
// at full load had no sample of it. One that compiles now and then has a percent at the most.
func TestDefaultFindsCompiling(t *testing.T) {
	for _, tt := range []struct {
		share   float64
		samples int // a window
		within  time.Duration
	}{
		{0.25, 50, 6 * time.Minute},
		{0.054, 1000, 6 * time.Minute},
		{0.054, 100, 2 * time.Hour},
		{0.01, 1000, 0},
		{0.01, 100, 0},
		{0, 50, 0},
	} {
		bubble(t, func(t *testing.T, w *world) {
			random := rand.New(rand.NewPCG(41, 14))
			w.linked = append(w.linked, "regexp.compile", "fmt.Printf", "runtime.selectgo")
			w.cores = func(time.Duration) float64 { return float64(tt.samples) / 1000 }
			w.take = func(int) profiler.Window {
				hits := 0
				for range tt.samples {
					if random.Float64() < tt.share {
						hits++
					}
				}
				return cpuWindow(fmt.Sprintf("cpu 10s\nmain.main;main.serve;regexp.Compile;regexp.compile %d\nmain.main;main.serve;main.list %d\n", hits, tt.samples-hits))
			}
			g := w.start(t, Config{Registerer: prometheus.NewRegistry()})
			pass(4 * time.Hour)
			b := g.Status().Budgets[3]
			g.Stop()
			fired := firings(w)
			switch {
			case tt.within == 0 && (len(fired) > 0 || b.State != StateOK):
				t.Errorf("%v of %d samples a window: fired %d times, %s is %s: %s", tt.share, tt.samples, len(fired), b.Name, b.State, b.Result.Reason)
			case tt.within > 0 && (len(fired) != 1 || fired[0].Budget != "regexp-compile" || fired[0].Time.Sub(w.began) > tt.within):
				t.Errorf("%v of %d samples a window: fired %d times, want regexp-compile once, within %v", tt.share, tt.samples, len(fired), tt.within)
			case tt.within > 0:
				t.Logf("%v of %d samples a window: fired after %v", tt.share, tt.samples, fired[0].Time.Sub(w.began))
			}
		})
	}
}
