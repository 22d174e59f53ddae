package alert

import "strconv"

// Evidence is what all windows together say about a budget. It is a level, not
// an edge: a detector that has alarmed says [Alarm] until it has [Recovered].
// The zero value is [Open].
type Evidence int

// The levels of evidence.
const (
	Open      Evidence = iota // nothing decided
	Rising                    // on the way to an alarm, as the detector sees fit to say
	Alarm                     // the budget is broken, beyond the detector's doubt
	Recovered                 // the budget holds, beyond the detector's doubt
)

// String returns the evidence in lower case, or Evidence(7) for an unknown one.
func (e Evidence) String() string {
	switch e {
	case Open:
		return "open"
	case Rising:
		return "rising"
	case Alarm:
		return "alarm"
	case Recovered:
		return "recovered"
	}
	return "Evidence(" + strconv.Itoa(int(e)) + ")"
}
