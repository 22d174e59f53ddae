package guard

import (
	"cmp"
	"context"
	"encoding/json"
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

// maxOffered is how many dumps that are not recent are remembered: all that the default
// retention keeps.
const maxOffered = 64

// A dump is a profile of a budget that was offered to the store.
type dump struct {
	id    dumps.ID
	of    *entry
	at    time.Time     // the end of its window
	shows []string      // offenders
	ended chan struct{} // closed when it was saved or has failed
	kept  bool          // saved, and not removed since

	violation time.Duration // when its alert began to fire; 0: it did not
	severity  float64       // how far over the limit it is
}

// dump offers the profile of a failing window to the store, and returns nil if there is
// to be none. One that the store refuses has ended.
//
// Of a figure it is the profile that found, if any, says what it is made of, and
// the CPU profile of its window goes beside it; without one it is what ran.
func (l *looper) dump(j *judgement, found *breakdown, w *profiler.Window) *dump {
	e := j.entry
	kind := kindOf(&e.rule)
	if kind == kindFigures {
		kind = kinds.CPU
	}
	files := []dumps.File{profileFile(kind, j.data)}
	if found != nil && found.data != nil {
		files = []dumps.File{profileFile(found.kind, found.data), files[0]}
	}
	if l.store == nil || len(files[0].Data) == 0 || !l.dumpDue(e, first(&j.result), j.end) {
		return nil
	}
	for _, f := range l.companions() {
		if f.Name != files[0].Name {
			files = append(files, f)
		}
	}
	d := dumps.Dump{Name: e.Name, Start: w.Start, End: j.end}
	d.Files = slices.DeleteFunc(files, func(f dumps.File) bool { return len(f.Data) == 0 })
	beside := e.status(l.Guard)
	beside.History = nil
	var err error
	d.Budget, err = json.Marshal(&beside)
	// The lock keeps dumped from running before the dump is where it looks.
	l.mu.Lock()
	defer l.mu.Unlock()
	offered := &dump{of: e, at: j.end, severity: j.result.Share / cmp.Or(j.result.Limit, 1), ended: make(chan struct{})}
	for i := range j.result.Offenders {
		offered.shows = append(offered.shows, j.result.Offenders[i].Function)
	}
	if e.alert.State == alert.Firing {
		offered.violation = e.alert.Since
		d.Mark = l.markOf(offered)
	}
	if err == nil {
		offered.id, err = l.seams.offer(l.store, d)
	}
	if err != nil {
		l.dumpsFail(err)
		close(offered.ended)
		return offered
	}
	spare := len(l.offered) - maxOffered
	l.offered = slices.DeleteFunc(l.offered, func(d *dump) bool {
		spare--
		return spare >= 0 && j.end.Sub(d.at) >= l.cfg.Keep.every()
	})
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
	ctx, giveUp := context.WithTimeout(ctx, dumpPatience)
	defer giveUp()
	for _, d := range offered {
		await(ctx, d.ended)
	}
}

// first is the name of the worst offender, "" without any.
func first(r *budget.Result) string {
	if len(r.Offenders) == 0 {
		return ""
	}
	return r.Offenders[0].Function
}

// has reports whether the dump shows an offender. One without any shows that.
func (d *dump) has(offender string) bool {
	return slices.Contains(d.shows, offender) || offender == "" && d.shows == nil
}

// dumpDue reports whether there is to be a dump of an offender: not of one that a
// recent dump shows. That a new one comes too soon after the last is counted, unless the
// alert has just begun to fire: the event is to have its profile.
func (g *Guard) dumpDue(e *entry, offender string, at time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	var last time.Time
	begins := e.alert.State == alert.Firing
	for _, d := range g.offered {
		if d.of != e {
			continue
		}
		begins = begins && d.violation != e.alert.Since
		if last = d.at; at.Sub(last) < g.cfg.Keep.every() && d.has(offender) {
			return false
		}
	}
	if !begins && at.Sub(last) < g.cfg.Keep.least() {
		g.status.Dumps[tooSoon]++
		return false
	}
	return true
}

// nameDump names in an event the budget's last dump, if it was saved, is recent and
// shows the same offender: of this window, of a failing one that led to this one, or of a
// violation just before. No other is named. g.mu must be held.
func (g *Guard) nameDump(n *Event, e *entry) {
	for _, d := range slices.Backward(g.offered) {
		if d.of != e || !d.kept || n.Time.Sub(d.at) > g.cfg.Keep.every() || !d.has(first(&n.Result)) {
			continue
		}
		if n.Dump, n.Dumped = string(d.id), d.at; d.at.Before(n.Time) {
			n.Message += "; the dump is of an earlier window that failed, which ended at " + d.at.Format(time.TimeOnly)
		}
		return
	}
}

// dumped is called by the store's goroutine when a dump has ended, and when others were
// removed: what nobody can download is not to be named.
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
		g.dumpsFail(o.Err)
	} else if o.ID != "" {
		g.status.Dumps["saved"]++
		g.faults.clear("dumps")
	}
}

// dumpsFail counts a failure and says so, once an hour for each reason. g.mu must be
// held.
func (g *Guard) dumpsFail(err error) {
	reason := dumps.Reason(err)
	g.status.Dumps[reason]++
	g.degraded("dumps", reason, "a dump was not kept: "+err.Error())
}

// dumpsAWindow bounds what a window may cost in which everything breaks at once:
// the first budgets to fail are kept, the others have their turn in the next.
const dumpsAWindow = 4

// companions are what helps to understand a profile: where all goroutines were,
// and what the program did in the seconds before. They are the same for all dumps of a
// window.
func (l *looper) companions() []dumps.File {
	if l.beside != nil {
		return l.beside
	}
	p, _ := l.kinds.taker.Take(kinds.Goroutine) // without it the dump is one file less
	l.beside = []dumps.File{profileFile(kinds.Goroutine, p.Data)}
	if data := l.trace(); len(data) > 0 {
		l.beside = append(l.beside, dumps.File{Name: "trace.out", Data: data})
	}
	return l.beside
}

func profileFile(kind string, data []byte) dumps.File {
	return dumps.File{Name: kind + ".pb.gz", Data: data}
}
