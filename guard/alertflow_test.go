package guard

import (
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"runtime/pprof"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/profiler"
)

const (
	good = "cpu 10s\nmain.main;main.serve;main.work 1000\n"
	bad  = "cpu 10s\nmain.main;main.serve;main.work 300\nmain.main;main.serve;fmt.Println@print.go:12 700\n"
	idle = "cpu 10s\nmain.main;main.serve;main.work 3\n"
)

// story is windows, one letter each: a good one, a bad one, an idle one, one
// that was lost.
func story(letters string) func(int) profiler.Window {
	return func(n int) profiler.Window {
		switch letters[min(n, len(letters)-1)] {
		case 'b':
			return cpuWindow(bad)
		case 'i':
			return cpuWindow(idle)
		case 'x':
			return lost(profiler.Starved)
		}
		return cpuWindow(good)
	}
}

// initials are the states after each window.
func initials(t *testing.T, g *Guard, windows int) string {
	t.Helper()
	pass(time.Millisecond)
	var list []byte
	for range windows {
		pass(10 * second)
		list = append(list, g.Status().Budgets[0].State.String()[0])
	}
	return string(list)
}

func TestAlertFlow(t *testing.T) {
	tests := []struct {
		name, sentence string
		windows        string
		states         string // no data, undecided, ok, pending, firing
		events         []string
	}{
		{
			"the evidence of all windows", "x: fmt.Println below 20%",
			"bbbbbbgggg", "ppffffffoo",
			[]string{"profguard.budget.firing x", "profguard.budget.resolved x"},
		}, {
			"for windows", "x: fmt.Println below 20% for 3 windows",
			"gbbgbbbbgggg", "oppoppffffoo",
			[]string{"profguard.budget.firing x", "profguard.budget.resolved x"},
		}, {
			"for a time", "x: fmt.Println below 20% for 25s",
			"gbbbbgggg", "oppffffoo",
			[]string{"profguard.budget.firing x", "profguard.budget.resolved x"},
		}, {
			"too few samples keep the state", "x: fmt.Println below 20% for 2 windows",
			"biibiigiigii", "pppfffoooooo",
			[]string{"profguard.budget.firing x", "profguard.budget.resolved x"},
		}, {
			"lost windows keep the state", "x: fmt.Println below 20% for 2 windows",
			"bxxbxxggxg", "pppffffooo",
			[]string{
				"profguard.window.lost", "profguard.window.regained", "profguard.budget.firing x",
				"profguard.window.lost", "profguard.window.regained", "profguard.budget.resolved x", "profguard.window.lost", "profguard.window.regained",
			},
		}, {
			"absent fires at once", "x: fmt.Println absent",
			"gbgggg", "ofooo",
			[]string{"profguard.budget.firing x", "profguard.budget.resolved x"},
		}, {
			"relapse", "x: fmt.Println below 20% for 1 windows",
			"bgbgb", "fofof",
			[]string{
				"profguard.budget.firing x", "profguard.budget.resolved x", "profguard.budget.firing x",
				"profguard.budget.resolved x", "profguard.budget.firing x",
			},
		}, {
			"gated: an idle process is no news", "x: fmt.Println below 20% for 1 windows when process above 1.5 cores",
			"bbb", "nnn", nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.take = story(tt.windows)
				g := w.start(t, Config{Budgets: budget.Must(tt.sentence), Window: 10 * second, Every: 10 * second})
				if got := initials(t, g, len(tt.states)); got != tt.states {
					t.Errorf("windows %s: states %s, want %s", tt.windows, got, tt.states)
				}
				if diff := cmp.Diff(tt.events, w.told()); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
				g.Stop()
			})
		})
	}
}

// Whoever fixes an offender sees the alert resolved, also where windows are small: with 40
// samples each, an offender at 75% is fixed to 5%.
func TestResolvedAfterAFix(t *testing.T) {
	const (
		broken = "cpu 10s\nmain.main;main.serve;main.work 10\nmain.main;main.serve;fmt.Println 30\n"
		fixed  = "cpu 10s\nmain.main;main.serve;main.work 38\nmain.main;main.serve;fmt.Println 2\n"
	)
	for _, sentence := range []string{"x: fmt.Println below 20%", "x: no function above 20% except main.work"} {
		bubble(t, func(t *testing.T, w *world) {
			w.take = func(n int) profiler.Window {
				if n < 20 {
					return cpuWindow(broken)
				}
				return cpuWindow(fixed)
			}
			g := w.start(t, Config{Budgets: budget.Must(sentence), Window: 10 * second, Every: 10 * second})
			states := initials(t, g, 20+20)
			if i := strings.IndexByte(states, 'o'); i < 20 || i > 35 || states[19] != 'f' {
				t.Errorf("%s: states %s, want resolved 13 windows or so after the twentieth", sentence, states)
			}
			g.Stop()
		})
	}
}

