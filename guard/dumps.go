package guard

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/dump"
	"github.com/profguard/profguard/internal/hub"
)

// defaultDumpEvery is the store's own default for the least time between two
// dumps of one budget.
const defaultDumpEvery = 10 * time.Minute

// dump offers the profile of a failing window to the store and returns the id
// that it will have, or "" if it will not be kept.
func (l *looper) dump(e *entry, r budget.Result, data []byte, w *hub.Window, at time.Time) string {
	every := l.cfg.Keep.Every
	if every == 0 {
		every = defaultDumpEvery
	}
	if l.dumps == nil || len(data) == 0 || !e.offered.IsZero() && at.Sub(e.offered) < every {
		return ""
	}
	d := dump.Dump{
		Profile: data,
		Sidecar: dump.Sidecar{
			Time: at, Budget: e.name, Sentence: e.budget.String(), Kind: kindOf(e.budget),
			Verdict: r.Verdict.String(), Share: r.Share, Low: r.Low, High: r.High, Limit: r.Limit, Samples: r.Samples, Reason: r.Reason,
			Window:    dump.Window{Start: w.Start, Seconds: w.Elapsed.Seconds(), Outcome: label(w.Outcome.String())},
			Violation: e.violated, Severity: severity(r),
		},
		Companions: l.companions(),
	}
	for _, o := range r.Offenders {
		side := dump.Offender{Name: o.Function, Share: o.Share, File: o.File, Line: o.Line}
		if o.Blame.Function != "" {
			side.CalledFrom = fmt.Sprintf("%s %s:%d", o.Blame.Function, o.Blame.File, o.Blame.Line)
		}
		d.Sidecar.Offenders = append(d.Sidecar.Offenders, side)
	}
	id, err := l.dumps.Offer(d)
	if err != nil {
		return ""
	}
	l.mu.Lock()
	e.offered = at
	l.mu.Unlock()
	return string(id)
}

// lastDump is the id of the budget's last dump, if it was saved.
func (l *looper) lastDump(e *entry) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return e.dump
}

// severity orders the dumps of a violation: how far over the limit it is.
func severity(r budget.Result) float64 {
	if r.Limit > 0 {
		return r.Share / r.Limit
	}
	return r.Share
}

// dumped is called by the store's goroutine when a dump has ended.
func (g *Guard) dumped(o dump.Outcome) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if o.Err == nil && o.ID != "" {
		for _, e := range g.panel.entries {
			if e.name == o.Budget {
				e.dump, e.dumped = string(o.ID), time.Now()
			}
		}
		return
	}
	if o.Err != nil && g.hourly.Say(dump.Reason(o.Err), time.Now()) {
		g.emit(Event{Name: eventDegraded, Message: "a dump was not kept: " + o.Err.Error()})
	}
}

// companions are what helps to understand a profile: where all goroutines were,
// and what the program did in the seconds before.
func (l *looper) companions() []dump.Companion {
	var list []dump.Companion
	if data, err := l.kinds.end("goroutine"); err == nil {
		list = append(list, dump.Companion{Name: "goroutine.pb.gz", Data: bytes.Clone(data)})
	}
	if l.cfg.Trace != nil && l.cfg.Trace.Enabled() {
		var b bounded
		if _, err := l.cfg.Trace.WriteTo(&b); err == nil {
			list = append(list, dump.Companion{Name: "trace.out", Data: b.data})
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
