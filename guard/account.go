package guard

import (
	"fmt"
	"time"

	"github.com/profguard/profguard/internal/process"
)

// account adds up what the window cost and lets the governor judge the guard.
func (l *looper) account(cost time.Duration, after process.Snapshot) {
	l.cost = cost
	share, rest := l.governor.spent(cost, after.At.Sub(l.last.At), after.At)
	until, paused := l.governor.paused(after.At)
	was := l.enter(cost, share, paused, until)
	switch {
	case was == stateStopped: // Stop did not wait for this window
	case rest && was != statePaused:
		l.emit(Event{Name: eventPaused, Message: fmt.Sprintf("profguard rests for %v: its own cost was %.1f%% of a core", restFor, 100*share)})
	case was == statePaused && !paused:
		l.emit(Event{Name: eventResumed, Message: "profguard goes on"})
	}
}

// enter notes a cost, and whether the guard rests for it, and returns the state
// before.
func (l *looper) enter(cost time.Duration, share float64, paused bool, until time.Time) (was string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was = l.status.State
	l.status.CPU += cost
	l.status.CostShare = share
	if was == stateStopped {
		return was
	}
	l.status.State = stateRunning
	if paused {
		l.status.State, l.status.PausedUntil = statePaused, until
		l.faults.note("cost", fmt.Sprintf("profguard's own cost was %.1f%% of a core, the most is %.0f%%", 100*share, 100*restShare))
	} else if was == statePaused {
		l.status.PausedUntil = time.Time{}
		l.faults.clear("cost")
	}
	return was
}
