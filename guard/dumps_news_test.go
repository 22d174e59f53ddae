package guard

import (
	"strings"
	"testing"

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
		{"another offender, too soon", "AgBg", "A -", 1, 1},
		{"the same offender", "AggA" + "ggA", "A A A", 1, 0},
		{"each again", "AgggggB" + "ggggggAggggggggB", "A B A B", 2, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.take, w.linked = burns(tt.windows), []string{"main.burnA", "main.burnB"}
				g := w.start(t, dumping(t, "x: /main.burn[AB]/ absent"))
				initials(t, g, len(tt.windows))
				shows := map[string]string{"": "-"}
				list, _, err := g.dumps.Load().List(100)
				if err != nil {
					t.Fatal(err)
				}
				for _, info := range list {
					shows[string(info.ID)] = strings.TrimPrefix(standsIn(t, info.Budget).Result.Offenders[0].Function, "main.burn")
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
