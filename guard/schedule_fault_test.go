package guard

import (
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/profiler"
)

func TestFault_43_Suspended(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.take = func(n int) profiler.Window {
			if n == 1 {
				return lost(profiler.Suspended)
			}
			return cpuWindow(fullCore)
		}
		g := w.start(t, Config{Budgets: simple})
		pass(75 * second)
		s := g.Status()
		b := s.Budgets[0]
		if s.Window.Outcome != "suspended" || b.Result.Verdict != budget.Inconclusive || b.Result.Samples != 0 {
			t.Errorf("%s: %v with %d samples", s.Window.Outcome, b.Result.Verdict, b.Result.Samples)
		}
		pass(minute)
		if s := g.Status(); s.Window.Outcome != "ok" || s.Budgets[0].Result.Verdict != budget.Pass {
			t.Errorf("the next window: %s, %v", s.Window.Outcome, s.Budgets[0].Result.Verdict)
		}
		wantEvents(t, w, "profguard.window.lost", "profguard.window.regained")
		g.Stop()
	})
}

func TestFault_44_Overrun(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.stretch = 1.5
		w.take = func(int) profiler.Window { return lost(profiler.Overrun) }
		g := w.start(t, Config{Budgets: simple, Every: 10 * second, Window: 10 * second})
		pass(10 * minute)
		g.Stop()
		want := []time.Duration{minute, 2 * minute, 4 * minute}
		w.mu.Lock()
		defer w.mu.Unlock()
		for i, wait := range want {
			if got := w.starts[i+1] - w.ends[i]; got != wait {
				t.Errorf("%v from overrun %d to the next window, want %v", got, i+1, wait)
			}
		}
		if s := g.Status(); s.Windows["overrun"] != 4 || s.Windows["ok"] != 0 || s.Budgets[0].Verdicts["inconclusive"] != 4 {
			t.Errorf("windows %v, verdicts %v", s.Windows, s.Budgets[0].Verdicts)
		}
	})
}

// The clean twin: a hiccup costs its window, and not the minutes after it.
func TestFault_44_OverrunByAQuarter(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.stretch = 0.25
		w.take = func(n int) profiler.Window {
			if n%2 == 0 {
				return lost(profiler.Overrun)
			}
			return cpuWindow(fullCore)
		}
		g := w.start(t, Config{Budgets: simple, Every: second, Window: second})
		pass(minute)
		g.Stop()
		if s := g.Status(); s.Windows["overrun"] != 24 || s.Windows["ok"] != 24 || s.Budgets[0].Verdicts["inconclusive"] != 24 {
			t.Errorf("windows %v, verdicts %v", s.Windows, s.Budgets[0].Verdicts)
		}
	})
}

// A container that gets a tenth of the CPU does a tenth of the work: what a
// request costs is the same, and so is the verdict.
func TestFault_45_Throttled(t *testing.T) {
	tests := []struct {
		name     string
		profile  string
		requests float64
		fails    bool
		want     float64
	}{
		{"free, cheap", "cpu 10s\nmain.main;main.serve;encoding/json.Marshal 100\nmain.main;main.serve 900\n", 50_000, false, 20e-6},
		{"throttled, cheap", "cpu 10s\nmain.main;main.serve;encoding/json.Marshal 10\nmain.main;main.serve 90\n", 5_000, false, 20e-6},
		{"free, dear", "cpu 10s\nmain.main;main.serve;encoding/json.Marshal 400\nmain.main;main.serve 600\n", 25_000, true, 160e-6},
		{"throttled, dear", "cpu 10s\nmain.main;main.serve;encoding/json.Marshal 40\nmain.main;main.serve 60\n", 2_500, true, 160e-6},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.take = always(tt.profile)
				requests := func() float64 { return tt.requests * float64(time.Since(w.began)/(10*second)) }
				g := w.start(t, Config{
					Budgets: budget.Must("json: encoding/json below 40us per request"), Window: 10 * second, Every: 10 * second,
					Work: map[string]func() float64{"request": requests},
				})
				pass(10*second + second)
				g.Stop()
				r := g.Status().Budgets[0].Result
				if (r.Verdict == budget.Fail) != tt.fails || r.Value < 0.99*tt.want || r.Value > 1.01*tt.want {
					t.Errorf("%v at %v, want %v: %s", r.Verdict, r.Value, tt.want, r.Reason)
				}
			})
		})
	}
}
