package guard

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/profiler"
	"github.com/profguard/profguard/internal/profiles"
)

const (
	// defaultDumpEvery is the default of Keep.Every.
	defaultDumpEvery = 10 * time.Minute
	// newsPart is the part of Keep.Every after which what no dump shows yet has one of
	// its own: another offender, or whatever a new process finds. By default that is
	// a minute, so a program that crashes in a loop fills no directory within an hour.
	newsPart = 10
)

// dumpPatience is how long an event waits for its dump. A save takes
// milliseconds, so after two seconds the disk hangs, and the news is worth more
// than the profile's id.
const dumpPatience = 2 * time.Second

// dump offers the profile of a failing window to the store. If the store takes
// it, the event, if there is one, is emitted when the dump has ended, so that it
// never names a file that does not exist.
//
// Of a figure it is the profile that found, if any, says what it is made of, and
// the CPU profile of its window goes beside it; without one it is what ran.
func (l *looper) dump(e *entry, r budget.Result, data []byte, found *breakdown, w *profiler.Window, at time.Time, event *Event) (held bool) {
	kind, beside := kindOf(e.budget), dumps.Companion{}
	if kind == kindFigures {
		kind = kindCPU
		if found != nil {
			beside = dumps.Companion{Name: kindCPU + ".pb.gz", Data: data}
			kind, data = string(found.kind), found.data
		}
	}
	what := offenders(r)
	if l.dumps == nil || len(data) == 0 || !l.dumpDue(e, what[0], at) || !l.mayDump() {
		return false
	}
	d := dumps.Dump{
		Profile: data,
		Sidecar: dumps.Sidecar{
			Time: at, Budget: e.name, Sentence: e.budget.String(), Kind: kind,
			Verdict: r.Verdict.String(), Share: r.Share, Low: r.Low, High: r.High, Limit: r.Limit, Samples: r.Samples, Reason: r.Reason,
			Unit: r.Unit, Parts: offenderUnit(e.budget, r.Unit), Accept: accepting(r),
			Window:    dumps.Window{Start: w.Start, Seconds: w.Elapsed.Seconds(), Outcome: label(w.Outcome.String())},
			Violation: e.violation(), Severity: severity(r),
		},
		Companions: l.companions(kind),
	}
	if len(beside.Data) > 0 {
		d.Companions = append(d.Companions, beside)
	}
	for _, o := range r.Offenders {
		side := dumps.Offender{Name: o.Function, Share: o.Share, File: o.File, Line: o.Line}
		if o.Blame.Function != "" {
			side.CalledFrom = fmt.Sprintf("%s %s:%d", o.Blame.Function, o.Blame.File, o.Blame.Line)
		}
		d.Sidecar.Offenders = append(d.Sidecar.Offenders, side)
	}
	// The lock keeps dumped from running before the event is where it looks.
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.removed {
		return true // there is nothing to tell any more
	}
	id, err := l.seams.offer(l.dumps, d)
	if err != nil {
		l.dumpFailed(err)
		return false
	}
	e.offer(id, what, at, l.dumpEvery())
	if event == nil {
		return false
	}
	l.held[id], e.told = *event, true
	time.AfterFunc(dumpPatience, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.let(id, "")
	})
	return true
}

// let emits the event that waits for a dump. g.mu must be held.
func (g *Guard) let(id dumps.ID, kept string) {
	if e, ok := g.held[id]; ok {
		delete(g.held, id)
		e.Dump = kept
		g.emit(e)
	}
}

// release emits what waits for dumps of a budget, so that events keep their
// order. g.mu must be held.
func (g *Guard) release(budget string) {
	for id, e := range g.held {
		if e.Budget == budget {
			g.let(id, "")
		}
	}
}

// releaseAll emits whatever waits for a dump.
func (g *Guard) releaseAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for id := range g.held {
		g.let(id, "")
	}
}

// offenders are the names of those that a failing window is about, the worst
// first. A figure may have none: that is a name as well.
func offenders(r budget.Result) []string {
	names := []string{""}
	for i, o := range r.Offenders {
		if i == 0 {
			names = nil
		}
		names = append(names, o.Function)
	}
	return names
}

// dumpDue reports whether there is to be a dump of an offender: not of one that a
// recent dump shows. That a new one comes too soon after the last is counted.
func (l *looper) dumpDue(e *entry, worst string, at time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if shown, ok := e.shown[worst]; ok && at.Sub(shown) < l.dumpEvery() {
		return false
	}
	if !e.offered.IsZero() && at.Sub(e.offered) < l.dumpEvery()/newsPart {
		l.status.Dumps[dumps.Reason(dumps.ErrTooSoon)]++
		return false
	}
	return true
}

// offer notes that a dump is on its way.
func (e *entry) offer(id dumps.ID, what []string, at time.Time, every time.Duration) {
	if e.shown == nil {
		e.shown, e.offers = map[string]time.Time{}, map[dumps.ID][]string{}
	}
	maps.DeleteFunc(e.shown, func(_ string, shown time.Time) bool { return at.Sub(shown) >= every })
	for _, name := range what {
		e.shown[name] = at
	}
	e.offered, e.offers[id] = at, what
}

