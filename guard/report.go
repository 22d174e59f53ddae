package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/check"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/loop"
	"github.com/profguard/profguard/internal/pace"
	"github.com/profguard/profguard/internal/profiler"
)

// This file takes what the loop has found: it becomes status and events. The functions take the
// lock, also for the end of a panic.

// host is what the loop hands its results to.
func (g *Guard) host() loop.Host {
	return loop.Host{
		Set: g.current, Store: g.dumps.Load, Waits: g.waits, Linked: g.linked, Measured: g.measured,
		Judged: g.judged, Told: g.told, Spent: g.spent, Sidecar: g.sidecar, Dumped: g.dumped, Traced: g.traced, Panicked: g.panicked,
	}
}

// Status returns a consistent snapshot of the guard.
func (g *Guard) Status() Status {
	if g == nil || g.cancel == nil {
		return Status{State: Stopped}
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
	if s.State == Stopped {
		s.Next = time.Time{}
	}
	s.Budgets = make([]BudgetStatus, len(g.budgets.entries))
	for i, e := range g.budgets.entries {
		s.Budgets[i] = e.now(g.started)
	}
	return s
}

// waits notes when the next window is due.
func (g *Guard) waits(next time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.status.Next = next
}

// linked warns of the budgets that could never fail.
func (g *Guard) linked(l loop.Linked) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if l.Err != nil {
		g.faults.note("linked", "cannot tell which functions are linked: "+l.Err.Error())
		return
	}
	g.faults.clear("linked")
	for _, e := range g.budgets.entries {
		if why := l.Warnings[e.Budget]; why != "" && e.status.Warning == "" && !e.Default {
			e.status.Warning = why
			g.emit(Event{Name: EventVacuous, Budget: e.Name, Result: e.status.Result, Message: fmt.Sprintf("budget %s cannot fail: %s", e.Name, why)})
		}
	}
}

// measured updates the status by the window of CPU, if one was tried, and by the figures of the
// process. It emits events when windows begin to be lost, and when they are good again. The
// share of garbage collection is that since the last window; it stays until a collection ends.
func (g *Guard) measured(m *loop.Measurement) {
	g.mu.Lock()
	defer g.mu.Unlock()
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
	for _, name := range slices.Sorted(maps.Keys(m.NoWork)) {
		g.degraded("work "+name, "", "budgets per "+name+" cannot be judged: "+m.NoWork[name])
	}
}

// maxHistory is an hour at the default period; a budget's takes 1 KB.
const maxHistory = 60

// judged updates the status of the budgets. Those that SetBudgets has removed have none.
func (g *Guard) judged(changes []loop.Change) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range changes {
		c := &changes[i]
		e := g.budgets.of[c.Of]
		if e == nil {
			continue
		}
		r, s := &c.Result, &e.status
		s.Verdicts[r.Verdict.String()]++
		s.Samples += r.Samples
		s.Hits += r.Hits
		if len(s.History) == maxHistory {
			s.History = s.History[1:]
		}
		s.History = append(s.History, Measurement{Value: r.Value, Verdict: r.Verdict})
		s.Result, s.measured, s.Accept = *r, c.Finding.HasValue(), check.Accepting(r, 1)
		s.Proven, s.Evidence, s.Offender = c.Proven, c.Evidence, c.Offender
		e.alert, e.seen = c.Alert, c.Seen
		if !c.Since.IsZero() {
			s.Since = c.Since
		}
	}
}

// told emits the events about budgets. For one that is no longer in force, SetBudgets has
// emitted the last event.
func (g *Guard) told(notices []loop.Told) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, n := range notices {
		e := g.budgets.of[n.Of]
		if e == nil {
			continue
		}
		name := EventOffender
		if e.told = !n.Event.Ends(); !e.told {
			name = EventResolved
		} else if n.Event == alert.Fired {
			name = EventFiring
		}
		url := g.exports.url(string(n.Dump))
		if url != "" {
			e.status.DumpURL = url
		}
		g.emit(Event{
			Name: name, Time: n.At, Budget: e.Name, Result: n.Result, Message: n.Message,
			Dump: string(n.Dump), DumpURL: url, Dumped: n.Dumped,
		})
	}
}

// spent adds the cost of a window. The guard pauses or goes on by it.
func (g *Guard) spent(c loop.Cost) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := &g.status
	s.CPU += c.CPU
	s.CostShare = c.Share
	switch was := s.State; {
	case was == Stopped: // Stop did not wait for this window
	case !c.Paused.IsZero():
		s.State, s.PausedUntil = Paused, c.Paused
		g.faults.note("cost", fmt.Sprintf("profguard cost %.1f%% of a core, and may cost %.0f%%", 100*c.Share, 100*pace.PauseShare))
		if was != Paused {
			g.emit(Event{Name: EventPaused, Message: fmt.Sprintf("profguard pauses for %v: it cost %.1f%% of a core; a longer Config.Every makes it cheaper", pace.PauseFor, 100*c.Share)})
		}
	case was == Paused:
		s.State, s.PausedUntil = Running, time.Time{}
		g.faults.clear("cost")
		g.emit(Event{Name: EventResumed, Message: "profguard goes on"})
	}
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
	s.History, s.Dump, s.Dumped = nil, "", time.Time{}
	data, err := json.Marshal(&s)
	if err != nil {
		g.dumpFailed(err)
	}
	return data
}

// dumped takes what became of a dump.
func (g *Guard) dumped(d loop.Dumped) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case errors.Is(d.Err, loop.ErrTooSoon):
		g.status.Dumps[tooSoon]++
	case d.Err != nil:
		g.dumpFailed(d.Err)
	default:
		g.status.Dumps["saved"]++
		g.faults.clear("dumps")
		if e := g.budgets.of[d.Of]; e != nil {
			e.status.Dump, e.status.Dumped = string(d.ID), d.End
			e.status.DumpURL = g.exports.url(e.status.Dump)
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

// traced notes whether the execution trace could be written.
func (g *Guard) traced(err error) {
	if err != nil {
		err = fmt.Errorf("Config.Trace: %w", err)
	}
	g.off("execution traces", err)
}

// panicked counts a window that ended in a panic. After some in a row the guard gives up.
func (g *Guard) panicked(err error, givesUp bool) {
	g.notePanic("loop")
	if !givesUp {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.status.State = Stopped
	g.degraded("loop", "panics", "profguard gave up after three panics in a row: "+err.Error())
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
