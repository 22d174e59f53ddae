// Package loop is the guard's work: window after window, it measures the process, judges the
// measurement by the budgets, and advances their alerts.
//
//	open -> capture -> Measurement -> profiles -> []Verdict -> []Change -> Report
//
// Each step takes what the one before has made, and what was made is not changed. What has to be
// known from window to window stands in the step that needs it: [measurer], [judger], [archive]. All
// that leaves a window is a [Report]; nobody is called while one is judged. Who gets it has profiles
// of what fails kept by [Loop.Keep].
package loop

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/foreign"
	"github.com/profguard/profguard/internal/functions"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/pace"
	"github.com/profguard/profguard/internal/profiler"
	"github.com/profguard/profguard/internal/reference"
	"github.com/profguard/profguard/internal/release"
	"github.com/profguard/profguard/internal/tree"
)

// Config is what a loop works with.
type Config struct {
	Budgets       *Set // the first
	Every, Window time.Duration
	Started       time.Time
	Module        string // of the program
	Baseline      *decode.Table
	BaselineWork  map[string]float64
	Reference     *reference.Keeper // compares builds; nil for none
	Functions     int               // how many are counted by name; 0 for none
	Always        bool              // CPU is profiled, also if no budget needs it
	DumpEvery     time.Duration     // between two dumps of a budget with the same offender, at least
	Trace         Recorder          // nil for none

	// Work are the counters of work, and Registry reads further ones. Both are code of the host.
	Work     map[string]func() float64
	Registry func(units []string) (Answers, error)

	// ShowsLabel reports whether the value of a label may be told; nil: all may. It is code of the host.
	ShowsLabel func(key, value string) bool

	Process Process
}

// A Report is what a window has found out. The first one has only Next, as there was no window yet, and one of a
// window that has panicked has only Next, Err and GivesUp.
type Report struct {
	Next    time.Time // when the next window is due
	Err     error     // of a panic
	GivesUp bool      // it was one too many, and there are no further windows

	*Measurement
	Linked    *Linked           // in the first window of a set of budgets
	Functions *functions.Totals // nil if the window is none that is counted
	Release   *release.Comparison
	News      bool // Release has something that was not told before
	// Parts are what else the loop does, by the part of the guard, with what is wrong with it; nil if nothing is.
	Parts   map[string]error
	Changes []Change
	Cost    Cost
}

// A Cost is what a window has cost.
type Cost struct {
	CPU    time.Duration
	Share  float64   // of one core, since the window before
	Paused time.Time // until when there are no windows, as the cost was too high; zero for no pause
}

// Settled is how old a process is when what its windows cost is added up, for functions and for releases. What a
// process does to get ready, as to fill its caches, is no cost of its work, and at a deploy all processes do it.
const Settled = time.Minute

// panicLimit is how many windows in a row may panic until the loop gives up.
const panicLimit = 3

// A Loop takes windows. Only its goroutine uses its fields, but for the budgets, the feed and the archive.
type Loop struct {
	Config
	Feed      *Feed
	budgets   atomic.Pointer[Set] // in force from the next window on
	pace      pace.Pace
	measure   *measurer
	judge     judger
	functions *functions.Counter // nil for none
	archive   archive
	linked    *Linked       // of a set of which no report has told yet
	notLinked []string      // patterns of the set that match no function, once known
	next      time.Time     // when the next window is due
	handed    time.Duration // the CPU time of handing over the last report
}

