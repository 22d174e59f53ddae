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
	return name("State", int(s), "inactive", "pending", "firing", "resolved")
}

// Event says which transition a step made, if it is one worth telling. A
// pending alert that comes to nothing, and a resolved one that becomes inactive,
// are not.
type Event int

// The events. Those from Passed on end an alert, and say by what.
const (
	None          Event = iota
	BecamePending       // worth a debug line
	Fired               // worth waking somebody
	Passed              // three periods passed
	Proven              // all windows since it fired prove together that the excess is over
	Unproven            // growth is not proved any more, by a baseline too small to disprove it
	WentIdle            // the budget's condition has not held for five periods
	Unjudged            // there was nothing to judge for sixty periods
)

// Ends reports whether the event is the end of an alert.
func (e Event) Ends() bool { return e >= Passed && e <= Unjudged }

// String returns the event in lower case, or Event(7) for an unknown one.
func (e Event) String() string {
	return name("Event", int(e), "none", "pending", "firing", "passed", "proven", "unproven", "idle", "unjudged")
}

func name(what string, i int, names ...string) string {
	if i >= 0 && i < len(names) {
		return names[i]
	}
	return what + "(" + strconv.Itoa(i) + ")"
}
