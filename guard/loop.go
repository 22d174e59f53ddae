package guard

import (
	"context"
	"slices"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/pace"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/profiles"
)

// A looper is the guard's own goroutine: it waits for the next window, takes it, judges it,
// and emits events. Only that goroutine uses its fields.
type looper struct {
	*Guard
	decoder      decode.Decoder
	work         *workCounters
	pace         pace.Pace
	backoff      time.Duration // of the CPU profiler
	free         time.Time     // when the CPU profiler is tried again
	panicked     int           // windows in a row
	kinds        kindTaker
	own          threadClock           // in this window
	parts        profiles.Taker        // for the parts of figures, apart from the windows of kinds
	breakdowns   map[string]*breakdown // by kind, in this window
	judged       *budgets              // of the last window
	last         process.Snapshot      // at the end of the last window
	heap         heapMeter
	lastPeriod   process.Snapshot // at the end of the last period of counters; zero before
	store        *dumps.Store     // for the dumps of this window, or nil
	furtherFiles []dumps.File     // the companions of the dumps of this window; nil before the first dump
	began        time.Time        // when the last window began
	untraced     bool             // Config.Trace has failed and is not called again
}

func newLooper(g *Guard) *looper {
	now := g.seams.snap()
	l := &looper{
		Guard: g, work: newWorkCounters(g.cfg.Work, g.cfg.Registerer), kinds: kindTaker{profile: g.seams.profile, work: map[string]readings{}, due: map[string]time.Time{}, taken: map[string]decode.Source{}}, last: now, heap: heapMeter{rested: now},
		pace:       pace.Pace{Every: g.cfg.Every, Window: g.cfg.Window, Random: g.seams.random},
		breakdowns: map[string]*breakdown{},
	}
	l.kinds.taker.Decoder, l.parts.Decoder = &l.decoder, &l.decoder
	return l
}

func (g *Guard) loop(ctx context.Context) {
	l := newLooper(g)
	defer l.kinds.taker.Close()
	defer l.parts.Close()
	next := time.Now().Add(l.pace.First())
	for {
		early, ok := l.wait(ctx, next)
		if !ok {
			return
		}
		l.began = time.Now()
		if err := recovered(func() { l.takeWindow(ctx, early) }); err == nil {
			l.panicked = 0
		} else {
			l.notePanic("loop")
			if l.panicked++; l.panicked == panicLimit {
				l.giveUp(err)
				return
			}
		}
		next = l.next(time.Now())
	}
}

// next is the start of the next window. While other code has the CPU profiler, windows without
// it go on for the budgets that do not need it. While a budget is pending, or fires and may be
// over, it is after half a window, so that a person at /debug/pprof can take a profile in between.
func (l *looper) next(now time.Time) time.Time {
	at, soon := l.pace.Next(l.began, now), now.Add(l.cfg.Window/2)
	switch {
	case now.Before(l.free):
		if l.free.Before(at) {
			at = l.free
		}
	case soon.Before(at) && l.hurries() && l.pace.Extra(now):
		at = soon
	}
	if until, _ := l.pace.Paused(now); until.After(at) {
		return until
	}
	return at
}

// hurries reports whether extra windows help to decide about a budget: one that is pending, or
// fires and may be over.
func (l *looper) hurries() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.budgets.entries, func(e *entry) bool {
		return e.alert.Hurries() && !e.needs.Periodic && e.Budget.ForWindows == 0 && e.Budget.ForTime == 0
	})
}

// wait sleeps until the next window is due, or the process's CPU jumps. It reports false when
// the guard stops.
func (l *looper) wait(ctx context.Context, next time.Time) (early, ok bool) {
	due := time.NewTimer(max(time.Until(next), 0))
	defer due.Stop()
	tick := time.NewTicker(pace.Tick)
	defer tick.Stop()
	l.pace.Restart(l.seams.snap())
	l.mu.Lock()
	l.status.Next = next
	l.mu.Unlock()
	for {
		select {
		case <-ctx.Done():
			return false, false
		case <-due.C:
			return false, true
		case <-tick.C:
			if l.pace.Jumped(l.seams.snap()) && l.backoff == 0 {
				return true, true
			}
		}
	}
}

// giveUp ends a guard that panics again and again.
func (l *looper) giveUp(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status.State = Stopped
	l.degraded("loop", "panics", "profguard gave up after three panics in a row: "+err.Error())
}
