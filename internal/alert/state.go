package alert

import "strconv"

// State is the state of an alert. The zero value is [Inactive].
type State int

// The states of an alert.
const (
	Inactive State = iota // the budget is kept, or nothing is known
	Pending               // the budget fails, but not yet long enough
	Firing                // the budget is broken
	Resolved              // it was firing and has recovered; the next window that passes makes it inactive
)

// String returns the state in lower case, or State(7) for an unknown one.
func (s State) String() string {
	if names := [...]string{"inactive", "pending", "firing", "resolved"}; s >= 0 && int(s) < len(names) {
		return names[s]
	}
	return "State(" + strconv.Itoa(int(s)) + ")"
}

// Event is a transition that is reported: the begin and the end of an alert that fires.
type Event int

// The events. Those from Passed on end an alert, and say why.
const (
	None     Event = iota
	Fired          // worth an alarm
	Passed         // three periods passed
	Proven         // all windows since it fired prove together that the excess is over
	Unproven       // growth is not proven any more, and the baseline is too small to disprove it
	Unjudged       // the budget's condition has not held for five periods, or there was nothing to judge for sixty
)

// Ends reports whether the event is the end of an alert.
func (e Event) Ends() bool { return e >= Passed && e <= Unjudged }