// arrive notes how an offered dump has ended.
func (e *entry) arrive(id dumps.ID, kept bool) {
	what := e.offers[id]
	delete(e.offers, id)
	if kept {
		e.dumps = append(e.dumps, keptDump{id, time.Now(), what})
		return
	}
	e.offered = time.Time{} // the next failing window tries again
	for _, name := range what {
		delete(e.shown, name)
	}
}

// lastDump is the id of the budget's last dump, if it was saved, is recent and
// shows the same offender: of a failing window that led to this one, or of a
// violation just before. No other is named.
func (l *looper) lastDump(e *entry, r budget.Result, at time.Time) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	worst := offenders(r)[0]
	for _, d := range slices.Backward(e.dumps) {
		if at.Sub(d.at) <= l.dumpEvery() && slices.Contains(d.shows, worst) {
			return string(d.id)
		}
	}
	return ""
}

// dumpEvery is the least time between two dumps of one offender of a budget.
func (l *looper) dumpEvery() time.Duration { return l.cfg.Keep.every() }

// severity orders the dumps of a violation: how far over the limit it is.
func severity(r budget.Result) float64 {
	if r.Limit > 0 {
		return r.Share / r.Limit
	}
	return r.Share
}

// dumped is called by the store's goroutine when a dump has ended, and when others
// are no more: what nobody can download is not to be named.
func (g *Guard) dumped(o dumps.Outcome) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, e := range g.panel.entries {
		e.dumps = slices.DeleteFunc(e.dumps, func(d keptDump) bool { return slices.Contains(o.Removed, d.id) })
		if o.ID != "" && e.name == o.Budget {
			e.arrive(o.ID, o.Err == nil)
		}
	}
	if o.Err != nil {
		g.let(o.ID, "")
		g.dumpFailed(o.Err)
		return
	}
	if o.ID != "" {
		g.let(o.ID, string(o.ID))
		g.faults.clear("dumps")
	}
}

// dumpFailed says so, once an hour for each reason. g.mu must be held.
func (g *Guard) dumpFailed(err error) {
	if errors.Is(err, dumps.ErrTooSoon) {
		g.status.Dumps[dumps.Reason(err)]++ // of the process before this one
		return
	}
	g.faults.note("dumps", "dumps fail: "+err.Error())
	if g.hourly.Say(dumps.Reason(err), time.Now()) {
		g.emit(Event{Name: eventDegraded, Message: "a dump was not kept: " + err.Error()})
	}
}

// dumpsAWindow bounds what a window may cost in which everything breaks at once:
// the first budgets to fail are kept, the others have their turn in the next.
const dumpsAWindow = 4

// mayDump counts the dumps of the window under way.
func (l *looper) mayDump() bool {
	if !l.dumping.Equal(l.began) {
		l.dumping, l.dumpsNow, l.beside = l.began, 0, nil
	}
	l.dumpsNow++
	return l.dumpsNow <= dumpsAWindow
}

// companions are what helps to understand a profile: where all goroutines were,
// and what the program did in the seconds before.
// They are the same for all dumps of a window; one of the kind of the dump itself
// is not wanted twice.
func (l *looper) companions(kind string) []dumps.Companion {
	if l.beside == nil {
		l.beside = l.takeCompanions()
	}
	return slices.DeleteFunc(slices.Clone(l.beside), func(c dumps.Companion) bool { return c.Name == kind+".pb.gz" })
}

func (l *looper) takeCompanions() []dumps.Companion {
	list := []dumps.Companion{}
	if c, ok := l.breakdowns.taken[profiles.Goroutine]; ok && l.breakdowns.window.Equal(l.began) && c.data != nil {
		list = append(list, dumps.Companion{Name: "goroutine.pb.gz", Data: c.data})
	} else if k, err := l.kinds.end("goroutine", nil); err == nil {
		list = append(list, dumps.Companion{Name: "goroutine.pb.gz", Data: bytes.Clone(k.data)})
	}
	if l.cfg.Trace != nil && l.cfg.Trace.Enabled() {
		var b bounded
		if _, err := l.cfg.Trace.WriteTo(&b); err == nil {
			list = append(list, dumps.Companion{Name: "trace.out", Data: b.data})
		}
	}
	return list
}

// maxTrace bounds the execution trace beside a dump. A flight recorder holds
// about ten megabytes by default.
const maxTrace = 16 << 20

// bounded is a buffer that refuses to grow without end.
type bounded struct{ data []byte }

func (b *bounded) Write(p []byte) (int, error) {
	if len(b.data)+len(p) > maxTrace {
		return 0, errors.New("trace is too large")
	}
	b.data = append(b.data, p...)
	return len(p), nil
}

// startTrace starts a recorder that the host has made but not started.
func (l *looper) startTrace() (ours bool) {
	if l.cfg.Trace == nil || l.cfg.Trace.Enabled() {
		return false
	}
	if err := l.cfg.Trace.Start(); err != nil {
		l.emit(Event{Name: eventDegraded, Message: "no execution trace beside dumps: " + err.Error()})
		return false
	}
	return true
}

func (l *looper) stopTrace(ours bool) {
	if ours {
		l.cfg.Trace.Stop()
	}
}
