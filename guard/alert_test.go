package guard

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/profiler"
)

// small is a window of a process that does little: n samples, with so many of them in
// fmt.Println.
func small(n, prints int) profiler.Window {
	text := fmt.Sprintf("cpu 10s\nmain.main;main.serve;main.work %d\n", n-prints)
	if prints > 0 {
		text += fmt.Sprintf("main.main;main.serve;fmt.Println %d\n", prints)
	}
	return cpuWindow(text)
}

// since is how the process is from one time to another: bad, and good before and after.
func since(w *world, from, to time.Duration) func(int) profiler.Window {
	return func(int) profiler.Window {
		if at := w.since(); at >= from && at < to {
			return cpuWindow(bad)
		}
		return cpuWindow(good)
	}
}

// What fails in each window fires after three periods, at the defaults and whatever
// was before. What is over before that does not.
func TestThreePeriods(t *testing.T) {
	for _, quiet := range []time.Duration{0, 3 * minute, 10 * minute, 29 * minute, 5 * time.Hour} {
		for _, lasts := range []time.Duration{time.Hour, 150 * second} {
			bubble(t, func(t *testing.T, w *world) {
				w.random = func() float64 { return 0.5 }
				w.take = since(w, quiet, quiet+lasts)
				g := w.start(t, Config{Budgets: simple})
				pass(quiet + 12*minute)
				s := g.Status().Budgets[0]
				if lasts < 3*minute {
					if s.State != StateOK || len(firings(w)) > 0 {
						t.Errorf("after %v, a burst of %v: %s", quiet, lasts, s.State)
					}
				} else if fired := firings(w); len(fired) != 1 {
					t.Errorf("after %v, for ever: fired %d times, %s", quiet, len(fired), s.State)
				} else if after := fired[0].Time.Sub(w.began) - quiet; after < 3*minute || after > 4*minute+20*second {
					t.Errorf("after %v, for ever: fired after %v, want three periods, and one until it was seen", quiet, after)
				}
				g.Stop()
			})
		}
	}
}

// While a budget is pending, windows follow each other after half a window, for ten
// minutes in any hour at the most. What a user has said how to count, what is counted
// and a guard that costs too much do not hurry.
func TestCloseWindows(t *testing.T) {
	for _, tt := range []struct {
		sentence string
		cost     time.Duration // of a window
		close    bool
	}{
		{"fmt.Println below 20%", 0, true},
		{"fmt.Println below 20%", 800 * time.Millisecond, false},
		{"fmt.Println below 20% for 1000 windows", 0, false},
		{"goroutines below 5", 0, false},
	} {
		bubble(t, func(t *testing.T, w *world) {
			w.random = func() float64 { return 0.5 }
			turn := 0
			w.take = func(int) profiler.Window { // never three periods of one kind
				if turn++; turn%12 < 6 {
					return cpuWindow(bad)
				}
				return cpuWindow(good)
			}
			w.cost = func(int) time.Duration { return tt.cost }
			g := w.start(t, Config{Budgets: budget.Must(tt.sentence)})
			pass(3 * time.Hour)
			g.Stop()
			starts := w.windows()
			var spent []time.Duration // when extra windows began
			for i, gap := range gaps(starts) {
				if gap < 40*second {
					if gap != 15*second {
						t.Errorf("%s: a window %v after the one before", tt.sentence, gap)
					}
					spent = append(spent, starts[i+1])
				}
			}
			if tt.close != (len(spent) > 20) || !tt.close && len(spent) > 0 {
				t.Errorf("%s, at a cost of %v: %d extra windows in three hours", tt.sentence, tt.cost, len(spent))
			}
			for i, from := range spent {
				n, _ := slices.BinarySearch(spent, from+time.Hour)
				if d := time.Duration(n-i) * 15 * second; d > 10*minute {
					t.Errorf("%v of extra windows in the hour from %v", d, from)
				}
			}
		})
	}
}

