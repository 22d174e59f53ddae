package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/profiler"
)

// defaultDumpEvery is the default of Keep.Every.
const defaultDumpEvery = 10 * time.Minute

// tooSoon is the result, in metrics and Status, of a dump that there was no time for.
const tooSoon = "too_soon"

// dumpPatience is how long the loop waits for the dumps of a window. A save takes
// milliseconds, so after two seconds the disk hangs, and what there is to tell is worth
// more than the profiles' ids.
const dumpPatience = 2 * time.Second

// A dump is a profile of a budget that was offered to the store.
type dump struct {
	id    dumps.ID
	of    *entry
	at    time.Time     // the end of its window
	shows []string      // offenders
	ended chan struct{} // closed when it was saved or has failed
	kept  bool          // saved, and not evicted since

	violation time.Duration // when its alert began to fire; 0: it did not
	severity  float64
}

// dump offers the profile of a failing window to the store, and returns nil if there is
// to be none.
//
// Of a figure it is the profile that found, if any, says what it is made of, and
// the CPU profile of its window goes beside it; without one it is what ran.
func (l *looper) dump(o *judgement, found *breakdown, w *profiler.Window) *dump {
	e, at, what := o.entry, o.end, offenders(o.result)
	profile := profileFile(kindOf(e.rule), o.data)
	var beside []dumps.File
	if kindOf(e.rule) == kindFigures {
		profile = profileFile(kinds.CPU, o.data)
		if found != nil {
			profile, beside = profileFile(found.kind, found.data), []dumps.File{profile}
		}
	}
	if l.store == nil || len(profile.Data) == 0 || !l.dumpDue(e, what[0], at) {
		return nil
	}
	d := dumps.Dump{Name: e.Name, Start: w.Start, End: at, Files: []dumps.File{profile}}
	for _, f := range append(beside, l.companions()...) {
		if len(f.Data) > 0 && f.Name != profile.Name {
			d.Files = append(d.Files, f)
		}
	}
	var err error
	d.Budget, err = json.Marshal(o.status(l.Guard))
	// The lock keeps dumped from running before the dump is where it looks.
	l.mu.Lock()
	defer l.mu.Unlock()
	offered := &dump{of: e, at: at, shows: what, severity: severity(o.result), ended: make(chan struct{})}
	if o.next.State == alert.Firing {
		offered.violation = o.next.Since
		d.Mark = l.markOf(offered)
	}
	if err == nil {
		offered.id, err = l.seams.offer(l.store, d)
	}
	if err != nil {
		l.dumpsFail("a dump was not kept: ", err)
		return nil
	}
	l.offered = slices.DeleteFunc(l.offered, func(d *dump) bool { return !d.kept && at.Sub(d.at) >= l.cfg.Keep.every() })
	l.offered = append(l.offered, offered)
	return offered
}

// markOf is whether a dump is the first or the worst of its violation. One that was not
// saved does not count. g.mu must be held.
func (g *Guard) markOf(d *dump) string {
	mark := dumps.First
	for _, other := range g.offered {
		if other.of == d.of && other.violation == d.violation {
			if other.severity >= d.severity {
				return ""
			}
			mark = dumps.Worst
		}
	}
	return mark
}

