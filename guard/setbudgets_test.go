package guard

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/profiler"
)

func TestSetBudgetsAfterStop(t *testing.T) {
	g, err := Start(Config{Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.SetBudgets(budget.Must("portlist absent")); err != nil {
		t.Errorf("while it runs: %v", err)
	}
	g.Stop()
	if err := g.SetBudgets(budget.Must("portlist absent")); err == nil || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("after Stop: %v", err)
	}
}

// What is known about a budget that stays is kept, whatever comes beside it: it is
// pending in the window in which it would have been. One that is changed begins anew.
func TestSetBudgetsKeepsEvidence(t *testing.T) {
	const x = "x: fmt.Println below 20%"
	tests := []struct {
		name   string
		next   []string
		states string // of x
	}{
		{"nothing", nil, "uuuuuppppp"},
		{"another beside it", []string{"portlist absent", x}, "uuuuuppppp"},
		{"one more", []string{"portlist absent", x, "main.work below 99%"}, "uuuuuppppp"},
		{"one less", []string{x}, "uuuupppppp"},
		{"the same", []string{x, "y: main.work below 90%"}, "uuuuuppppp"},
		{"changed, and so forgotten", []string{"x: fmt.Println below 21%", "y: main.work below 90%"}, "uunuuuuupp"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.take = func(int) profiler.Window { return small(20, 12) }
				g := w.start(t, Config{Budgets: budget.Must(x, "y: main.work below 90%"), Window: 10 * second, Every: 10 * second})
				pass(time.Millisecond)
				var states []byte
				for n := range len(tt.states) {
					if n == 2 && tt.next != nil { // in the middle of a window
						pass(5 * second)
						if err := g.SetBudgets(budget.Must(tt.next...)); err != nil {
							t.Fatal(err)
						}
						pass(5 * second)
					} else {
						pass(10 * second)
					}
					for _, b := range g.Status().Budgets {
						if b.Name == "x" {
							states = append(states, b.State.String()[0])
						}
					}
				}
				if got := string(states); got != tt.states {
					t.Errorf("states %s, want %s", states, tt.states)
				}
				g.Stop()
			})
		})
	}
}

// Whoever was told that a budget fires is told that it is gone; its series go, too.
func TestSetBudgetsRemovesWhatFires(t *testing.T) {
	const x, y = "x: fmt.Println below 20% for 1 windows", "y: main.work below 90%"
	tests := []struct {
		name    string
		windows string
		next    []string
		last    string // of the messages
		series  bool
	}{
		{"removed", "b", []string{y}, "budget x no longer fires: SetBudgets has removed or changed it", false},
		{"replaced", "bg", []string{y, "x: fmt.Println below 80%"}, "budget x no longer fires: SetBudgets has removed or changed it", true},
		{"kept", "b", []string{"portlist absent", x}, "budget x (fmt.Println below 20% cumulative for 1 window) is broken: at 70.00%, limit 20%; offender fmt.Println at print.go:12", true},
		{"removed when all was well", "g", []string{y}, "", false},
		{"removed when all was well again", "bg", []string{y}, "budget x is kept again: ", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.take = story(tt.windows)
				registry := prometheus.NewRegistry()
				g := w.start(t, Config{Budgets: budget.Must(x, y), Window: 10 * second, Every: 10 * second, Registerer: registry})
				pass(time.Millisecond)
				windows := len(tt.windows)
				if tt.name == "replaced" {
					windows = 1
				}
				pass(time.Duration(windows) * 10 * second)
				pass(5 * second) // a window is under way that knows x
				if err := g.SetBudgets(budget.Must(tt.next...)); err != nil {
					t.Fatal(err)
				}
				pass(40 * second)
				w.mu.Lock()
				var messages []string
				for _, e := range w.events {
					if e.Budget == "x" {
						messages = append(messages, e.Message)
					}
				}
				w.mu.Unlock()
				last := ""
				if len(messages) > 0 {
					last = messages[len(messages)-1]
				}
				if !strings.HasPrefix(last, tt.last) || tt.last == "" && last != "" {
					t.Errorf("messages %q, want the last to be %q", messages, tt.last)
				}
				if series := strings.Contains(scrape(t, registry, "text/plain"), `profguard_budget_state{budget="x"}`); series != tt.series {
					t.Errorf("x has series: %t", series)
				}
				g.Stop()
			})
		})
	}
}

// Of a budget that goes while its first event waits for a dump, nothing is told.
func TestSetBudgetsDuringADump(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.take = story("b")
		w.offer = func(*dumps.Store, dumps.Dump) (dumps.ID, error) { return "1", nil } // and that is all that is heard
		g := w.start(t, dumping(t, "x: fmt.Println below 20% for 1 windows"))
		pass(10*second + 2*second/2)
		if err := g.SetBudgets(budget.Must("portlist absent")); err != nil {
			t.Fatal(err)
		}
		pass(20 * second)
		wantEvents(t, w)
		g.Stop()
	})
}

// A budget that goes while its dump is written holds nobody up: the other budgets of the
// window get their events at once, and their dumps.
func TestSetBudgetsDuringADumpOfAnother(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		const y = "y: main.work below 10% for 1 windows"
		w.take = story("b")
		w.offer = func(_ *dumps.Store, d dumps.Dump) (dumps.ID, error) {
			id := dumps.ID(d.Name)
			go func() {
				g := theGuard()
				if id == "x" {
					if err := g.SetBudgets(budget.Must(y)); err != nil {
						t.Error(err)
					}
				}
				dumpEnds(g, dumps.Outcome{ID: id})
			}()
			return id, nil
		}
		g := w.start(t, dumping(t, "x: fmt.Println below 20% for 1 windows", y))
		pass(10*second + 2*second/2)
		if e := firings(w); len(e) != 1 || e[0].Budget != "y" || e[0].Dump != "y" {
			t.Errorf("events %+v, want one of y with its dump", e)
		}
		g.Stop()
	})
}

// A window under way says nothing of a budget that SetBudgets has removed.
func TestRemovedBudgetsAreNotTold(t *testing.T) {
	for _, removed := range []bool{false, true} {
		bubble(t, func(t *testing.T, w *world) {
			w.take = func(int) profiler.Window {
				if removed {
					if err := theGuard().SetBudgets(budget.Must("portlist absent")); err != nil {
						t.Error(err)
					}
				}
				return cpuWindow(bad)
			}
			g := w.start(t, Config{Budgets: flapping, Window: 10 * second, Every: 10 * second})
			pass(15 * second)
			if told, b := w.told(), g.Status().Budgets[0]; (len(told) == 0) != removed || (b.Verdicts["fail"] == 0) != removed || (b.State != StateFiring) != removed {
				t.Errorf("removed %t: told %q, verdicts %v, %s", removed, told, b.Verdicts, b.State)
			}
			g.Stop()
		})
	}
}