// The status says when the next window starts, also while windows are close.
func TestNextWindow(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.random = func() float64 { return 0.5 }
		w.take = since(w, minute, 90*second)
		g := w.start(t, Config{Budgets: simple})
		for range 60 {
			pass(7 * second)
			next := g.Status().Next
			n := len(w.windows())
			if next.Before(time.Now()) {
				continue // it is under way
			}
			pass(time.Until(next))
			if got := w.windows(); len(got) != n+1 || !w.began.Add(got[n]).Equal(next) {
				t.Errorf("windows at %v, want one at %v", got, next.Sub(w.began))
			}
		}
		g.Stop()
		if next := g.Status().Next; !next.IsZero() {
			t.Errorf("stopped, and the next window at %v", next)
		}
	})
}

// An alert whose condition no longer holds ends after five periods, says so, and fires
// anew when it holds again.
func TestFault_75_ConditionStopsToHold(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.random = func() float64 { return 0.5 }
		w.take = always(bad)
		w.cores = func(at time.Duration) float64 {
			if at > 4*minute && at < 10*minute {
				return 0.05
			}
			return 1
		}
		g := w.start(t, Config{Budgets: budget.Must("x: fmt.Println below 20% when process above 0.2 cores"), Window: 10 * second, Every: 30 * second})
		pass(4 * minute)
		if s := g.Status().Budgets[0]; s.State != StateFiring {
			t.Fatalf("%s: %s", s.State, s.Result.Reason)
		}
		pass(100 * second)
		if s := g.Status().Budgets[0]; s.State != StateFiring || !strings.Contains(s.Result.Reason, "still firing: ends when 3 windows in a row pass, over ") ||
			!strings.HasSuffix(s.Result.Reason, ", or when the condition has not held for 5 periods (3 windows so far)") {
			t.Errorf("%s: %s", s.State, s.Result.Reason)
		}
		pass(2 * minute)
		if s := g.Status().Budgets[0]; s.State != StateNoData {
			t.Errorf("%s: %s", s.State, s.Result.Reason)
		}
		pass(6 * minute)
		g.Stop()
		if got := strings.Join(w.told(), " "); got != "profguard.budget.firing x profguard.budget.resolved x profguard.budget.firing x" {
			t.Errorf("told %s", got)
		}
		const want = "budget x no longer fires: idle: judged only when process above 0.2 cores, now at 0.05 cores; the condition has not held for 5 windows"
		if got := w.events[1].Message; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	})
}

// That a condition does not hold needs no profile, so the alert ends while windows are lost.
func TestConditionOfLostWindows(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.random = func() float64 { return 0.5 }
		w.take = func(int) profiler.Window {
			if w.since() > 4*minute {
				return lost(profiler.Busy)
			}
			return cpuWindow(bad)
		}
		w.cores = func(at time.Duration) float64 {
			if at > 4*minute {
				return 0.05
			}
			return 1
		}
		g := w.start(t, Config{Budgets: budget.Must("x: fmt.Println below 20% when process above 0.2 cores"), Window: 10 * second, Every: 30 * second})
		pass(20 * minute)
		g.Stop()
		if got := strings.Join(w.told(), " "); got != "profguard.budget.firing x profguard.window.lost profguard.budget.resolved x" {
			t.Errorf("told %s", got)
		}
	})
}

// While an alert fires, and no window by itself says more, the reason has what is awaited. What was proven before the excess is no proof that there is none.
func TestStillFiring(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.take = func(n int) profiler.Window {
			switch {
			case n < 40:
				return cpuWindow(good)
			case n < 50:
				return cpuWindow(bad)
			case n < 54:
				return small(73, 21)
			}
			return small(73, 0)
		}
		g := w.start(t, Config{Budgets: budget.Must("x: fmt.Println below 20%"), Window: 10 * second, Every: 10 * second})
		initials(t, g, 40)
		if s := g.Status().Budgets[0]; s.State != StateOK {
			t.Errorf("before: %s", s.State)
		}
		for range 10 {
			initials(t, g, 1)
			if s := g.Status().Budgets[0]; s.State < StatePending {
				t.Errorf("meanwhile: %s", s.State)
			}
		}
		initials(t, g, 4)
		const want = "; still firing: ends when 3 windows in a row pass, over at least 30s (0 so far), or when all together prove that it is kept"
		if s := g.Status().Budgets[0]; s.State != StateFiring || !strings.HasSuffix(s.Result.Reason, want) {
			t.Errorf("%s: %s, want %s", s.State, s.Result.Reason, want)
		}
		g.Stop()
	})
}