// New returns a loop that has not begun.
func New(cfg Config) *Loop {
	l := &Loop{Config: cfg, Feed: newFeed(), pace: pace.Pace{Every: cfg.Every, Window: cfg.Window, Random: cfg.Process.Random}}
	least := cfg.DumpEvery / 10 // between two with different offenders, and between notices about them
	now := cfg.Process.Snap()
	l.measure = &measurer{
		Process: cfg.Process, feed: l.Feed, every: cfg.Every, window: cfg.Window, always: cfg.Always || cfg.Functions > 0 || cfg.Reference != nil,
		facts: judge.Facts{Module: cfg.Module, Baseline: cfg.Baseline, BaselineWork: cfg.BaselineWork},
		work:  cfg.Work, counters: newCounters(cfg.Work, cfg.Registry), works: map[string]Answers{}, due: map[string]time.Time{},
		last: now, heap: heapMeter{rested: now},
	}
	l.measure.taker.Decoder, l.measure.parts.Decoder = &l.measure.decoder, &l.measure.decoder
	l.judge = judger{
		every: cfg.Every, started: cfg.Started, least: least, module: cfg.Module,
		decoder: &l.measure.decoder, partsOf: l.measure.partsOf, shows: bounded(cfg.ShowsLabel),
	}
	if cfg.Functions > 0 {
		l.functions = functions.New(cfg.Functions)
	}
	l.archive = archive{every: cfg.DumpEvery, least: least, offer: cfg.Process.Offer, goroutines: l.measure.goroutines, trace: cfg.Trace}
	if r := cfg.Reference; r != nil {
		l.measure.facts.Releases, l.archive.normal = r, r.Normal
	}
	l.Use(cfg.Budgets)
	return l
}

// Use puts budgets in force, from the next window on.
func (l *Loop) Use(s *Set) { l.budgets.Store(s) }

// Run takes windows until the context ends, or panics again and again. What each has found out is handed to report,
// on this goroutine.
func (l *Loop) Run(ctx context.Context, report func(*Report)) {
	defer l.Close()
	l.next = time.Now().Add(l.pace.First())
	report(&Report{Next: l.next})
	for panicked := 0; ; { // in a row
		early, ok := l.wait(ctx, l.next)
		if !ok || ctx.Err() != nil { // the next window may be due, too
			return
		}
		began := time.Now()
		err := foreign.Recovered(func() error { l.Step(ctx, early, report); return nil })
		if err == nil {
			panicked = 0
			continue
		}
		panicked++
		l.next = l.after(began, time.Now())
		if report(&Report{Next: l.next, Err: err, GivesUp: panicked == panicLimit}); panicked == panicLimit {
			return
		}
	}
}

// Close sets back the rates of sampling that the loop has set.
func (l *Loop) Close() {
	l.measure.taker.Close()
	l.measure.parts.Close()
}

// Step takes and judges one window of all kinds of profile that the budgets need, and hands it over. It does not if the
// context ends meanwhile.
func (l *Loop) Step(ctx context.Context, early bool, report func(*Report)) {
	began := time.Now()
	own := clock{thread: l.measure.Thread}
	var before *Reading
	r := new(Report)
	own.run(func() {
		l.adopt(ctx, l.budgets.Load())
		before = l.measure.begin()
	})
	cpu, tried := l.measure.capture(ctx, l.judge.set)
	if cpu.Outcome == profiler.Canceled {
		return
	}
	if cpu.Fed {
		defer l.Feed.count(-1)
	}
	own.run(func() {
		r.Measurement = l.measure.end(before, cpu, tried, early, l.notLinked)
		l.addUp(ctx, r)
	})
	profiles := l.measure.profiles(r.Measurement, l.judge.set, &own)
	own.run(func() { r.Changes = l.judge.decide(ctx, r.Measurement, profiles) })
	r.Cost = l.cost(own.spent+r.cost+l.handed, r.Now.At)
	l.next = l.after(began, time.Now())
	r.Next, r.Linked, l.linked = l.next, l.linked, nil
	handing := clock{thread: l.measure.Thread}
	defer func() { l.handed = handing.spent }() // which is a part of the cost of the next window
	handing.run(func() { report(r) })
	l.measure.rest(r.Measurement)
}

