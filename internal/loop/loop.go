// Package loop is the guard's work: window after window, it measures the process, judges the
// measurement by the budgets, advances their alerts, and acts on what has changed.
//
//	open -> capture -> Measurement -> profiles -> []Verdict -> []Change -> dumps, []Told
//
// Each step takes what the one before has made, and what was made is not changed. What has to be
// known from window to window stands in the step that needs it: [measurer], [judger], [alerts],
// [archive]. What is found is handed to a [Host].
package loop

import (
	"context"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/foreign"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/pace"
	"github.com/profguard/profguard/internal/profiler"
	"github.com/profguard/profguard/internal/release"
)

// Config is what a loop works with.
type Config struct {
	Every, Window time.Duration
	Started       time.Time
	Module        string // of the program
	Baseline      *decode.Table
	BaselineWork  map[string]float64
	Releases      Releases      // nil for none
	DumpEvery     time.Duration // between two dumps of a budget with the same offender, at least
	Trace         Recorder      // nil for none

	// Work are the counters of work, and Registry reads further ones. Both are code of the host.
	Work     map[string]func() float64
	Registry func(units []string) (Readings, error)

	// Windows are called with each good window of CPU, and Dumps with each dump, also if there is no
	// store, or it refuses the dump: they keep it elsewhere. Describe adds a file to each dump for
	// them; nil: none. They are called on the loop's goroutine, and must not block.
	Windows  []func(*Window)
	Dumps    []func(dumps.ID, *dumps.Dump)
	Describe func(*Change, *dumps.Dump) dumps.File

	Feed    *Feed // nil for none
	Process Process
	Host    Host
}

// Releases compare the build that runs with another one.
type Releases interface {
	judge.Releases
	Before() *release.Side // the other one, nil if it is not known
	Normal() []byte        // a profile of what was normal, empty if it is not known
}

// A Host is what the loop's owner does with what is found. All functions but Dumped are called
// on the loop's goroutine.
type Host struct {
	Set   func() *Set         // in force
	Store func() *dumps.Store // nil for none

	Waits    func(next time.Time)          // the next window is due then
	Linked   func(Linked)                  // before the first window of a set
	Measured func(*Measurement)            // of each window, in this order
	Judged   func([]Change)                //
	Told     func([]Told)                  //
	Spent    func(Cost)                    //
	Sidecar  func(*Budget) (status []byte) // of a dump, nil if the budget is not in force
	Dumped   func(Dumped)                  // also on the goroutine of the store
	Traced   func(error)                   // the execution trace was written, or why not
	Panicked func(err error, givesUp bool) // in a window
}

// A Cost is what a window has cost.
type Cost struct {
	CPU    time.Duration
	Share  float64   // of one core, since the window before
	Paused time.Time // until when there are no windows, as the cost was too high; zero for no pause
}

// Told is a notice, with the dump that shows what it is about, if there is one.
type Told struct {
	Of *Budget
	At time.Time
	Notice
	Dump   dumps.ID
	Dumped time.Time // the end of its window
}

// settled is how old a guard is when what its windows cost is added up, for functions and for releases. What a
// process does to get ready, as to fill its caches, is no cost of its work, and at a deploy all processes do it.
const settled = time.Minute

// panicLimit is how many windows in a row may panic until the loop gives up.
const panicLimit = 3

// A Loop takes windows. Only its goroutine uses its fields, but for the archive.
type Loop struct {
	Config
	pace      pace.Pace
	measure   *measurer
	judge     judger
	alerts    alerts
	archive   archive
	set       *Set     // of the last window
	notLinked []string // patterns of the set that match no function, once known
}

// New returns a loop that has not begun.
func New(cfg Config) *Loop {
	l := &Loop{Config: cfg, pace: pace.Pace{Every: cfg.Every, Window: cfg.Window, Random: cfg.Process.Random}}
	least := cfg.DumpEvery / 10 // between two with different offenders, and between notices about them
	now := cfg.Process.Snap()
	l.measure = &measurer{
		Process: cfg.Process, feed: cfg.Feed, every: cfg.Every, window: cfg.Window, always: len(cfg.Windows) > 0,
		releases: cfg.Releases,
		facts:    judge.Facts{Live: true, Module: cfg.Module, Baseline: cfg.Baseline, BaselineWork: cfg.BaselineWork},
		work:     cfg.Work, counters: newCounters(cfg.Work, cfg.Registry), works: map[string]Readings{}, due: map[string]time.Time{},
		last: now, heap: heapMeter{rested: now},
	}
	l.measure.taker.Decoder, l.measure.parts.Decoder = &l.measure.decoder, &l.measure.decoder
	l.judge = judger{every: cfg.Every, started: cfg.Started, module: cfg.Module, decoder: &l.measure.decoder, partsOf: l.measure.partsOf}
	l.alerts = alerts{started: cfg.Started, least: least}
	l.archive = archive{
		every: cfg.DumpEvery, least: least, offer: cfg.Process.Offer, goroutines: l.measure.goroutines, trace: cfg.Trace,
		status: cfg.Host.Sidecar, ended: cfg.Host.Dumped, traced: cfg.Host.Traced, observers: cfg.Dumps, describe: cfg.Describe,
	}
	if cfg.Releases != nil {
		l.archive.normal = cfg.Releases.Normal
	}
	return l
}

