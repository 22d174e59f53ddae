package guard

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/loop"
	"github.com/profguard/profguard/internal/profiler"
	"github.com/profguard/profguard/internal/profiles"
	"github.com/profguard/profguard/internal/release"
)

// This file is nearly all that tests know of the inside of a guard.

// standing is what is known of a budget, by its place.
func (g *Guard) standing(i int) loop.Standing {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.budgets.entries[i].known
}

// Capture makes the world the source of its windows.
func (w *world) Capture(ctx context.Context, d time.Duration) (profiler.Window, error) {
	return w.capture(ctx, d)
}

func (w *world) seams() seams {
	p := loop.Process{
		Source: w,
		Snap:   w.snap,
		Load:   w.reading,
		Thread: func() time.Duration { return 0 },
		Random: func() float64 {
			if w.random == nil {
				return 0
			}
			return w.random()
		},
		Linked: func(yield func(string) bool) error {
			for _, name := range w.linked {
				if !yield(name) {
					break
				}
			}
			return nil
		},
		Profile: func(t *profiles.Taker, kind string) (profiles.Profile, error) {
			if w.profile != nil {
				return w.profile(kind)
			}
			if kind == kinds.GoroutineLeak {
				return profiles.Profile{Source: noLeak()}, nil
			}
			p, err := t.Take(kind)
			p.Cost = 0
			return p, err
		},
		Offer: func(s *dumps.Store, d dumps.Dump) (dumps.ID, error) {
			if w.offer != nil {
				return w.offer(s, d)
			}
			return s.Offer(d)
		},
	}
	return seams{
		Process: p,
		compile: func(cfg *Config, old *roster) (*roster, error) {
			if w.compile != nil {
				return w.compile(cfg, old)
			}
			return newRoster(cfg, old)
		},
		openDir: func(dir string, keep dumps.Keep, report func(dumps.Outcome)) (*dumps.Store, error) {
			if w.openDir != nil {
				return w.openDir(dir, keep, report)
			}
			return dumps.Open(dir, keep, report)
		},
		build: func() release.Build { return w.build },
		test:  w.build == release.Build{},
	}
}

// start starts a guard in the world, which stops it at the end of the test. The
// guard's events go to the world, too.
func (w *world) start(t *testing.T, cfg Config) *Guard {
	t.Helper()
	g, err := start(w.quiet(cfg), "a test", w.seams())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Stop)
	return g
}

// still is a guard without a goroutine of its own: the test steps through its
// windows. Its events go to the world at once.
func (w *world) still(t testing.TB, cfg Config) *Guard {
	t.Helper()
	g, err := newGuard(w.quiet(cfg), "a test", w.seams())
	if err != nil {
		t.Fatal(err)
	}
	g.active, g.cancel, g.build = t.Context(), func() {}, Build{}
	t.Cleanup(g.loop.Close)
	return g
}

// step takes a window of a guard that is still.
func step(t testing.TB, g *Guard) { g.loop.Step(t.Context(), false, g.report) }

func completed(cfg Config) (Config, error) {
	err := cfg.complete(new(atomic.Bool))
	return cfg, err
}

// finish closes a sink, and waits until its events are delivered or dropped.
func finish(s *sink) {
	s.close()
	<-s.done
}

// stillGuard is a guard without a loop: its pages show the budgets as they were
// put there, and its live profiles are what capture says.
func stillGuard(t testing.TB, capture func(context.Context, time.Duration) (profiler.Window, error), entries ...*entry) *Guard {
	t.Helper()
	g := &Guard{
		module: "example.com/shop", done: make(chan struct{}), active: context.Background(), cancel: func() {},
		seams:   seams{Process: loop.Process{Source: source(capture)}},
		budgets: &roster{entries: entries, of: map[*loop.Budget]*entry{}},
	}
	for _, e := range entries {
		g.budgets.of[e.Budget] = e
	}
	g.status = Status{State: ActivityRunning, Started: time.Now(), Windows: map[string]int{"ok": 3}, Dumps: map[string]int64{}}
	return g
}

// entryOf is a budget of which nothing is known yet.
func entryOf(sentence string) *entry {
	p, err := newRoster(&Config{Budgets: budget.Must(sentence), Every: minute, Window: 10 * second}, nil)
	if err != nil {
		panic(err)
	}
	return p.entries[0]
}

// A source is the function that takes its windows.
type source func(context.Context, time.Duration) (profiler.Window, error)

func (s source) Capture(ctx context.Context, d time.Duration) (profiler.Window, error) {
	return s(ctx, d)
}

// standingOf is a budget's standing after one result.
func standingOf(sentence string, state alert.State, r budget.Result) *entry {
	e := entryOf(sentence)
	r.Budget = e.Of
	e.known.Alert.State, e.known.Last = state, r
	e.known.Verdicts[r.Verdict] = 1
	return e
}

// theGuard is the one that runs.
func theGuard() *Guard { return running.Load() }

// storeOf is where a guard keeps its dumps, nil for nowhere.
func storeOf(g *Guard) *dumps.Store { return g.dumps.Load() }

// dumpsTo gives a guard a store of dumps, whose Offer the world has.
func dumpsTo(g *Guard, s *dumps.Store) { g.dumps.Store(s) }

// dumpEnds is what the store does when a dump is saved or has failed.
func dumpEnds(g *Guard, o dumps.Outcome) { g.saved(o) }

// loopEnds is closed when the loop of a guard has ended.
func loopEnds(g *Guard) <-chan struct{} { return g.done }

// hear lets the events of a guard that is still go to its sinks, until the result is called.
func hear(g *Guard) (quiet func()) {
	g.sinks = sinks(&g.cfg, g.off)
	return func() {
		for _, s := range g.sinks {
			finish(s)
		}
		g.loop.Close()
	}
}

// spentAfterStop is the state of a guard whose last window ends after Stop.
func spentAfterStop() Activity {
	g := &Guard{status: Status{State: ActivityStopped}}
	g.spent(loop.Cost{})
	return g.status.State
}

// brokenReports are what panics in the functions that take what the loop has found.
func brokenReports() map[string]func(*Guard) {
	return map[string]func(*Guard){
		"judged": func(g *Guard) { g.judged([]loop.Change{{}}) },
		"note": func(g *Guard) {
			g.status.Windows = nil
			g.note(&loop.Report{Measurement: &loop.Measurement{Tried: true}})
		},
	}
}

// breakStatus makes Status panic until the result is called.
func breakStatus(g *Guard) (mend func()) {
	before := g.budgets
	g.budgets = nil
	return func() { g.budgets = before }
}

// force gives a guard budgets that its configuration would refuse.
func force(g *Guard, set budget.Set) (err error) {
	g.cfg.Budgets = set
	if g.budgets, err = newRoster(&g.cfg, nil); err == nil {
		g.loop.Use(g.budgets.compiled)
	}
	return err
}

// panicsOf is how many panics of a part were recovered, also of a Guard that was not started.
func panicsOf(g *Guard, part string) int64 { return g.status.Panics[part] }

// shows gives a still guard a status, and budgets a text.
func shows(g *Guard, s Status, every time.Duration, set budget.Set) {
	g.module, g.status, g.cfg.Every, g.budgets.set = "", s, every, set
}
