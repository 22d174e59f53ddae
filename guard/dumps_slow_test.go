package guard

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/profiler"
)

var allocated []byte

// A slow disk delays the reports of a window, and not its measurement: profiles of the other
// kinds end before the guard waits for a dump of the CPU profile.
func TestSlowDumpsDelayNoMeasurement(t *testing.T) {
	const self = "guard.TestSlowDumpsDelayNoMeasurement"
	bubble(t, func(t *testing.T, w *world) {
		w.linked = append(w.linked, "github.com/profguard/profguard/"+self)
		offers := 0
		w.take = func(n int) profiler.Window {
			if n < 4 {
				return cpuWindow("cpu 10s\nmain.main;main.serve;main.work 1000\n")
			}
			return cpuWindow("cpu 10s\nmain.main;main.serve;main.work 400\nmain.main;main.serve;fmt.Println 600\n")
		}
		w.offer = func(*dumps.Store, dumps.Dump) (dumps.ID, error) {
			offers++
			id, g := dumps.ID(fmt.Sprint(offers)), theGuard()
			go func() {
				time.Sleep(2*second - 100*time.Millisecond)
				dumpEnds(g, dumps.Outcome{ID: id})
			}()
			return id, nil
		}
		lines := []string{"jobs: " + self + " below 11MiB per job of allocs for 1 windows"}
		for i := range 4 {
			lines = append(lines, fmt.Sprintf("b%d: fmt.Println below %d%% for 1 windows", i, i+5))
		}
		cfg := dumping(t, lines...)
		var jobs atomic.Int64
		cfg.Work = map[string]func() float64{"job": func() float64 { return float64(jobs.Load()) }}
		stop := make(chan bool)
		go func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(250 * time.Millisecond):
					allocated = make([]byte, 8<<20) // so large that the runtime samples each
					jobs.Add(1)
					runtime.GC() // the profile is as of the last collection
				}
			}
		}()
		g := w.start(t, cfg)
		for range 9 {
			pass(10 * second)
			for _, b := range g.Status().Budgets {
				if mib := b.Result.Value / (1 << 20); b.Name == "jobs" && b.Result.Value > 0 && (mib < 7 || mib > 9) {
					t.Errorf("%.1f MiB per job, each takes 8: %s", mib, b.Result.Reason)
				}
			}
		}
		close(stop)
		g.Stop()
		if offers < 4 {
			t.Errorf("%d dumps, want those of four budgets in a window", offers)
		}
	})
}