// While nothing is proven about the function that an alert is about, the reason names it.
func TestStillFiringFor(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		few := "cpu 10s\n"
		for i := range 10 {
			few += fmt.Sprintf("main.main;main.serve;main.work%d 1\n", i)
		}
		w.take = func(n int) profiler.Window {
			if n < 20 {
				return cpuWindow(bad)
			}
			return cpuWindow(few)
		}
		g := w.start(t, Config{Budgets: budget.Must("no function above 20% cumulative"), Window: 10 * second, Every: 10 * second})
		initials(t, g, 25)
		const want = "; still firing for fmt.Println: ends when "
		if s := g.Status().Budgets[0]; s.State != StateFiring || !strings.Contains(s.Result.Reason, want) {
			t.Errorf("%s: %s, want %s", s.State, s.Result.Reason, want)
		}
		g.Stop()
	})
}

// An alert ends when good windows have shown nothing of its budget for sixty periods, and
// says so; it fires anew when something is there again. Windows that were lost show
// nothing either way, and end no alert.
func TestNothingToJudge(t *testing.T) {
	const (
		within  = "cpu 10s\nmain.main;main.serve;main.work 300\nmain.main;main.handle;fmt.Println 700\n"
		without = "cpu 10s\nmain.main;main.serve;main.work 1000\n"
	)
	for _, tt := range []struct {
		name, budget, ended string
		missing             func() profiler.Window
		unread              bool // the counter fails
	}{
		{"lost", "fmt.Println below 20% in main.handle", "", func() profiler.Window { return lost(profiler.Starved) }, false},
		{"no sample", "fmt.Println below 20% in main.handle", "no sample within main.handle", func() profiler.Window { return cpuWindow(without) }, false},
		{"no work", "fmt.Println below 1ms per row", "no row was counted in the window", nil, false},
		{"work is not known", "fmt.Println below 1ms per row", "", nil, true},
	} {
		bubble(t, func(t *testing.T, w *world) {
			rows, taken := 0.0, 0
			w.linked = append(w.linked, "main.handle")
			w.take = func(n int) profiler.Window {
				taken = n
				isMissing := n >= 10 && n < 90
				if isMissing && tt.missing != nil {
					return tt.missing()
				}
				if !isMissing {
					rows += 1000
				}
				return cpuWindow(within)
			}
			g := w.start(t, Config{Budgets: budget.Must("x: " + tt.budget + " for 2 windows"), Window: 10 * second, Every: 10 * second,
				Work: map[string]func() float64{"row": func() float64 {
					if tt.unread && taken >= 10 && taken < 90 {
						panic("no connection")
					}
					return rows
				}}})
			states := initials(t, g, 95)
			want := "p" + strings.Repeat("f", 94)
			if tt.ended != "" {
				want = "p" + strings.Repeat("f", 68) + strings.Repeat("n", 21) + "pffff"
			}
			if states != want {
				t.Errorf("%s: states %s\nwant %s", tt.name, states, want)
			}
			g.Stop()
			if tt.ended == "" {
				return
			}
			message := "budget x no longer fires: " + tt.ended + "; there was nothing to judge in the last 60 windows"
			if len(w.events) < 2 || w.events[1].Message != message {
				t.Errorf("%s: %+v\nwant %s", tt.name, w.events, message)
			}
		})
	}
}