func TestVerdictsAddUp(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.take = story("ggbixg")
		g := w.start(t, Config{Budgets: simple, Window: 10 * second, Every: 10 * second})
		initials(t, g, 6)
		b := g.Status().Budgets[0]
		want := map[string]int64{"pass": 3, "fail": 1, "inconclusive": 2}
		if diff := cmp.Diff(want, b.Verdicts); diff != "" {
			t.Errorf("verdicts (-want +got):\n%s", diff)
		}
		if b.Samples != 4003 || b.Hits != 700 {
			t.Errorf("%d hits in %d samples, want 700 in 4003", b.Hits, b.Samples)
		}
		g.Stop()
	})
}

// What needs no CPU profile is judged every period although somebody else has the
// profiler for hours, and the profiler is left alone as long as ever.
func TestOthersAreJudgedWhileTheProfilerIsTaken(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.random = func() float64 { return 0.5 } // no jitter
		w.take = func(int) profiler.Window { return lost(profiler.Busy) }
		g := w.start(t, Config{Budgets: budget.Must("crowd: goroutines below 5000", "of: no function above 1000000 of goroutine", "cpu: fmt.Println below 20%",
			"cores: process below 100 cores", "gated: process below 0.000001 cores when goroutines above 1000000")})
		pass(31 * minute)
		s := g.Status()
		if n := s.Budgets[0].Verdicts["pass"]; n < 29 || n > 33 {
			t.Errorf("%d windows of a figure in half an hour, want one a minute", n)
		}
		if n := s.Budgets[1].Verdicts["pass"]; n < 29 || n > 33 {
			t.Errorf("%d windows of goroutines in half an hour, want one a minute: %s", n, s.Budgets[1].Result.Reason)
		}
		if n := s.Budgets[3].Verdicts["pass"]; n < 29 || n > 33 {
			t.Errorf("%d windows of a counter in half an hour, want one a minute: %s", n, s.Budgets[3].Result.Reason)
		}
		if v := s.Budgets[4].Verdicts; v["pass"]+v["fail"] > 0 {
			t.Errorf("a counter whose condition does not hold was judged: %v, %s", v, s.Budgets[4].Result.Reason)
		}
		if n := s.Budgets[2].Verdicts["inconclusive"]; n != int64(s.Windows["busy"]) || n != 6 || s.Window.Outcome != "busy" {
			t.Errorf("%d windows of CPU, by outcome %v, the last %s", n, s.Windows, s.Window.Outcome)
		}
		want := []time.Duration{1 * minute, 2 * minute, 4 * minute, 8 * minute, 15 * minute}
		if got := gaps(w.windows()); !slices.Equal(got, want) {
			t.Errorf("the profiler was tried after %v, want %v", got, want)
		}
		w.mu.Lock()
		w.goroutines = 6000
		w.mu.Unlock()
		pass(3*minute + second)
		if s := g.Status(); s.Budgets[0].State != StateFiring || s.Window.Goroutines != 6000 || len(w.windows()) != 6 {
			t.Errorf("three minutes after there are too many: %s, %d goroutines, %d tries", s.Budgets[0].State, s.Window.Goroutines, len(w.windows()))
		}
		wantEvents(t, w, EventLost, "profguard.budget.firing crowd")
		g.Stop()
	})
}

// Somebody takes a profile of half a minute, at any moment of a period: at most one
// window is lost to it, and two good ones are at most two minutes and a quarter apart.
func TestWindowsLostToAPerson(t *testing.T) {
	const theirs, begin = 30 * second, 10 * minute
	most, longest := 0, time.Duration(0)
	for moment := time.Duration(0); moment < minute; moment += 5 * second {
		bubble(t, func(t *testing.T, w *world) {
			began := time.Now()
			var good []time.Duration
			w.take = func(n int) profiler.Window {
				at := time.Since(began)
				if begin+moment <= at && at < begin+moment+theirs {
					return lost(profiler.Busy)
				}
				good = append(good, at)
				return always(fullCore)(n)
			}
			g := w.start(t, Config{Budgets: simple})
			pass(20 * minute)
			most = max(most, g.Status().Windows["busy"])
			g.Stop()
			longest = max(longest, slices.Max(gaps(good)))
		})
	}
	t.Logf("at most %d windows lost, good windows at most %v apart", most, longest)
	if most != 1 || longest > 2*minute+15*second {
		t.Errorf("at most %d windows lost, good windows at most %v apart", most, longest)
	}
}

