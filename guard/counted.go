package guard

import (
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/process"
)

// totals are the values of all counters at one moment.
type totals struct {
	process.Snapshot
	work readings
	own  allocations   // by the guard, since it began
	cost time.Duration // of reading work, estimated
}

// period returns the start of the period that a window from start to end completes. It
// reports false for a window that completes none: one that follows another closely, or that
// a jump of CPU has started early.
func (l *looper) period(start time.Time, end *process.Snapshot) (began time.Time, ok bool) {
	if began = l.lastPeriod.At; began.IsZero() {
		began = start
	} else if end.At.Sub(began) < l.cfg.Every*3/4 {
		return began, false
	}
	l.lastPeriod = *end
	return began, true
}

// count judges a budget that the process's counters decide about, over the time since it was last
// judged by them, which is returned, too. last is the finding on the window, and before are the
// counters at its start. It reports whether something was counted.
func (e *entry) count(last judge.Finding, figures map[string]float64, before, now *totals, every time.Duration) (f judge.Finding, since time.Time, ok bool) {
	from := e.counted
	if from.At.IsZero() {
		from = *before
	}
	host := allocationsOf(&from.Snapshot, &now.Snapshot).beyond(now.own.beyond(from.own))
	work, _ := between(from.work, now.work)
	used := judge.Usage{Elapsed: now.At.Sub(from.At), CPU: now.CPU - from.CPU, Bytes: host.bytes, Objects: host.objects, Work: work}
	f, ok, again := e.rule.Count(last, used, figures, every)
	if e.counted = from; !again {
		e.counted = *now
	}
	return f, from.At, ok
}

// gcOf sets the figure gc, or the reason why it is not known. The runtime counts the cost of a
// collection when it ends. If none has ended, the CPU profile of the window shows whether
// one was running. t is nil without a profile.
func gcOf(used *process.Figures, t *decode.Table, f *judge.Facts) {
	switch {
	case used.GCKnown:
		f.Figures["gc"] = used.GC
	case t != nil && !judge.Collects(t):
		f.Figures["gc"] = 0
	default:
		f.NoFigures = map[string]string{"gc": process.GCUnknown}
	}
}
