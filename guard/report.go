package guard

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/loop"
	"github.com/profguard/profguard/internal/pace"
	"github.com/profguard/profguard/internal/profiler"
)

// This file takes what the loop has found: it becomes status, events and exports. The functions take the
// lock, also for the end of a panic.

// report takes what a window has found out. It runs on the loop's goroutine.
func (g *Guard) report(r *loop.Report) {
	if r.Err != nil {
		g.notePanic("loop")
	}
	g.note(r)
	if r.Measurement == nil {
		return
	}
	if g.exports != nil && g.cfg.Export.All && r.IsGood() {
		g.exports.window(&r.CPU)
	}
	g.act(r)
	g.spent(r.Cost)
	g.renew(time.Now())
}

// act takes what has changed, and has profiles of what fails kept.
func (g *Guard) act(r *loop.Report) {
	defer g.loop.Tell(g.active, r, g.tell) // also after a panic, and when the guard stops: an alert never fires without a notice
	g.judged(r.Changes)
	g.keep(r)
}

// note updates the status by a window, but for its budgets.
func (g *Guard) note(r *loop.Report) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.status.Next = r.Next
	if r.GivesUp {
		g.status.State = ActivityStopped
		g.degraded("loop", "panics", "profguard gave up after three panics in a row: "+r.Err.Error())
	}
	if r.Linked != nil {
		g.linked(r.Linked)
	}
	if r.Measurement != nil {
		g.measured(r.Measurement)
	}
	for _, part := range slices.Sorted(maps.Keys(r.Parts)) {
		switch err := r.Parts[part]; {
		case err == nil:
			g.faults.clear(part)
		case part != "reference" || g.cfg.DumpDir == "" || g.dumps.Load() != nil: // or it is said of the dumps, which are in the same folder
			g.degraded(part, dumps.Reason(err), err.Error())
		}
	}
	if r.Functions != nil {
		g.counts = r.Functions
	}
	if r.Release != nil {
		g.status.Release = releaseOf(r.Release)
	}
	if r.News {
		g.emit(Event{Name: EventRelease, Release: g.status.Release, Message: g.status.Release.Message})
	}
}

// keep has dumps of what fails kept, and exported.
func (g *Guard) keep(r *loop.Report) {
	var export func(*loop.Change, dumps.ID, *dumps.Dump)
	if g.exports != nil {
		export = g.exports.dump
	}
	for _, d := range g.loop.Keep(g.dumps.Load(), r, g.completes, export) {
		if d.Err != nil {
			g.dumped(d)
		}
		if g.cfg.Trace == nil || errors.Is(d.Err, loop.ErrTooSoon) {
			continue
		}
		err := d.Trace
		if err != nil {
			err = fmt.Errorf("Config.Trace: %w", err)
		}
		g.off("execution traces", err)
	}
}