// Another offender of a budget that fires already is told of once, at most one a
// minute, and the alert goes on until all are gone.
func TestFault_73_AnotherOffender(t *testing.T) {
	who := func(names ...string) profiler.Window {
		text := "cpu 10s\nmain.main;main.serve;main.rest 100\n"
		for i, name := range names {
			text += fmt.Sprintf("main.main;main.serve;main.%s %d\n", name, 500-100*i)
		}
		return cpuWindow(text)
	}
	bubble(t, func(t *testing.T, w *world) {
		story := [][]string{{"a"}, {"a"}, {"a"}, {"a"}, {"b", "a"}, {"c", "b"}, {"b"}, {"b"}, {"b"}, {"b"}, {"b"}, {"c"}, {"c"}, {"c"}, {"c"}, {"c"}}
		w.take = func(n int) profiler.Window {
			if n < len(story) {
				return who(story[n]...)
			}
			return cpuWindow("cpu 10s\nmain.main;main.serve;main.rest 100\nmain.main;main.f 450\nmain.main;main.g 450\n")
		}
		g := w.start(t, Config{Budgets: budget.Must("x: main.a below 20%", "x2: no function above 25% except main.rest, main.f, main.g"), Window: 10 * second, Every: 10 * second})
		states := ""
		for range 19 {
			pass(10 * second)
			states += g.Status().Budgets[1].State.String()[:1]
		}
		g.Stop()
		var got []string
		var last time.Time
		for _, e := range w.events {
			if e.Budget == "x2" {
				if gap := e.Time.Sub(last); e.Name == EventOffender && gap < minute {
					t.Errorf("%s, %v after the event before it", e.Message, gap)
				}
				last = e.Time
				name := ""
				if len(e.Result.Offenders) > 0 {
					name = " " + e.Result.Offenders[0].Function
				}
				got = append(got, strings.TrimPrefix(string(e.Name), "profguard.budget.")+name)
			}
		}
		want := "firing main.a, offender main.b, offender main.c, resolved"
		if strings.Join(got, ", ") != want || strings.Trim(states, "p") != strings.Repeat("f", 16)+"o" {
			t.Errorf("told %q, want %s; states %s", got, want, states)
		}
	})
}

// What ends an alert is said with the figures that ended it.
func TestWhyItEnds(t *testing.T) {
	for _, tt := range []struct {
		name, sentence string
		take           func(n int) profiler.Window
		windows        int
		want           string
	}{
		{"absent, in small windows", "x: fmt.Println absent", func(n int) profiler.Window {
			if n == 0 {
				return small(80, 1)
			}
			return small(80, 0)
		}, 6, "budget x is kept again: none of 320 samples in the last 4 windows"},
		{"any function, in small windows", "x: no function above 20%", func(n int) profiler.Window {
			if n < 40 {
				return small(80, 60)
			}
			var text strings.Builder
			for i := range 8 {
				fmt.Fprintf(&text, "main.main;main.serve;main.work%d 2\n", i)
			}
			return cpuWindow("cpu 10s\n" + text.String())
		}, 120, "budget x is kept again: none is above 25.00% in the last 8 windows (128 samples), taken together; the limit is 20%"},
		{"one function, in small windows", "x: fmt.Println below 20%", func(n int) profiler.Window {
			if n < 40 {
				return small(20, 15)
			}
			return small(20, 1)
		}, 120, "budget x is kept again: at 5.00% in the last 3 windows (60 samples); the limit is 20%"},
		{"windows that pass", "x: fmt.Println below 20%", func(n int) profiler.Window {
			if n < 10 {
				return cpuWindow(bad)
			}
			return small(1000, 100+n)
		}, 30, "budget x is kept again: at most 11.20% in the last 3 windows (3000 samples); the limit is 20%"},
		{"for 1 windows", "x: fmt.Println below 20% for 1 windows", story("bg"), 3, "at most 0.00% in the last 1 window (1000 samples)"},
		{"within the zone", "x: fmt.Println below 20%", func(n int) profiler.Window {
			if n < 10 {
				return cpuWindow(bad)
			}
			return small(10000, 2200)
		}, 60, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.take = tt.take
				g := w.start(t, Config{Budgets: budget.Must(tt.sentence), Window: 10 * second, Every: 10 * second})
				initials(t, g, tt.windows)
				g.Stop()
				var kept []Event
				for _, e := range w.events {
					if e.Name == EventResolved {
						kept = append(kept, e)
					}
				}
				if tt.want == "" {
					if len(kept) > 0 {
						t.Errorf("ends above its limit: %s", kept[0].Message)
					}
					return
				}
				if len(kept) != 1 || !strings.Contains(kept[0].Message, tt.want) || !strings.HasSuffix(kept[0].Message, kept[0].Result.Reason) {
					t.Fatalf("%d resolved: %+v, want one with %q; told %q, %s", len(kept), kept, tt.want, w.told(), g.Status().Budgets[0].Result)
				}
				if strings.Contains(kept[0].Message, "needed") {
					t.Errorf("it contradicts itself: %s", kept[0].Message)
				}
			})
		})
	}
}

