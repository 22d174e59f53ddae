package guard

import (
	"context"
	"slices"
	"time"

	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/process"
)

// A looper is the guard's own goroutine: it waits for the next window, takes it,
// judges it, tells what has changed. Nobody else uses its fields.
type looper struct {
	*Guard
	decoder    decode.Decoder
	work       *workCounters
	governor   governor
	jumps      jumps
	backoff    time.Duration // of the CPU profiler
	free       time.Time     // when the CPU profiler is tried again
	trips      breaker
	kinds      *kindTaker
	breakdowns breakdowns
	judged     *panel           // with which the last window was
	last       process.Snapshot // at the end of the last window
	completed  time.Time        // the end of the last period that counters were compared over
	closer     alert.Closer
	cost       time.Duration // of the last window
	store      *dumps.Store  // where dumps go in this window, or nil
	dumping    windowDumps
	began      time.Time // when the last window began
}

func newLooper(g *Guard) *looper {
	return &looper{
		Guard: g, work: newWorkCounters(g.cfg.Work, g.cfg.Registerer), kinds: newKindTaker(), last: g.seams.snap(),
		breakdowns: breakdowns{taken: map[string]breakdown{}},
	}
}

func (g *Guard) loop(ctx context.Context) {
	l := newLooper(g)
	defer l.kinds.close()
	defer l.breakdowns.taker.Close()
	defer l.startTrace()()
	next := time.Now().Add(l.firstWait())
	l.announce(next)
	for {
		early, ok := l.wait(ctx, next)
		if !ok {
			return
		}
		l.began = time.Now()
		if err := recovered(func() { l.window(ctx, early) }); err != nil {
			l.notePanic("loop")
			if l.trips.trip(time.Now()) {
				l.giveUp(err)
				return
			}
		}
		next = l.next(time.Now())
		l.announce(next)
	}
}

// firstWait is short: many processes live for minutes only. A fleet that starts at once
// is still spread over a tenth of the period.
func (l *looper) firstWait() time.Duration {
	return min(l.fraction(l.cfg.Every-l.cfg.Window), l.cfg.Every/10)
}

func (l *looper) fraction(d time.Duration) time.Duration {
	return time.Duration(l.seams.random() * float64(max(d, 0)))
}

// next is when the next window starts: a period after the last one did, give or
// take a quarter of the time between windows. These random steps add up, so that
// neither a fleet nor a cron job of the host stays in step with the windows, and whole
// periods that a suspended machine slept through are not made up for.
//
// While somebody else has the CPU profiler, windows without it go on for the
// budgets that do not need it.
func (l *looper) next(now time.Time) time.Time {
	every := l.cfg.Every * time.Duration(l.governor.stretch())
	slack := max(every-l.cfg.Window, 0)
	at := l.began.Add(every - slack/4 + l.fraction(slack/2))
	if at.Before(now) {
		at = now
	}
	switch {
	case !now.Before(l.free):
		at = l.sooner(at, now)
	case l.judged == nil || l.judged.only(kinds.CPU) || l.free.Before(at):
		at = l.free
	}
	if l.governor.until.After(at) {
		return l.governor.until
	}
	return at
}

// sooner is when the next window starts while a budget is pending: after half a window,
// so that a person at /debug/pprof can take a profile in between, if there is time for it.
func (l *looper) sooner(at, now time.Time) time.Time {
	soon := now.Add(l.cfg.Window / 2)
	costly := l.governor.stretch() > 1 || float64(l.cost) > slowShare*float64(l.cfg.Window*3/2)
	if !soon.Before(at) || costly || !l.pending() || !l.closer.Allows(now.Sub(l.started), l.cfg.Window*3/2) {
		return at
	}
	return soon
}

// pending reports whether a budget is pending of which close windows tell more.
func (l *looper) pending() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.panel.entries, func(e *entry) bool {
		return e.alert.State == alert.Pending && !isCounted(e.rule) && e.Budget.ForWindows == 0 && e.Budget.ForTime == 0
	})
}

// announce says when the next window starts.
func (l *looper) announce(next time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status.Next = next
}

// wait sleeps until the next window is due, or a jump of the process's CPU asks
// for one at once. It reports false when the guard is to stop.
func (l *looper) wait(ctx context.Context, next time.Time) (early, ok bool) {
	due := time.NewTimer(max(time.Until(next), 0))
	defer due.Stop()
	tick := time.NewTicker(jumpTick)
	defer tick.Stop()
	l.jumps.restart(l.seams.snap())
	for {
		select {
		case <-ctx.Done():
			return false, false
		case <-due.C:
			return false, true
		case <-tick.C:
			if l.jumps.look(l.seams.snap(), l.cfg.Every) && !l.governor.paused(time.Now()) && l.backoff == 0 {
				return true, true
			}
		}
	}
}

// giveUp ends a guard that panics again and again.
func (l *looper) giveUp(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status.State = stateStopped
	l.degraded("loop", "panics", "profguard gave up after three panics in ten minutes: "+err.Error())
}

const (
	// jumpTick is how often the process's CPU is looked at: one read of 4 us.
	jumpTick = time.Second
	// A second counts as a jump when it used jumpFactor times the usual, and
	// jumpCores more. A collection in a small process stays below a quarter of a core.
	jumpFactor = 2
	jumpCores  = 0.25
	// jumpMemory is the weight of the past: the usual is about the last twenty
	// seconds.
	jumpMemory = 0.95
)

// jumps watches for jumps of the process's CPU, so that they are profiled while they
// last. It asks for at most one window a period, so a load that
// jumps all the time does not become a process that is profiled all the time.
type jumps struct {
	usual  float64
	known  bool
	before process.Snapshot
	last   time.Time // of those that asked for a window
}

// restart begins anew after a window, whose profile shows what happened in it.
func (j *jumps) restart(now process.Snapshot) { j.before = now }

// look takes one look and reports whether the CPU has jumped, for the first time in a
// period.
func (j *jumps) look(now process.Snapshot, every time.Duration) bool {
	f := process.Between(j.before, now)
	j.before = now
	if f.Elapsed <= 0 {
		return false
	}
	jumped := j.known && f.Cores > jumpFactor*j.usual && f.Cores > j.usual+jumpCores
	if j.known {
		j.usual = jumpMemory*j.usual + (1-jumpMemory)*f.Cores
	} else {
		j.usual, j.known = f.Cores, true
	}
	if !jumped || !j.last.IsZero() && now.At.Sub(j.last) < every {
		return false
	}
	j.last = now.At
	return true
}