// A busy profiler gives a window of no length, in which nobody uses 0.2 cores or
// a thousand: gates go by what was used since the last window.
func TestGateOfAWindowWithoutLength(t *testing.T) {
	for _, tt := range []struct {
		cores float64
		want  State
	}{{1, StateFiring}, {0.1, StateNoData}} {
		bubble(t, func(t *testing.T, w *world) {
			w.cores = func(time.Duration) float64 { return tt.cores }
			w.goroutines = 6000
			w.take = func(n int) profiler.Window {
				if n == 0 {
					return cpuWindow(idle)
				}
				return lost(profiler.Busy)
			}
			g := w.start(t, Config{Budgets: budget.Must("goroutines below 5000 when process above 0.2 cores", "fmt.Println absent")})
			pass(3 * minute)
			if s := g.Status(); s.Budgets[0].State != tt.want || s.Window.Cores < 0.9*tt.cores || s.Window.Cores > 1.1*tt.cores {
				t.Errorf("at %v cores: %s, and the window says %v", tt.cores, s.Budgets[0].State, s.Window.Cores)
			}
			g.Stop()
		})
	}
}

func TestIneffectiveBudgets(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		g := w.start(t, Config{
			Budgets: budget.Must("typo: portlister below 5%", "gone: portlist absent", "there: fmt.Println below 20%",
				"where: main.work below 5% in main.server"),
			Window: 10 * second, Every: 10 * second,
		})
		initials(t, g, 3)
		if err := g.SetBudgets(budget.Must("typo: portlister below 5%", "there: fmt.Println below 20%", "new: main.wrok absent")); err != nil {
			t.Fatal(err)
		}
		initials(t, g, 3)
		got := w.told()
		slices.Sort(got)
		if diff := cmp.Diff([]string{"profguard.budget.ineffective new", "profguard.budget.ineffective typo", "profguard.budget.ineffective where"}, got); diff != "" {
			t.Errorf("each once (-want +got):\n%s", diff)
		}
		s := g.Status()
		if warning := s.Budgets[0].Warning; !strings.Contains(warning, "portlister") {
			t.Errorf("warning %q", warning)
		}
		if s.Budgets[0].Verdicts["pass"] != 0 || s.Budgets[1].Warning != "" || s.Budgets[2].Result.Verdict != budget.Pass {
			t.Errorf("%+v", s.Budgets)
		}
		g.Stop()
	})
}

// A runtime without the profile of leaks is said at once, of that budget alone.
func TestLeakedWithoutTheProfile(t *testing.T) {
	if pprof.Lookup(kinds.GoroutineLeak) != nil {
		t.Skip("SKIPPED: this runtime has the profile")
	}
	bubble(t, func(t *testing.T, w *world) {
		var lines strings.Builder
		g := w.start(t, Config{
			Budgets: budget.Must("leak: no goroutine leaked", "crowd: goroutines below 5000", "there: fmt.Println below 20%"),
			Logger:  slog.New(slog.NewTextHandler(&lines, nil)),
		})
		pass(minute) // the first window
		wantEvents(t, w, "profguard.budget.ineffective leak")
		if b := g.Status().Budgets; !strings.Contains(b[0].Warning, "GOEXPERIMENT") || b[1].Warning != "" || b[2].Warning != "" {
			t.Errorf("warnings %q, %q, %q", b[0].Warning, b[1].Warning, b[2].Warning)
		}
		g.Stop()
		if text := lines.String(); !strings.Contains(text, "GOEXPERIMENT") || strings.Contains(text, `reason=""`) {
			t.Errorf("logged: %s", text)
		}
	})
	// Nobody has asked for the line of the default budgets: nothing is said of it but
	// by its reason.
	bubble(t, func(t *testing.T, w *world) {
		w.linked = append(w.linked, "runtime.selectgo", "fmt.Printf", "regexp.compile")
		g := w.start(t, Config{Budgets: append(budget.Default(), budget.Must("there: fmt.Println below 20%")...)})
		pass(minute)
		wantEvents(t, w)
		for _, b := range g.Status().Budgets {
			if b.Warning != "" || b.Result.Budget.Rule == "leaked" && !strings.Contains(b.Result.Reason, "GOEXPERIMENT") {
				t.Errorf("%s: warning %q, reason %q", b.Name, b.Warning, b.Result.Reason)
			}
		}
		g.Stop()
	})
}