// addUp adds a good window up: for functions, and for the reference of this build.
func (l *Loop) addUp(ctx context.Context, r *Report) {
	w, f := &r.CPU, &r.Facts
	r.Parts = map[string]error{}
	if !r.IsGood() || l.functions == nil && l.Reference == nil {
		return
	}
	if w.Start.Sub(l.Started) < Settled {
		if l.Reference != nil {
			l.Reference.Begin()
		}
		return
	}
	var charged *tree.Tree
	err := foreign.Recovered(func() (err error) { charged, err = l.measure.charged(ctx, r.table); return err })
	if l.functions != nil {
		r.Functions, r.Parts["functions"] = count(l.functions, functions.Window{Tree: charged, Seconds: w.Elapsed.Seconds(), Work: f.Work, NoWork: f.NoWork}, err)
	}
	if l.Reference == nil || w.Fed && w.CPU == 0 { // the CPU is not known
		return
	}
	if err == nil {
		err = l.Reference.Window(charged, release.Piece{CPU: w.CPU.Seconds(), Elapsed: w.Elapsed.Seconds(), Work: f.Work, Machine: r.before.machine(r.Now)})
	}
	if err != nil {
		err = fmt.Errorf("the reference of this build: %w", err)
	}
	r.Parts["reference"] = err
	r.Release, r.News = l.Reference.Balance(ctx)
}

// count counts the functions of a window, unless it could not be charged.
func count(c *functions.Counter, of functions.Window, err error) (*functions.Totals, error) {
	if err == nil {
		err = foreign.Recovered(func() error { return c.Add(of) })
	}
	if err != nil {
		err = fmt.Errorf("a window was left out: %w", err)
	}
	totals := c.Totals()
	return &totals, err
}

// adopt makes a set of budgets the one that is judged, if it is another one than before.
func (l *Loop) adopt(ctx context.Context, s *Set) {
	if l.judge.set == s {
		return
	}
	l.measure.adopt(s)
	l.judge.adopt(s)
	linked := s.linkedIn(ctx, l.Process.Linked)
	l.notLinked, l.linked = linked.missing, &linked
}

// cost adds what a window has cost until now: it decides when the next ones are.
func (l *Loop) cost(spent time.Duration, now time.Time) Cost {
	c := Cost{CPU: spent, Share: l.pace.Spent(spent, now.Sub(l.measure.last.At), now)}
	if until, paused := l.pace.Paused(now); paused {
		c.Paused = until
	}
	return c
}

// after is the start of the window after one that began at a time. While other code has the CPU
// profiler, windows without it go on for the budgets that do not need it. While a budget is
// pending, or fires and may be over, it is after half a window, so that a person at /debug/pprof
// can take a profile in between.
func (l *Loop) after(began, now time.Time) time.Time {
	at, soon := l.pace.Next(began, now), now.Add(l.Config.Window/2)
	switch {
	case now.Before(l.measure.free):
		if l.measure.free.Before(at) {
			at = l.measure.free
		}
	case soon.Before(at) && l.judge.hurries(l.budgets.Load()) && l.pace.Extra(now):
		at = soon
	}
	if until, _ := l.pace.Paused(now); until.After(at) {
		return until
	}
	return at
}

// wait sleeps until the next window is due, or the process's CPU jumps. It reports false when
// the guard stops.
func (l *Loop) wait(ctx context.Context, next time.Time) (early, ok bool) {
	due := time.NewTimer(max(time.Until(next), 0))
	defer due.Stop()
	tick := time.NewTicker(pace.Tick)
	defer tick.Stop()
	l.pace.Restart(l.Process.Snap())
	for {
		select {
		case <-ctx.Done():
			return false, false
		case <-due.C:
			return false, true
		case <-l.Feed.fed:
			return false, true
		case <-tick.C:
			if l.pace.Jumped(l.Process.Snap()) && l.measure.backoff == 0 && !l.Feed.feeds() {
				return true, true
			}
		}
	}
}