// Status returns a consistent snapshot of the guard.
func (g *Guard) Status() Status {
	if g == nil || g.cancel == nil {
		return Status{State: ActivityStopped}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.status
	s.Reason = g.faults.String()
	s.Windows, s.Dumps = maps.Clone(s.Windows), maps.Clone(s.Dumps)
	s.Panics, s.Dropped = maps.Clone(s.Panics), map[string]int64{}
	if g.exports != nil {
		s.Exports = g.exports.queue.Counts()
	}
	for _, k := range g.sinks {
		s.Dropped[k.name], s.Panics[k.name] = k.dropped.Load(), k.panics.Load()
	}
	s.Program, s.Build = g.module, g.build
	if host, err := os.Hostname(); err == nil {
		s.Program += " on " + host
	}
	if s.State == ActivityStopped {
		s.Next = time.Time{}
	}
	s.Budgets = make([]BudgetStatus, len(g.budgets.entries))
	for i, e := range g.budgets.entries {
		s.Budgets[i] = e.now(g.started)
	}
	return s
}

// linked warns of the budgets that could never fail. g.mu must be held.
func (g *Guard) linked(l *loop.Linked) {
	if l.Err != nil {
		g.faults.note("linked", "cannot tell which functions are linked: "+l.Err.Error())
		return
	}
	g.faults.clear("linked")
	for _, e := range g.budgets.entries {
		if why := l.Warnings[e.Budget]; why != "" && e.warning == "" && !e.Default {
			e.warning = why
			g.emit(e.cannotFail(why))
		}
	}
}

// measured updates the status by the window of CPU, if one was tried, and by the figures of the
// process. It emits events when windows begin to be lost, and when they are good again. The
// share of garbage collection is that since the last window; it stays until a collection ends. g.mu must be held.
func (g *Guard) measured(m *loop.Measurement) {
	w, s := &m.CPU, &g.status.Window
	if m.Tried {
		good, was := w.Outcome == profiler.OK, s.Outcome == "" || s.Outcome == profiler.OK.String()
		g.status.Windows[w.Outcome.String()]++
		*s = WindowStatus{Start: w.Start, Elapsed: w.Elapsed, Outcome: w.Outcome.String(), Reason: w.Reason, Early: m.Early, Samples: m.Samples, GC: s.GC}
		if good {
			g.status.Good = w.Start.Add(w.Elapsed)
			if g.shown {
				g.last = w.Source
			}
		}
		if !good && was {
			g.emit(Event{Name: EventLost, Message: fmt.Sprintf("a window was lost (%s): %s", w.Outcome, w.Reason)})
		} else if good && !was {
			g.emit(Event{Name: EventRegained, Message: "windows are good again"})
		}
	}
	s.Cores, s.RSS, s.Heap, s.Goroutines = m.Used.Cores, m.Now.RSS, m.Now.Heap, m.Now.Goroutines
	if m.Since.GCKnown {
		s.GC = m.Since.GC
	}
	maps.DeleteFunc(g.faults.by, func(part, _ string) bool { return strings.HasPrefix(part, "work ") })
	if m.FirstFed {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m.Facts.NoWork)) {
		g.degraded("work "+name, "", "budgets per "+name+" cannot be judged: "+m.Facts.NoWork[name])
	}
}

// judged takes what is known of the budgets. Those that SetBudgets has removed have no status.
func (g *Guard) judged(changes []loop.Change) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range changes {
		if e := g.budgets.of[changes[i].Of]; e != nil {
			e.known = changes[i].Standing
			if why := e.ineffective(); why != "" && e.warning == "" && !e.warned {
				e.warned = true
				g.emit(e.cannotFail(why))
			}
		}
	}
}

// tell emits the event of a notice, with the dump that shows what it is about, if there is one. For a budget that is no
// longer in force, SetBudgets has emitted the last event.
func (g *Guard) tell(c *loop.Change, d *loop.Dump) {
	g.mu.Lock()
	defer g.mu.Unlock()
	e := g.budgets.of[c.Of]
	if e == nil {
		return
	}
	event := Event{Name: EventOffender, Time: c.End, Budget: e.Name, Result: c.Notice.Result, Message: c.Notice.Message}
	if e.told = !c.Notice.Event.Ends(); !e.told {
		event.Name = EventResolved
	} else if c.Notice.Event == alert.Fired {
		event.Name = EventFiring
	}
	if d != nil {
		event.Dump, event.Dumped, event.DumpURL = string(d.ID), d.End, g.exports.url(string(d.ID))
		e.dumpURL = cmp.Or(event.DumpURL, e.dumpURL)
		if d.End.Before(c.End) {
			event.Message += "; the dump is of an earlier window that failed, which ended at " + d.End.Format(time.DateTime)
		}
	}
	g.emit(event)
}

