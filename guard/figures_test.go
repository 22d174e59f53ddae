package guard

import (
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/profiler"
)

// Figures need no profile: they are judged although the profiler is taken.
func TestFiguresFlow(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		g := w.start(t, Config{
			Budgets: budget.Must("crowd: goroutines below 5000", "fat: heap below 64MiB", "big: rss below 50MiB", "cpu: process below 1.5 cores"),
			Window:  10 * second, Every: 10 * second,
		})
		initials(t, g, 2)
		w.mu.Lock()
		w.goroutines, w.heap = 6000, 70<<20
		w.take = func(int) profiler.Window { return lost(profiler.Starved) }
		w.mu.Unlock()
		initials(t, g, 3)
		states := func() string {
			var list []string
			for _, b := range g.Status().Budgets {
				list = append(list, b.State.String())
			}
			return strings.Join(list, " ")
		}
		if got := states(); got != "firing firing ok ok" {
			t.Errorf("with too much of two: %s", got)
		}
		if r := g.Status().Budgets[0].Result; r.Value != 6000 || r.Limit != 5000 || r.Unit != "count" {
			t.Errorf("goroutines: %v, limit %v %s", r.Value, r.Limit, r.Unit)
		}
		w.mu.Lock()
		w.goroutines, w.heap = 10, 10<<20
		w.mu.Unlock()
		initials(t, g, 2)
		if got := states(); got != "firing firing ok ok" {
			t.Errorf("two windows afterwards: %s", got)
		}
		initials(t, g, 1)
		if got := states(); got != "ok ok ok ok" {
			t.Errorf("three windows afterwards: %s", got)
		}
		g.Stop()
	})
}

// Where no collection has ended, the profile shows whether one runs.
func TestGCOf(t *testing.T) {
	runs := "main.main;main.work 90\nruntime.gcBgMarkWorker;runtime.systemstack;runtime.gcDrain 10\n"
	none := "main.main;main.work;runtime.mallocgc 100\n"
	for _, tt := range []struct {
		used    process.Figures
		profile string
		want    float64 // -1 for not known
	}{
		{process.Figures{GCKnown: true, GC: 0.3}, runs, 0.3},
		{process.Figures{GCKnown: true, GC: 0.3}, none, 0.3},
		{process.Figures{}, runs, -1},
		{process.Figures{}, none, 0},
		{process.Figures{}, "", -1},
	} {
		var table *decode.Table
		if tt.profile != "" {
			var err error
			if table, err = new(decode.Decoder).Profile(folded.Must("cpu 10s\n" + tt.profile)); err != nil {
				t.Fatal(err)
			}
		}
		facts := judge.Facts{Figures: map[string]float64{}}
		gcOf(&tt.used, table, &facts)
		got, known := facts.Figures["gc"]
		if !known {
			got = -1
		}
		if got != tt.want || known == (facts.NoFigures["gc"] != "") {
			t.Errorf("%+v, %q: gc is %v, not known because %q; want %v", tt.used, tt.profile, got, facts.NoFigures["gc"], tt.want)
		}
	}
}

// While a collection runs that lasts longer than a window, nobody knows what it takes:
// such windows neither keep a budget nor break a row of those that do not.
func TestUnknownGC(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		l := w.still(t, Config{Budgets: budget.Must("gc below 5% for 3 windows", "plain: gc below 5%")})
		at := time.Now().Add(minute)
		windows := func(shares ...float64) (states string) {
			for _, share := range shares {
				facts := judge.Facts{Figures: map[string]float64{}}
				gcOf(&process.Figures{GCKnown: share >= 0, GC: share}, nil, &facts)
				m := measuredAt(&profiler.Window{Outcome: profiler.OK}, at, "", 0)
				m.facts = facts
				l.apply(t.Context(), l.judge(t.Context(), l.budgets.groups[0], m), m.cpu)
				at = at.Add(minute)
				for _, b := range l.Status().Budgets {
					states += b.State.String()[:1]
				}
				states += " "
			}
			return states
		}
		const unknown = -1
		if got := windows(0.5, unknown, 0.5, unknown, unknown, 0.5); got != "pp pp pp pp pp ff " {
			t.Errorf("a collector that takes half, seen in every second window or third: %s", got)
		}
		if got := windows(unknown, unknown, unknown, unknown); got != "ff ff ff ff " {
			t.Errorf("not known afterwards: %s", got)
		}
		if r := l.Status().Budgets[1].Result; r.Verdict != budget.Inconclusive || !strings.Contains(r.Reason, "no collection has ended") {
			t.Errorf("not known: %s", r)
		}
		if got := windows(0.01, unknown, 0.01, 0.01); got != "ff ff ff oo " {
			t.Errorf("little, in three windows: %s", got)
		}
	})
}

// The collector's share is judged over the whole period, also where windows come closer.
func TestGCOfThePeriod(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		l := w.still(t, Config{Budgets: budget.Must("gc below 5%")})
		var ends []time.Time
		for _, pause := range []time.Duration{0, 20 * second, 20 * second, 20 * second} {
			time.Sleep(pause)
			l.takeWindow(t.Context(), false)
			ends = append(ends, l.lastPeriod.At)
		}
		if !ends[0].Equal(ends[1]) || !ends[0].Equal(ends[2]) || !ends[3].Equal(time.Now()) {
			t.Errorf("after the windows, periods have ended at %v, want at the first and the last", ends)
		}
	})
}
