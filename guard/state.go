package guard

import "github.com/profguard/profguard/internal/alert"

// A State is the state of a budget in a guard. The zero State is [StateNoData], so that no budget
// counts as kept without proof.
type State int

const (
	// StateNoData: nothing was judged for 60 periods (an hour by default) or ever, or "when" has not held for 5
	// periods. There was no good window, no sample within "in" and "where", or no unit of work.
	StateNoData State = iota
	// StateUndecided: windows are judged, and they do not prove that the budget is kept.
	StateUndecided
	// StateOK: the budget is kept. A window that passes within the limit, or all windows together, have
	// proven it in the last 360 periods (6 hours by default). A window above the limit since then ends this state, unless
	// all windows together still prove that the budget is kept.
	StateOK
	// StatePending: the budget fails, but not yet for long enough.
	StatePending
	// StateFiring: the budget is broken.
	StateFiring
)

// String returns "no data", "undecided", "ok", "pending" or "firing", or State(7) for an unknown
// one.
func (s State) String() string { return alert.State(s).String() }

// MarshalText returns the String of s, also for JSON.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the text of MarshalText. Any other text, such as that of a later
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
