package guard

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/profiler"
)

// bubble runs a test in a bubble of fake time.
func bubble(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newWorld()) })
}

// pass lets fake time pass.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func gaps(at []time.Duration) []time.Duration {
	var list []time.Duration
	for i := range len(at) - 1 {
		list = append(list, at[i+1]-at[i])
	}
	return list
}

var simple = budget.Must("prints: fmt.Println below 20%")

func TestFirstWindowIsEarly(t *testing.T) {
	tests := []struct {
		name          string
		random        float64
		every, window time.Duration
		want          time.Duration
	}{
		{"at once", 0, minute, 10 * second, 0},
		{"in a fleet", 0.5, minute, 10 * second, 3 * second},
		{"never later than a tenth of the period", 0.999, minute, 10 * second, 5994 * time.Millisecond},
		{"once a day", 0.75, 24 * time.Hour, 10 * second, 108 * minute},
		{"without a pause", 0.999, 10 * second, 10 * second, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.random = func() float64 { return tt.random }
				g := w.start(t, Config{Budgets: simple, Every: tt.every, Window: tt.window})
				pass(tt.want)
				if got := w.windows(); len(got) != 1 || got[0] != tt.want {
					t.Errorf("windows at %v, want one at %v", got, tt.want)
				}
				g.Stop()
			})
		})
	}
}

func TestPeriod(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.random = rand.New(rand.NewPCG(1, 2)).Float64
		g := w.start(t, Config{Budgets: simple})
		pass(10 * time.Hour)
		g.Stop()
		starts := w.windows()
		distinct := map[time.Duration]bool{}
		for i, gap := range gaps(starts) {
			// A quarter of the 50 s between windows, either way.
			if gap < 47500*time.Millisecond || gap > 72500*time.Millisecond {
				t.Errorf("window %d came %v after the one before", i+1, gap)
			}
			distinct[gap] = true
		}
		if n := len(starts); n < 585 || n > 615 {
			t.Errorf("%d windows in ten hours, want one a minute", n)
		}
		if len(distinct) < 500 {
			t.Errorf("only %d different gaps: a fleet would stay in step", len(distinct))
		}
	})
}

func TestBackToBack(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.random = rand.New(rand.NewPCG(1, 2)).Float64
		g := w.start(t, Config{Budgets: simple, Every: 10 * second, Window: 10 * second})
		pass(10*minute - second)
		starts := w.windows()
		if len(starts) != 60 {
			t.Errorf("%d windows in ten minutes, want 60", len(starts))
		}
		for i, gap := range gaps(starts) {
			if gap != 10*second {
				t.Errorf("window %d came %v after the one before", i+1, gap)
			}
		}
		g.Stop()
	})
}

func TestEarlyWindow(t *testing.T) {
	const jump = 37300 * time.Millisecond
	tests := []struct {
		name  string
		cores func(time.Duration) float64
		want  bool
	}{
		{"spike", func(at time.Duration) float64 {
			if at >= jump {
				return 1
			}
			return 0.1
		}, true},
		{"quiet", func(time.Duration) float64 { return 0.1 }, false},
		{"busy all the time", func(time.Duration) float64 { return 1.9 }, false},
		{"ripple", func(at time.Duration) float64 {
			if at >= jump {
				return 0.3
			}
			return 0.1
		}, false},
		{"fall", func(at time.Duration) float64 {
			if at >= jump {
				return 0.1
			}
			return 1
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.cores = tt.cores
				w.random = func() float64 { return 0.5 }
				g := w.start(t, Config{Budgets: simple})
				pass(jump + 13*second) // until that window, if there is one, has ended
				starts := w.windows()
				early := len(starts) == 2 && starts[1] > jump && starts[1] <= jump+2*second
				if early != tt.want || !early && len(starts) != 1 {
					t.Errorf("windows at %v", starts)
				}
				if got := g.Status().Window.Early; got != tt.want {
					t.Errorf("the last window was early: %t", got)
				}
				g.Stop()
			})
		})
	}
}

// A load that jumps all the time must not become a process that is profiled all
// the time.
func TestEarlyWindowsAreLimited(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.random = rand.New(rand.NewPCG(1, 2)).Float64
		w.cores = func(at time.Duration) float64 {
			if at%(20*second) < 3*second {
				return 2
			}
			return 0
		}
		g := w.start(t, Config{Budgets: simple})
		var early []time.Duration
		for range 3600 {
			n := len(w.windows())
			pass(second)
			if starts := w.windows(); len(starts) > n {
				pass(10 * second)
				if g.Status().Window.Early {
					early = append(early, starts[len(starts)-1])
				}
			}
		}
		g.Stop()
		hours := w.since().Hours()
		if len(early) < 10 {
			t.Errorf("only %d early windows: the test proves little", len(early))
		}
		for _, gap := range gaps(early) {
			if gap < minute {
				t.Errorf("early windows %v apart, a period is a minute", gap)
			}
		}
		if n := float64(len(w.windows())) / hours; n > 120 {
			t.Errorf("%.0f windows an hour", n)
		}
	})
}

