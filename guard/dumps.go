package guard

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/profiler"
)

// tooSoon is the result of a dump that was left out because it came too soon after another.
const tooSoon = "too_soon"

// dumpWait is how long the loop waits for the dumps of a window. A save takes
// milliseconds. If it takes more than two seconds, the events are sent without the ids of the
// dumps.
const dumpWait = 2 * time.Second

// maxOffered is the number of dumps that are remembered. It is more than are offered within
// Keep.Every, and more than are kept by default.
const maxOffered = 256

// A dump is a profile of a budget that was offered to the store.
type dump struct {
	id    dumps.ID
	of    *entry
	at    time.Time     // the end of its window
	shows string        // its first offender, "" without any
	ended chan struct{} // closed when it was saved or has failed
	kept  bool          // saved

	alerted  time.Duration // when its alert began to fire; 0 if it did not
	severity float64       // how far over the limit it is
}

// dump offers the profile of a failing window to the store. It returns nil if there is to be
// no dump. A dump that the store refuses is returned with ended closed.
//
// For a figure, the profile is the one of found, which shows the parts of the figure, with
// the CPU profile of the window beside it. Without found it is the CPU profile.
func (l *looper) dump(j *judgement, found *breakdown, w *profiler.Window) *dump {
	e := j.entry
	kind := cmp.Or(e.needs.Profile, kinds.CPU)
	kindsOf, profiles := []string{kind}, []decode.Source{j.profile}
	if found != nil && !found.profile.IsEmpty() {
		kindsOf, profiles = []string{found.kind, kind}, []decode.Source{found.profile, j.profile}
	}
	shows := e.worst(&j.result)
	if found != nil && found.err != nil {
		shows = "" // the offenders are of an earlier window
	}
	if l.store == nil || profiles[0].IsEmpty() || !l.dumpDue(e, shows, j.end) {
		return nil
	}
	var files []dumps.File
	for i, p := range profiles {
		files = append(files, profileFile(kindsOf[i], p))
	}
	for _, f := range l.further() {
		if f.Name != files[0].Name {
			files = append(files, f)
		}
	}
	d := dumps.Dump{Name: e.Name, Start: w.Start, End: j.end}
	d.Files = slices.DeleteFunc(files, func(f dumps.File) bool { return len(f.Data) == 0 })
	// With the lock, dumped can't run before the dump is in offered.
	l.mu.Lock()
	defer l.mu.Unlock()
	beside := e.status(l.Guard)
	beside.History, beside.Dump, beside.Dumped = nil, "", time.Time{}
	var err error
	d.Budget, err = json.Marshal(&beside)
	offered := &dump{of: e, at: j.end, shows: shows, severity: j.result.Value / cmp.Or(j.result.Limit, 1), ended: make(chan struct{})}
	if e.alert.State == alert.Firing {
		offered.alerted = e.alert.Since
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
	l.offered = append(l.offered[max(0, len(l.offered)+1-maxOffered):], offered)
	return offered
}

// markOf is the mark of a dump that is the first or the worst of its alert, or "". Dumps
// that were not saved do not count. g.mu must be held.
func (g *Guard) markOf(d *dump) string {
	mark := dumps.First
	for _, other := range g.offered {
		if other.of == d.of && other.alerted == d.alerted {
			if other.severity >= d.severity {
				return ""
			}
			mark = dumps.Worst
		}
	}
	return mark
}

// partsOf stands for the offenders of a budget on the process or a figure: they are parts of a
// whole, of which another leads in each window.
const partsOf = "parts"

// worst is the name of the worst offender, "" without any.
func (e *entry) worst(r *budget.Result) string {
	switch {
	case len(r.Offenders) == 0:
		return ""
	case e.rule.HasParts():
		return partsOf
	}
	return r.Offenders[0].Function
}

// dumpDue reports whether a dump of an offender is due, as [Keep] says. Dumps from before an
// alert do not stand for its first one: they have no mark, and the store removes them first.
func (g *Guard) dumpDue(e *entry, offender string, at time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	var last time.Time
	begins := e.alert.State == alert.Firing && !slices.ContainsFunc(g.offered, func(d *dump) bool { return d.of == e && d.alerted == e.alert.Since })
	for _, d := range g.offered {
		if d.of != e {
			continue
		}
		if last = d.at; at.Sub(last) < g.cfg.Keep.every() && d.shows == offender && !(begins && (d.alerted == 0 || offender == partsOf)) {
			return false
		}
	}
	if !begins && at.Sub(last) < g.cfg.Keep.least() {
		g.status.Dumps[tooSoon]++
		return false
	}
	return true
}

// nameDump sets the event's dump to the budget's last dump that was saved, is recent and
// shows the same offender: of this window, or of an earlier one that failed. g.mu must be
// held.
func (g *Guard) nameDump(n *Event, e *entry) {
	for _, d := range slices.Backward(g.offered) {
		if d.of != e || !d.kept || n.Time.Sub(d.at) > g.cfg.Keep.every() || d.shows != e.worst(&n.Result) {
			continue
		}
		if n.Dump, n.Dumped = string(d.id), d.at; d.at.Before(n.Time) {
			n.Message += "; the dump is of an earlier window that failed, which ended at " + d.at.Format(time.DateTime)
		}
		return
	}
}

// dumped is called by the store's goroutine when a dump was saved or has failed.
func (g *Guard) dumped(o dumps.Outcome) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, d := range g.offered {
		if d.id == o.ID && !d.kept {
			if d.kept = o.Err == nil; d.kept {
				d.of.Dump, d.of.Dumped = string(d.id), d.at
			}
			close(d.ended)
		}
	}
	if o.Err != nil { // the next failing window tries again
		g.offered = slices.DeleteFunc(g.offered, func(d *dump) bool { return d.id == o.ID })
		g.dumpsFail(o.Err)
	} else {
		g.status.Dumps["saved"]++
		g.faults.clear("dumps")
	}
}