// spent adds the cost of a window. The guard pauses or goes on by it.
func (g *Guard) spent(c loop.Cost) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := &g.status
	s.CPU += c.CPU
	s.CostShare = c.Share
	switch was := s.State; {
	case was == ActivityStopped: // Stop did not wait for this window
	case !c.Paused.IsZero():
		s.State, s.PausedUntil = ActivityPaused, c.Paused
		g.faults.note("cost", fmt.Sprintf("profguard cost %.1f%% of a core, and may cost %.0f%%", 100*c.Share, 100*pace.PauseShare))
		if was != ActivityPaused {
			g.emit(Event{Name: EventPaused, Message: fmt.Sprintf("profguard pauses for %v: it cost %.1f%% of a core; a longer Config.Every makes it cheaper", pace.PauseFor, 100*c.Share)})
		}
	case was == ActivityPaused:
		s.State, s.PausedUntil = ActivityRunning, time.Time{}
		g.faults.clear("cost")
		g.emit(Event{Name: EventResumed, Message: "profguard goes on"})
	}
}

// completes adds the status of its budget to a dump, and what the exporter needs. It reports false if the budget is
// not in force.
func (g *Guard) completes(c *loop.Change, d *dumps.Dump) bool {
	if d.Budget = g.sidecar(c.Of); d.Budget == nil {
		return false
	}
	if g.exports != nil {
		d.Files = append(d.Files, g.exports.description(c, d).file())
	}
	return true
}

// sidecar is the status of a budget for a dump, nil if it is not in force.
func (g *Guard) sidecar(b *loop.Budget) []byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	e := g.budgets.of[b]
	if e == nil {
		return nil
	}
	s := e.now(g.started)
	s.Dump, s.Dumped = "", time.Time{}
	data, err := json.Marshal(&s)
	if err != nil {
		g.dumpFailed(err)
	}
	return data
}

// saved takes what became of a dump, on the store's goroutine.
func (g *Guard) saved(o dumps.Outcome) { g.loop.Saved(o, g.dumped) }

// dumped takes what became of a dump.
func (g *Guard) dumped(d *loop.Dump) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if d.Lost {
		g.lost++
		g.degraded("dumps", "lost", fmt.Sprintf("the folder %s was removed or replaced while in use, and the dumps in it are lost; it was made again", filepath.Join(g.cfg.DumpDir, dumps.FolderName)))
	}
	switch {
	case errors.Is(d.Err, loop.ErrTooSoon):
		g.status.Dumps[tooSoon]++
	case d.Err != nil:
		g.dumpFailed(d.Err)
	default:
		g.status.Dumps[onDisk]++
		g.faults.clear("dumps")
		if e := g.budgets.of[d.Of]; e != nil {
			e.dump, e.dumped = string(d.ID), d.End
			e.dumpURL = g.exports.url(e.dump)
		}
	}
}

// dumpFailed counts a failed dump, and emits an event once an hour for each reason. g.mu must
// be held.
func (g *Guard) dumpFailed(err error) {
	reason := dumps.Reason(err)
	g.status.Dumps[reason]++
	g.degraded("dumps", reason, "a dump was not kept: "+err.Error())
}

// degraded notes that a part of the guard has failed, and emits an event, once an hour for
// each reason. g.mu must be held.
func (g *Guard) degraded(part, reason, what string) {
	g.faults.note(part, what)
	now, key := time.Now(), part+" "+reason
	maps.DeleteFunc(g.faults.emitted, func(_ string, last time.Time) bool { return now.Sub(last) >= time.Hour })
	if _, told := g.faults.emitted[key]; !told {
		g.faults.emitted[key] = now
		g.emit(Event{Name: EventDegraded, Message: what})
	}
}

// off notes that a part of the guard is off because of an error, or with nil that it is not.
func (g *Guard) off(part string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		g.faults.clear(part)
	} else {
		g.degraded(part, err.Error(), part+" off: "+err.Error())
	}
}

// notePanic counts a panic that was recovered.
func (g *Guard) notePanic(part string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.status.Panics == nil {
		g.status.Panics = map[string]int64{} // of a Guard that was not started
	}
	g.status.Panics[part]++
}