func TestBackOff(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		const busy = 7
		w.cores = func(at time.Duration) float64 { return float64(at / second % 2) } // jumps all the time
		w.take = func(n int) profiler.Window {
			if n < busy {
				return lost(profiler.Busy)
			}
			return cpuWindow(fullCore)
		}
		g := w.start(t, Config{Budgets: simple})
		pass(2 * time.Hour)
		g.Stop()
		want := []time.Duration{1 * minute, 2 * minute, 4 * minute, 8 * minute, 15 * minute, 15 * minute, 15 * minute}
		got := gaps(w.windows())
		for i, gap := range want {
			if got[i] != gap {
				t.Errorf("after %d busy windows the next came %v later, want %v", i+1, got[i], gap)
			}
		}
		if got[busy] > 80*second {
			t.Errorf("after a good window the next came %v later", got[busy])
		}
		if s := g.Status(); s.Windows["busy"] != busy || s.Windows["ok"] == 0 {
			t.Errorf("windows: %v", s.Windows)
		}
	})
}

func TestPauseAndResumption(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cores = func(at time.Duration) float64 { return 0.1 + float64(at/second%2) } // jumps all the time
		w.cost = func(n int) time.Duration {
			if n == 2 {
				return 5 * second // of a minute: more than 3%
			}
			return 0
		}
		g := w.start(t, Config{Budgets: simple})
		for len(w.windows()) < 3 {
			pass(second)
		}
		pass(10 * second)
		s := g.Status()
		if s.State != "paused" || s.Reason == "" || s.CostShare < 0.03 || time.Until(s.PausedUntil) > 15*minute {
			t.Errorf("after an expensive window: %q, %q, share %v, until %v", s.State, s.Reason, s.CostShare, s.PausedUntil)
		}
		if !s.Next.Equal(s.PausedUntil) {
			t.Errorf("the next window is said to be at %v, before the pause ends at %v", s.Next, s.PausedUntil)
		}
		pass(14*minute + 50*second)
		if n := len(w.windows()); n != 3 {
			t.Errorf("%d windows while paused", n-3)
		}
		pass(25 * second)
		if n := len(w.windows()); n != 4 {
			t.Fatalf("%d windows after the pause, want one", n-3)
		}
		if s := g.Status(); s.State != "running" || s.Reason != "" || !s.PausedUntil.IsZero() {
			t.Errorf("after the pause: %q, %q, until %v", s.State, s.Reason, s.PausedUntil)
		}
		wantEvents(t, w, "profguard.guard.paused", "profguard.guard.resumed")
		g.Stop()
	})
}

// A guard that is too expensive whatever it does stays paused, and says so once.
func TestPausedAgainAndAgain(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cost = func(int) time.Duration { return 100 * second }
		g := w.start(t, Config{Budgets: simple})
		pass(3 * time.Hour)
		if n := len(w.windows()); n < 8 || n > 13 {
			t.Errorf("%d windows in three hours, want one every quarter", n)
		}
		wantEvents(t, w, "profguard.guard.paused")
		g.Stop()
	})
}

// A window that costs 2% of a minute is followed by none until that is 1%.
func TestCostlyWindow(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.random = func() float64 { return 0.5 } // no jitter
		w.cost = func(n int) time.Duration {
			if n == 1 {
				return 1200 * time.Millisecond // 2% of a minute
			}
			return 0
		}
		g := w.start(t, Config{Budgets: simple})
		pass(10 * minute)
		g.Stop()
		want := []time.Duration{minute, 90 * second, minute, minute}
		for i, gap := range gaps(w.windows())[:4] {
			if gap < want[i] || gap > want[i]+20*second { // the test has some cost, too
				t.Errorf("gap %d is %v, want %v", i, gap, want[i])
			}
		}
		wantEvents(t, w)
	})
}

func TestStopInMidWindow(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		g := w.start(t, Config{Budgets: simple})
		pass(3 * second)
		before := time.Now()
		g.Stop()
		if d := time.Since(before); d != 0 {
			t.Errorf("Stop took %v", d)
		}
		if w.canceled != 1 {
			t.Errorf("%d windows were cancelled, want 1", w.canceled)
		}
		pass(time.Hour)
		if n := len(w.windows()); n != 1 {
			t.Errorf("%d windows after Stop", n-1)
		}
		if s := g.Status(); s.State != "stopped" || windows(g) != 0 {
			t.Errorf("%s, windows %v", s.State, s.Windows)
		}
	})
}

// wantEvents compares the events so far.
func wantEvents(t *testing.T, w *world, want ...EventName) {
	t.Helper()
	synctest.Wait()
	got := w.told()
	if len(got) != len(want) {
		t.Errorf("events %q, want %q", got, want)
		return
	}
	for i := range want {
		if got[i] != string(want[i]) {
			t.Errorf("events %q, want %q", got, want)
			return
		}
	}
}