func TestFault_38_Work(t *testing.T) {
	var calls, swings atomic.Int64
	block := make(chan struct{})
	tests := []struct {
		name  string
		count func(since time.Duration) float64
		want  string // part of the reason
	}{
		{"grows", func(at time.Duration) float64 { return 5000 * at.Seconds() }, "surely"},
		{"stands still", func(time.Duration) float64 { return 7 }, "no request was counted"},
		{"panics", func(time.Duration) float64 { panic("no counter") }, "the counter of request: panic: no counter"},
		{"goes back", func(at time.Duration) float64 { return 1e9 - at.Seconds() }, "the counter of request went from 9999999"},
		{"swings from one end to the other", func(time.Duration) float64 {
			if swings.Add(1)%2 == 1 {
				return -math.MaxFloat64
			}
			return math.MaxFloat64
		}, `the counter of request went from -1.79769313486232e+308 to 1.79769313486232e+308, which cannot be counted as growth`},
		{"is no number", func(time.Duration) float64 { return nan() }, "the counter of request went from NaN to NaN"},
		{"hangs", func(time.Duration) float64 { calls.Add(1); <-block; return 0 }, "the counter of request: an earlier call has not returned"},
		{"is slow at times", func(at time.Duration) float64 {
			if at > 25*second {
				time.Sleep(100*time.Millisecond + 1)
			}
			return 5000 * at.Seconds()
		}, "the counter of request: has not returned within 100ms"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				if tt.name == "hangs" {
					block = make(chan struct{}) // of this bubble
				}
				w.take = always(bad)
				g := w.start(t, Config{
					Budgets: budget.Must("x: fmt.Println below 10us per request", "other: fmt.Println below 10% for 1 windows", "job: fmt.Println below 1s per job"),
					Window:  10 * second, Every: 10 * second,
					Work: map[string]func() float64{
						"request": func() float64 { return tt.count(time.Since(w.began)) },
						"job":     func() float64 { return 1000 * time.Since(w.began).Seconds() },
					},
				})
				pass(35 * second)
				s := g.Status()
				if r := s.Budgets[0].Result; !strings.Contains(r.Reason, tt.want) || tt.name != "grows" && r.Verdict != budget.Inconclusive {
					t.Errorf("%v: %s", r.Verdict, r.Reason)
				}
				healthy := tt.want == "surely" || tt.want == "no request was counted"
				if told := slices.Contains(w.told(), string(EventDegraded)); told == healthy || strings.Contains(s.Reason, tt.want) == healthy {
					t.Errorf("told: %t, the status says %q", told, s.Reason)
				}
				if r := s.Budgets[2].Result; r.Reason == s.Budgets[0].Result.Reason || r.Verdict != budget.Pass {
					t.Errorf("of another counter: %v, %s", r.Verdict, r.Reason)
				}
				if s.Budgets[1].State != StateFiring || s.Windows["ok"] < 3 {
					t.Errorf("the other budget is %s, windows %v", s.Budgets[1].State, s.Windows)
				}
				if tt.name == "hangs" {
					if n := calls.Load(); n != 1 {
						t.Errorf("a counter that hangs was called %d times", n)
					}
					close(block)
				}
				g.Stop()
			})
		})
	}
}

func nan() float64 {
	var zero float64
	return zero / zero
}

// TestTryIt: README says how soon an alert fires with Every at ten seconds, and how busy
// the service must be.
func TestTryIt(t *testing.T) {
	for _, tt := range []struct {
		cores float64
		most  time.Duration // in the median
	}{{0.5, 40 * second}, {0.1, 4 * minute}} {
		var times []time.Duration
		for seed := range uint64(5) {
			bubble(t, func(t *testing.T, w *world) {
				random := rand.New(rand.NewPCG(seed, 7))
				w.cores, w.linked = func(time.Duration) float64 { return tt.cores }, []string{"regexp.compile"}
				w.take = func(int) profiler.Window {
					samples, hits := int(500*tt.cores), 0 // of 5 s
					for range samples {
						if random.Float64() < 0.4 {
							hits++
						}
					}
					return cpuWindow(fmt.Sprintf("cpu 5s\nmain.main;main.serve;regexp.compile %d\nmain.main;main.serve;main.list %d\n", hits, samples-hits))
				}
				g := w.start(t, Config{Every: 10 * second, Budgets: budget.Must("regexp.compile below 20%")})
				for len(firings(w)) == 0 && w.since() < time.Hour {
					pass(second)
				}
				times = append(times, w.since())
				g.Stop()
			})
		}
		slices.Sort(times)
		t.Logf("%.1f cores busy, twice the limit: fires after %v in the median (%v to %v)", tt.cores, times[2], times[0], times[4])
		if times[2] > tt.most {
			t.Errorf("%.1f cores busy: fires after %v in the median, expected %v at the most", tt.cores, times[2], tt.most)
		}
	}
}
