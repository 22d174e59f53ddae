package guard

import "github.com/profguard/profguard/internal/alert"

// A State is what a guard knows of a budget. The zero State is [StateNoData], so that nothing is
// taken for kept without proof.
type State int

const (
	// StateNoData: nothing was ever judged, or nothing for sixty periods (no good window, no sample
	// within "in" and "where", no unit of work), or the "when" has not held for five.
	StateNoData State = iota
	// StateUndecided: something is judged, and it is not proven that the budget is kept, or no
	// longer.
	StateUndecided
	// StateOK: the budget is kept. It was proven in the last 360 periods, by a window that passes with
	// a value within the limit or by all windows together, and no window since was above the limit
	// unless all of them prove it.
	StateOK
	// StatePending: the budget fails, but not yet long enough.
	StatePending
	// StateFiring: the budget is broken.
	StateFiring
)

// String returns "no data", "undecided", "ok", "pending" or "firing", or State(7) for an unknown
// one.
func (s State) String() string { return alert.State(s).String() }

// MarshalText returns the String of s, also for JSON.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText has written. Any other text, such as that of a later
// version, is StateNoData.
func (s *State) UnmarshalText(text []byte) error {
	*s = StateNoData
	for known := range StateFiring + 1 {
		if known.String() == string(text) {
			*s = known
		}
	}
	return nil
}

// gauge is the value of the metric: firing is 2, and what is not known to be kept is below zero.
func (s State) gauge() float64 { return float64(s - StateOK) }