// Run takes windows until the context ends, or panics again and again.
func (l *Loop) Run(ctx context.Context) {
	defer l.Close()
	next, panicked := time.Now().Add(l.pace.First()), 0 // in a row
	for {
		early, ok := l.wait(ctx, next)
		if !ok {
			return
		}
		began := time.Now()
		err := foreign.Recovered(func() error { l.Window(ctx, early); return nil })
		if err == nil {
			panicked = 0
		} else {
			panicked++
			if l.Host.Panicked(err, panicked == panicLimit); panicked == panicLimit {
				return
			}
		}
		next = l.next(began, time.Now())
	}
}

// Close sets back the rates of sampling that the loop has set.
func (l *Loop) Close() {
	l.measure.taker.Close()
	l.measure.parts.Close()
}

// Saved takes the outcome of a dump that was offered. The store may call it at any time.
func (l *Loop) Saved(o dumps.Outcome) { l.archive.saved(o) }

// Window takes and judges one window of all kinds of profile that the budgets need.
func (l *Loop) Window(ctx context.Context, early bool) {
	var own clock
	var before *reading
	own.run(func() {
		l.adopt(ctx, l.Host.Set())
		before = l.measure.begin()
	})
	cpu, tried := l.measure.capture(ctx, l.set)
	if cpu.Outcome == profiler.Canceled {
		return
	}
	if cpu.Fed {
		defer l.Feed.count(-1)
	}
	var m *Measurement
	own.run(func() {
		m = l.measure.end(before, cpu, tried, early, l.notLinked)
		l.Host.Measured(m)
		if w := m.good(); w != nil {
			w.Settled = w.Start.Sub(l.Started) >= settled
			for _, observe := range l.Windows {
				observe(w)
			}
		}
	})
	profiles := l.measure.profiles(m, l.set, &own)
	own.run(func() { l.decide(ctx, m, profiles) })
	l.settle(own.spent+m.cost, m)
}

// adopt makes a set of budgets the one that is judged.
func (l *Loop) adopt(ctx context.Context, s *Set) {
	if l.set == s {
		return
	}
	l.set = s
	l.measure.adopt(s)
	l.judge.adopt(s)
	l.alerts.adopt(s)
	linked := s.linkedIn(ctx, l.Process.Linked)
	l.notLinked = linked.missing
	l.Host.Linked(linked)
}

// decide judges a window, and acts on it.
func (l *Loop) decide(ctx context.Context, m *Measurement, profiles []profile) {
	changes := l.alerts.changes(l.judge.verdicts(ctx, l.set, m, profiles))
	for i := range changes {
		if n := changes[i].Notice; n != nil && n.Event.Ends() {
			l.judge.forget(changes[i].Of)
		}
	}
	l.act(ctx, changes, m)
}

// act hands out what has changed, and saves profiles of what fails. All kinds of profile have been
// judged before, so that a slow disk delays notices, but no measurement.
func (l *Loop) act(ctx context.Context, changes []Change, m *Measurement) {
	var offered []*dump
	defer func() { // also after a panic, and when the guard stops: an alert never fires without a notice
		saving, cancel := context.WithTimeout(ctx, dumpWait)
		defer cancel()
		for _, d := range offered { // no notice names a file that does not exist
			select {
			case <-d.ended:
			case <-saving.Done():
			}
		}
		l.Host.Told(l.told(changes))
	}()
	l.Host.Judged(changes)
	offered = l.archive.save(l.Host.Store(), changes, m)
}

// told are the notices of a window with their dumps.
func (l *Loop) told(changes []Change) (list []Told) {
	for i := range changes {
		c := &changes[i]
		if c.Notice == nil {
			continue
		}
		t := Told{Of: c.Of, At: c.End, Notice: *c.Notice}
		if !t.Event.Ends() {
			t.Dump, t.Dumped = l.archive.last(c.Of, c.worst(), c.End)
			if t.Dump != "" && t.Dumped.Before(t.At) {
				t.Message += "; the dump is of an earlier window that failed, which ended at " + t.Dumped.Format(time.DateTime)
			}
		}
		list = append(list, t)
	}
	return list
}

// settle ends a window: its cost decides when the next ones are.
func (l *Loop) settle(cost time.Duration, m *Measurement) {
	at := m.Now.At
	c := Cost{CPU: cost, Share: l.pace.Spent(cost, at.Sub(l.measure.last.At), at)}
	if until, paused := l.pace.Paused(at); paused {
		c.Paused = until
	}
	l.Host.Spent(c)
	l.measure.rest(m)
}

// next is the start of the window after one that began at a time. While other code has the CPU
// profiler, windows without it go on for the budgets that do not need it. While a budget is
// pending, or fires and may be over, it is after half a window, so that a person at /debug/pprof
// can take a profile in between.
func (l *Loop) next(began, now time.Time) time.Time {
	at, soon := l.pace.Next(began, now), now.Add(l.Config.Window/2)
	switch {
	case now.Before(l.measure.free):
		if l.measure.free.Before(at) {
			at = l.measure.free
		}
	case soon.Before(at) && l.alerts.hurries(l.Host.Set()) && l.pace.Extra(now):
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
	l.Host.Waits(next)
	for {
		select {
		case <-ctx.Done():
			return false, false
		case <-due.C:
			return false, true
		case <-l.Feed.ready():
			return false, true
		case <-tick.C:
			if l.pace.Jumped(l.Process.Snap()) && l.measure.backoff == 0 && !l.Feed.feeds() {
				return true, true
			}
		}
	}
}