// awaitDumps waits until those of a window are saved, so that no event names a file that
// does not exist.
func awaitDumps(ctx context.Context, offered []*dump) {
	patience := time.NewTimer(dumpPatience)
	defer patience.Stop()
	for _, d := range offered {
		select {
		case <-d.ended:
		case <-patience.C:
			return
		case <-ctx.Done():
			return
		}
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
// recent dump shows, and not too many in a window. That a new one comes too soon after
// the last is counted.
func (l *looper) dumpDue(e *entry, worst string, at time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	var last time.Time
	for _, d := range l.offered {
		if d.of != e {
			continue
		}
		if last = d.at; at.Sub(last) < l.cfg.Keep.every() && slices.Contains(d.shows, worst) {
			return false
		}
	}
	if at.Sub(last) < l.cfg.Keep.least() {
		l.status.Dumps[tooSoon]++
		return false
	}
	l.dumping.made++
	return l.dumping.made <= dumpsAWindow
}

// dumpOf is the id of the budget's last dump, if it was saved, is recent and
// shows the same offender: of this window, of a failing one that led to this one, or of a
// violation just before. No other is named. end is the end of its window. g.mu must be
// held.
func (l *looper) dumpOf(e *entry, r budget.Result, at time.Time) (id string, end time.Time) {
	worst := offenders(r)[0]
	for _, d := range slices.Backward(l.offered) {
		if d.of == e && d.kept && at.Sub(d.at) <= l.cfg.Keep.every() && slices.Contains(d.shows, worst) {
			return string(d.id), d.at
		}
	}
	return "", time.Time{}
}

// name names a dump in an event, and says so where it is of an earlier window.
func (n *Event) name(id string, end time.Time) {
	if n.Dump, n.Dumped = id, end; end.Before(n.Time) && id != "" {
		n.Message += "; the dump is of an earlier window that failed, which ended at " + end.Format(time.TimeOnly)
	}
}

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
	for _, d := range g.offered {
		if slices.Contains(o.Removed, d.id) {
			d.kept = false
		}
		if d.id == o.ID && !d.kept {
			d.kept = o.Err == nil
			close(d.ended)
		}
	}
	if o.Err != nil { // the next failing window tries again
		g.offered = slices.DeleteFunc(g.offered, func(d *dump) bool { return d.id == o.ID })
	}
	switch {
	case o.Err != nil:
		g.dumpsFail("a dump was not kept: ", o.Err)
	case o.ID != "":
		g.status.Dumps["saved"]++
		g.faults.clear("dumps")
	}
}

// dumpsFail counts a failure and says so, once an hour for each reason. g.mu must be
// held.
func (g *Guard) dumpsFail(what string, err error) {
	reason := dumps.Reason(err)
	g.status.Dumps[reason]++
	g.degraded("dumps", reason, what+err.Error())
}

// dumpsAWindow bounds what a window may cost in which everything breaks at once:
// the first budgets to fail are kept, the others have their turn in the next.
const dumpsAWindow = 4

// windowDumps are the dumps of one window.
type windowDumps struct {
	made   int
	beside []dumps.File
}

// companions are what helps to understand a profile: where all goroutines were,
// and what the program did in the seconds before. They are the same for all dumps of a
// window.
func (l *looper) companions() []dumps.File {
	if l.dumping.beside == nil {
		l.dumping.beside = l.takeCompanions()
	}
	return l.dumping.beside
}

func (l *looper) takeCompanions() []dumps.File {
	list := []dumps.File{}
	if c := l.breakdowns.taken[kinds.Goroutine]; c.data != nil {
		list = append(list, profileFile(kinds.Goroutine, c.data))
	} else if p, err := l.kinds.taker.Take(kinds.Goroutine); err == nil {
		list = append(list, profileFile(kinds.Goroutine, p.Data))
	}
	if l.cfg.Trace != nil && l.cfg.Trace.Enabled() {
		var b bytes.Buffer // FlightRecorderConfig.MaxBytes bounds it
		if _, err := l.cfg.Trace.WriteTo(&b); err == nil {
			list = append(list, dumps.File{Name: "trace.out", Data: b.Bytes()})
		}
	}
	return list
}

func profileFile(kind string, data []byte) dumps.File {
	return dumps.File{Name: kind + ".pb.gz", Data: data}
}

// status is where the budget stands with this window, for the sidecar of a dump: without
// the windows before, and without callers and callees, which the profile beside it has.
func (o *judgement) status(g *Guard) BudgetStatus {
	e := *o.entry
	e.Verdicts, e.History = maps.Clone(e.Verdicts), nil
	e.add(*o) // the entry itself has it when the dump is saved
	s := e.status(g)
	s.History = nil
	s.Result.Offenders = slices.Clone(s.Result.Offenders)
	for i := range s.Result.Offenders {
		s.Result.Offenders[i].Callers, s.Result.Offenders[i].Callees = nil, nil
	}
	return s
}
