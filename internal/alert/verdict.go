package alert

import "strconv"

// Verdict is what one window by itself said about a budget. The zero value is
// [Inconclusive].
type Verdict int

// The verdicts of a window.
const (
	Inconclusive Verdict = iota
	Pass
	Fail
)

// String returns the verdict in lower case, or Verdict(7) for an unknown one.
func (v Verdict) String() string {
	switch v {
	case Inconclusive:
		return "inconclusive"
	case Pass:
		return "pass"
	case Fail:
		return "fail"
	}
	return "Verdict(" + strconv.Itoa(int(v)) + ")"
}

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