// A figure that swings around its limit fires a few times at the most, and so does what
// is hit now and then. Clean twins keep to the limit, or are fixed.
func TestAlertsDoNotFlap(t *testing.T) {
	for _, tt := range []struct {
		name, sentence string
		over, of       int // over the limit in so many windows of so many
		least, most    int // firings in 200 windows
		last           string
	}{
		{"a swing of two windows", "x: goroutines below 64", 1, 2, 0, 0, "o"},
		{"a swing of eight windows", "x: goroutines below 64", 4, 8, 1, 4, "f"},
		{"below", "x: goroutines below 1000", 1, 2, 0, 0, "o"},
		{"as asked", "x: goroutines below 64 for 1 windows", 1, 2, 1, 12, "f"},
		{"once", "x: heap below 64MiB", 5, 1000, 1, 1, "o"},
		{"hit now and then", "x: fmt.Println absent", 1, 3, 1, 5, "f"},
		{"hit rarely", "x: fmt.Println absent", 1, 9, 1, 8, "f"},
		{"hit once", "x: fmt.Println absent", 1, 1000, 1, 1, "o"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				states := ""
				w.take = func(n int) profiler.Window {
					if n%tt.of < tt.over {
						return small(400, 1)
					}
					return small(400, 0)
				}
				g := w.start(t, Config{Budgets: budget.Must(tt.sentence), Window: 10 * second, Every: 10 * second})
				for n := range 200 {
					w.mu.Lock()
					w.goroutines, w.heap = 10, 10<<20
					if n%tt.of < tt.over {
						w.goroutines, w.heap = 70, 70<<20
					}
					w.mu.Unlock()
					states += initials(t, g, 1)
				}
				if fired := len(firings(w)); fired > tt.most || fired < tt.least {
					t.Errorf("fired %d times, want %d to %d: %s", fired, tt.least, tt.most, states)
				}
				if tt.last == "o" && !strings.HasSuffix(states, "o") && tt.of == 1000 {
					t.Errorf("states %s, want %s at the end", states, tt.last)
				}
				g.Stop()
			})
		})
	}
}

// A reading is of a moment. One that is too high says nothing of a duration, so it takes
// another to make a budget with a "for" fire.
func TestOneReadingIsNoDuration(t *testing.T) {
	for spikes, want := range map[int]bool{1: false, 2: true} {
		bubble(t, func(t *testing.T, w *world) {
			w.random = func() float64 { return 0.5 }
			g := w.start(t, Config{Budgets: budget.Must("x: goroutines below 64 for 1m")})
			for n := range 6 {
				w.mu.Lock()
				w.goroutines = 10
				if n >= 2 && n < 2+spikes {
					w.goroutines = 70
				}
				w.mu.Unlock()
				pass(minute)
			}
			g.Stop()
			if fired := len(firings(w)) > 0; fired != want {
				t.Errorf("%d readings are too high: it fired %t: %v", spikes, fired, w.told())
			}
		})
	}
}
