package alert

import "strconv"

// State is where an alert stands. The zero value is [Inactive].
type State int

// The states of an alert.
const (
	Inactive State = iota // nothing is wrong, or nothing is known
	Pending               // failing, but not yet long enough
	Firing                // the budget is broken
	Resolved              // it was firing and has recovered; the next passing window makes it inactive
)

// String returns the state in lower case, or State(7) for an unknown one.
func (s State) String() string {
	switch s {
	case Inactive:
		return "inactive"
	case Pending:
		return "pending"
	case Firing:
		return "firing"
	case Resolved:
		return "resolved"
	}
	return "State(" + strconv.Itoa(int(s)) + ")"
}

// Event says which transition a step made, if it is one worth telling. A
// pending alert that comes to nothing, and a resolved one that becomes inactive,
// are not.
type Event int

// The events. The last three end an alert, and say by what.
const (
	None          Event = iota
	BecamePending       // worth a debug line
	Fired               // worth waking somebody
	Passed              // three periods passed
	Proven              // all windows since it fired prove together that the excess is over
	WentIdle            // the budget's condition has not held for five periods
)

// Ends reports whether the event is the end of an alert.
func (e Event) Ends() bool { return e == Passed || e == Proven || e == WentIdle }

// String returns the event in lower case, or Event(7) for an unknown one.
func (e Event) String() string {
	switch e {
	case None:
		return "none"
	case BecamePending:
		return "pending"
	case Fired:
		return "firing"
	case Passed:
		return "passed"
	case Proven:
		return "proven"
	case WentIdle:
		return "idle"
	}
	return "Event(" + strconv.Itoa(int(e)) + ")"
}
