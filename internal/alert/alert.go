package alert

import (
	"time"

	"github.com/profguard/profguard/internal/evidence"
)

// Alert is the alert of one budget between two windows. The zero value is an
// inactive alert. It holds no pointers and may be compared and copied.
//
// Times are monotonic: durations since an instant that the caller chose, the
// same one for all steps.
type Alert struct {
	State State
	Since time.Duration    // when State was entered
	Last  evidence.Verdict // what the last window said
	Fails int              // failing windows in a row; inconclusive ones do not interrupt it

	Firings int           // how often it has fired
	FiredAt time.Duration // when it last fired; meaningless while Firings is 0
}

// For is how long a budget must fail before its alert fires. The zero value
// means that the budget has no `for`. If both are set, both must be met.
type For struct {
	Windows int           // failing windows in a row
	Time    time.Duration // from the first failing window to the last
}

// Input is what one step is decided from.
type Input struct {
	Window   evidence.Verdict // of the last window by itself
	Evidence Evidence         // of all windows, the last one included
	For      For
	Proof    bool // one hit is proof: a failing window needs no further evidence
}

// Next returns the alert after a window, and what happened. It depends on
// nothing but its arguments. Values that it does not know count as
// inconclusive, open and inactive.
func (a Alert) Next(in Input, now time.Duration) (Alert, Event) {
	a.Last = in.Window
	switch in.Window {
	case evidence.Fail:
		a.Fails++
	case evidence.Pass:
		a.Fails = 0
	}
	if in.For != (For{}) {
		return a.afterRow(in, now)
	}
	return a.afterEvidence(in, now)
}

// afterRow is the step of a budget with a `for`: windows in a row decide.
func (a Alert) afterRow(in Input, now time.Duration) (Alert, Event) {
	switch in.Window {
	case evidence.Pass:
		return a.afterPass(now)
	case evidence.Fail:
		if a.State == Firing {
			return a, None
		}
		// A first failure starts the clock of `for 5m`, so an alert that was not
		// pending has been failing for no time at all.
		var failing time.Duration
		if a.State == Pending {
			failing = now - a.Since
		}
		if a.Fails >= in.For.Windows && failing >= in.For.Time {
			return a.fire(now)
		}
		return a.pend(now)
	}
	return a, None
}

// afterEvidence is the step of a budget without a `for`.
func (a Alert) afterEvidence(in Input, now time.Duration) (Alert, Event) {
	proven := in.Proof && in.Window == evidence.Fail
	if a.State == Firing {
		// The detector's word stands over a single window's: a window that passes
		// in the middle of an alarm would otherwise make it flap. Only where one
		// hit is proof does one clean window, which is as strong, undo it.
		recovered := in.Evidence == Recovered || in.Proof && in.Window == evidence.Pass && in.Evidence != Alarm
		if recovered && !proven {
			return a.enter(Resolved, now), Recovery
		}
		return a, None
	}
	switch {
	case proven, in.Evidence == Alarm:
		return a.fire(now)
	case in.Window == evidence.Fail, in.Evidence == Rising:
		return a.pend(now)
	case in.Window == evidence.Pass:
		return a.afterPass(now)
	}
	return a, None
}

// afterPass is the way back, one state a window.
func (a Alert) afterPass(now time.Duration) (Alert, Event) {
	switch a.State {
	case Firing:
		return a.enter(Resolved, now), Recovery
	case Inactive:
		return a, None
	}
	return a.enter(Inactive, now), None
}

func (a Alert) pend(now time.Duration) (Alert, Event) {
	if a.State == Pending {
		return a, None
	}
	return a.enter(Pending, now), BecamePending
}

func (a Alert) fire(now time.Duration) (Alert, Event) {
	a.Firings++
	a.FiredAt = now
	return a.enter(Firing, now), Fired
}

func (a Alert) enter(s State, now time.Duration) Alert {
	a.State, a.Since = s, now
	return a
}