// dumpsFail counts a failed dump, and emits an event once an hour for each reason. g.mu must
// be held.
func (g *Guard) dumpsFail(err error) {
	reason := dumps.Reason(err)
	g.status.Dumps[reason]++
	g.degraded("dumps", reason, "a dump was not kept: "+err.Error())
}

// dumpsAWindow limits the cost of a window in which many budgets fail: there are dumps of
// the first ones, and of the others after the next window.
const dumpsAWindow = 4

// further are further files that help to understand a profile: the goroutines, and the
// execution trace of the last seconds. They are the same for all dumps of a window.
func (l *looper) further() []dumps.File {
	if l.furtherFiles != nil {
		return l.furtherFiles
	}
	p, _ := l.kinds.taker.Take(kinds.Goroutine) // on an error the dump has one file less
	l.furtherFiles = []dumps.File{profileFile(kinds.Goroutine, p.Source)}
	if data := l.trace(); len(data) > 0 {
		l.furtherFiles = append(l.furtherFiles, dumps.File{Name: "trace.out", Data: data})
	}
	return l.furtherFiles
}

func profileFile(kind string, p decode.Source) dumps.File {
	return dumps.File{Name: kind + ".pb.gz", Data: p.Bytes()}
}

// traceMost is the most that Config.Trace may write. A flight recorder keeps 10 MiB by
// default.
const traceMost = 64 << 20

// trace is the execution trace of the last seconds, nil if there is none. Config.Trace is code
// of the host. If it panics, hangs or writes without end, it is not called again. An error costs
// the dumps of one window their trace: the recorder has one, for example, while the host writes a trace itself.
func (l *looper) trace() []byte {
	if l.cfg.Trace == nil || l.untraced {
		return nil
	}
	var written limited
	var failed error
	err := foreign(startWithin, func() error {
		if l.cfg.Trace.Enabled() {
			_, failed = l.cfg.Trace.WriteTo(&written)
		}
		return written.tooMuch
	})
	if err != nil {
		l.untraced = true // and it may still write to failed
	} else {
		err = failed
	}
	if err != nil {
		l.off("execution traces", fmt.Errorf("Config.Trace: %w", err))
		return nil
	}
	l.off("execution traces", nil)
	return written.data
}

// limited takes at most traceMost bytes, and remembers if there were more.
type limited struct {
	data    []byte
	tooMuch error
}

func (b *limited) Write(p []byte) (int, error) {
	if len(b.data)+len(p) > traceMost {
		b.tooMuch = fmt.Errorf("it writes more than %d MiB", traceMost>>20)
		return 0, b.tooMuch
	}
	b.data = append(b.data, p...)
	return len(p), nil
}
