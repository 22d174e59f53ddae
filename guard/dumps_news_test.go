package guard

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/profiler"
)

const (
	burnA = "cpu 10s\nmain.main;main.serve;main.work 300\nmain.main;main.serve;main.burnA 700\n"
	burnB = "cpu 10s\nmain.main;main.serve;main.work 300\nmain.main;main.serve;main.burnB 700\n"
)

// burns is windows, one letter each, of who burns.
func burns(letters string) func(int) profiler.Window {
	return func(n int) profiler.Window {
		switch letters[min(n, len(letters)-1)] {
		case 'A':
			return cpuWindow(burnA)
		case 'B':
			return cpuWindow(burnB)
		}
		return cpuWindow(good)
	}
}

// The dump that an event names shows what the event is about: another offender has a
// dump of its own, as soon as there may be one, and is not told with the first's.
func TestNewOffenderHasItsOwnDump(t *testing.T) {
	for _, tt := range []struct {
		name, windows string
		dumps         string // an offender for each firing, "-" for none
		saved         int
		early         int64
	}{
		{"another offender", "Agggggg" + "B", "A B", 2, 0},
		{"another offender, at once", "ABBBBBBg", "A", 2, 5},
		{"another offender, when its alert begins", "AgBg", "A B", 2, 0},
		{"the same offender", "AggA" + "ggA", "A A A", 1, 0},
		{"each again", "AgggggB" + "ggggggAggggggggB", "A B A B", 2, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.take, w.linked = burns(tt.windows), []string{"main.burnA", "main.burnB"}
				g := w.start(t, dumping(t, "x: /main.burn[AB]/ absent"))
				initials(t, g, len(tt.windows))
				shows := map[string]string{"": "-"}
				list, _, err := storeOf(g).List(100)
				if err != nil {
					t.Fatal(err)
				}
				for _, info := range list {
					shows[string(info.ID)] = strings.TrimPrefix(standsIn(t, sidecar(t, info).Budget).Result.Offenders[0].Function, "main.burn")
				}
				var got []string
				for _, e := range firings(w) {
					got = append(got, shows[e.Dump])
				}
				if s := g.Status(); strings.Join(got, " ") != tt.dumps || len(list) != tt.saved || s.Dumps["too_soon"] != tt.early {
					t.Errorf("windows %s: events with the dumps of %q, want %q; %d dumps, want %d; counts %v, want %d too soon",
						tt.windows, got, tt.dumps, len(list), tt.saved, s.Dumps, tt.early)
				}
				g.Stop()
			})
		})
	}
}

// What a process finds that has been started again has a dump of its own.
func TestDumpAfterRestart(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.take, w.linked = burns("A"), []string{"main.burnA"}
		cfg := dumping(t, "x: /main.burn[AB]/ absent")
		for range 2 {
			g := w.start(t, cfg)
			initials(t, g, 1)
			g.Stop()
		}
		if e := firings(w); len(e) != 2 || e[0].Dump == "" || e[1].Dump == "" || e[0].Dump == e[1].Dump {
			t.Errorf("events %+v, want two, each with its dump", e)
		}
	})
}

// A panic while a dump is made ends the window. That a budget fires is told all the same,
// also of those that were judged before.
func TestPanicInADumpKeepsEvents(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.take = story("gggb")
		offers := 0
		w.offer = func(*dumps.Store, dumps.Dump) (dumps.ID, error) {
			if offers++; offers == 2 {
				panic("once")
			}
			g, id := theGuard(), dumps.ID(fmt.Sprint(offers))
			go dumpEnds(g, dumps.Outcome{ID: id})
			return id, nil
		}
		g := w.start(t, dumping(t, "a: fmt.Println below 5% for 1 windows", "b: fmt.Println below 6% for 1 windows"))
		pass(2 * minute)
		s := g.Status()
		if s.Panics["loop"] != 1 {
			t.Fatalf("panics %v, want one of the loop", s.Panics)
		}
		for _, b := range s.Budgets {
			if b.State != StateFiring {
				t.Errorf("%s is %s, want firing", b.Name, b.State)
			}
		}
		wantEvents(t, w, EventFiring+" a", EventFiring+" b")
		g.Stop()
	})
}

// A guard that is stopped between two budgets tells of the first that it fires.
func TestStopBetweenBudgetsKeepsEvents(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.take = story("b")
		w.offer = func(*dumps.Store, dumps.Dump) (dumps.ID, error) {
			theGuard().cancel()
			return "", context.Canceled
		}
		g := w.start(t, dumping(t, "a: fmt.Println below 5% for 1 windows", "b: fmt.Println below 6% for 1 windows"))
		pass(minute)
		g.Stop()
		for _, b := range g.Status().Budgets {
			if told := slices.Contains(w.told(), string(EventFiring)+" "+b.Name); told != (b.State == StateFiring) {
				t.Errorf("%s is %s, told that it fires: %t", b.Name, b.State, told)
			}
		}
	})
}

// Each alert of a budget on the process has a dump of its own, because its parts may be others.
func TestDumpOfEachAlertOfTheProcess(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.take = func(int) profiler.Window {
			if w.since() < 100*second {
				return cpuWindow(burnA)
			}
			return cpuWindow(burnB)
		}
		w.cores = func(at time.Duration) float64 {
			if at > 70*second && at < 130*second {
				return 0.1
			}
			return 1
		}
		g := w.start(t, dumping(t, "x: process below 0.5 cores for 1 windows"))
		initials(t, g, 25)
		list, _, err := storeOf(g).List(100)
		if err != nil || len(list) != 2 {
			t.Fatalf("%d dumps, %v; want two", len(list), err)
		}
		g.Stop()
		for i, e := range firings(w) {
			if want := []string{"main.burnA", "main.burnB"}[i]; e.Result.Offenders[0].Function != want || e.Dump != string(list[1-i].ID) {
				t.Errorf("alert %d: %s in %s, want %s", i, e.Result.Offenders[0].Function, e.Dump, want)
			}
		}
	})
}
