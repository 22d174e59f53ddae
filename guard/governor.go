package guard

import (
	"fmt"
	"time"

	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/profiler"
)

const (
	// Above slowShare of one core the guard halves its cadence; above restShare it
	// rests for a quarter of an hour. Below goodShare it comes back, a step a
	// window, so that it does not go to and fro.
	slowShare  = 0.01
	restShare  = 0.03
	goodShare  = 0.005
	restFor    = 15 * time.Minute
	maxStretch = 16

	// sampleCost is what one CPU sample costs the process: the signal, the
	// unwinding, the write to the profile's buffer. Measured at 2.1 to 3.5 us.
	sampleCost = 3500 * time.Nanosecond
	// A window costs the runtime 2.0 to 3.5 ms of CPU to start, symbolise and
	// compress, for profiles of some 20 KB; most of it goes with the size.
	sliceCost = time.Millisecond
	byteCost  = 100 * time.Nanosecond
	// The runtime wakes up ten times a second to empty the buffer, also an empty
	// one: 20 to 70 us, measured in a process that sleeps.
	wakeCost  = 40 * time.Microsecond
	wakeEvery = 100 * time.Millisecond
)

// profilingCost estimates what taking a CPU profile has cost the process. The
// work is spread over signal handlers and a goroutine of the runtime, where
// nobody can measure it.
func profilingCost(w *profiler.Window, used process.Figures) time.Duration {
	samples := used.CPU.Milliseconds() / 10
	made := time.Duration(w.Slices)*sliceCost + time.Duration(len(w.Data))*byteCost
	wakes := int64(0)
	if w.Slices > 0 {
		wakes = int64(w.Elapsed / wakeEvery)
	}
	return time.Duration(samples)*sampleCost + time.Duration(wakes)*wakeCost + made
}

// governSpan is the least time that a cost is judged over. Two windows say little about a
// rate: the first, which finds out what is linked, and one that a jump of CPU has started
// early. It is below the shortest distance between two windows at the defaults, so there
// each is judged by itself.
const governSpan = 30 * time.Second

// A governor keeps the guard's own cost within what it promised.
type governor struct {
	factor int // the cadence is stretched by this; 0 is 1
	until  time.Time

	// Since the last judgement.
	cost   time.Duration
	period time.Duration
}

func (g *governor) stretch() int { return max(g.factor, 1) }

func (g *governor) paused(now time.Time) bool { return now.Before(g.until) }

// spent takes what a period cost and how long it was. It returns the share of one
// core that the guard took lately.
func (g *governor) spent(cost, period time.Duration, now time.Time) (share float64) {
	if period <= 0 {
		return 0
	}
	g.cost += cost
	g.period += period
	share = float64(g.cost) / float64(g.period)
	if g.period < governSpan && g.cost <= time.Duration(restShare*float64(governSpan)) {
		return share // too early to tell
	}
	g.cost, g.period = 0, 0
	if share > restShare {
		g.until = now.Add(restFor)
	}
	if share > slowShare {
		g.factor = min(2*g.stretch(), maxStretch)
	} else if share < goodShare {
		g.factor /= 2
	}
	return share
}

// account adds up what a window cost, and rests or goes on by it.
func (l *looper) account(cost time.Duration, after process.Snapshot) {
	l.cost = cost
	share := l.governor.spent(cost, after.At.Sub(l.last.At), after.At)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status.CPU += cost
	l.status.CostShare = share
	switch was := l.status.State; {
	case was == stateStopped: // Stop did not wait for this window
	case l.governor.paused(after.At):
		l.status.State, l.status.PausedUntil = statePaused, l.governor.until
		l.faults.note("cost", fmt.Sprintf("profguard's own cost was %.1f%% of a core, the most is %.0f%%", 100*share, 100*restShare))
		if was != statePaused {
			l.emit(Event{Name: eventPaused, Message: fmt.Sprintf("profguard rests for %v: its own cost was %.1f%% of a core", restFor, 100*share)})
		}
	case was == statePaused:
		l.status.State, l.status.PausedUntil = stateRunning, time.Time{}
		l.faults.clear("cost")
		l.emit(Event{Name: eventResumed, Message: "profguard goes on"})
	}
}
