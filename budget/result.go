package budget

import "fmt"

// A Verdict is what a profile says about a budget. The zero Verdict is
// [Inconclusive]: what has not been shown is never a pass.
type Verdict int

const (
	Inconclusive Verdict = iota // the samples do not suffice to tell, or there is nothing to tell from
	Pass                        // the budget is kept
	Fail                        // the budget is exceeded, beyond reasonable doubt
)

// String returns "inconclusive", "pass" or "fail".
func (v Verdict) String() string {
	switch v {
	case Inconclusive:
		return "inconclusive"
	case Pass:
		return "pass"
	case Fail:
		return "fail"
	}
	return fmt.Sprintf("Verdict(%d)", int(v))
}

// MarshalText returns the String of v, also for JSON.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// A Result is the verdict on one budget, with the numbers behind it.
type Result struct {
	Budget  Budget  `json:"budget"` // as its sentence
	Verdict Verdict `json:"verdict"`

	// Share is what was measured, in the unit of the limit's base: from 0 to 1
	// for shares and points, cores, seconds, bytes or a count. For "no function"
	// budgets it is the worst function's. Low and High are its bounds: the truth
	// is below Low with a chance of one in a million, above High with one in a
	// thousand, or for an "absent" budget one in twenty. Where another function proves
	// that the limit is exceeded, and the first offender is named because it is called
	// by that one, Low errs with one in twenty, and the Reason says "likely". What is
	// counted and not sampled (goroutines, figures) has bounds equal to Share.
	//
	// Growth per unit of work of what the baseline has nothing of has no number:
	// Share is then what it would be, had the baseline one sample of it, and High
	// is 1e15.
	Share float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`

	// Limit is the budget's limit in the same unit, 0 for a budget without one,
	// and Unit its name: "ratio", "cores", "seconds", "bytes" or "count".
	Limit float64 `json:"limit"`
	Unit  string  `json:"unit,omitempty"`

	// Samples is what the verdict rests on, and Hits how many of them were
	// charged to the budget. Both can be added up over windows and processes.
	// They are whole numbers of CPU samples; of sampled bytes and delays, whose
	// samples weigh differently, they are what they are worth in equal ones.
	Samples int64 `json:"samples"`
	Hits    int64 `json:"hits"`

	// Offenders are the functions (or packages) over the limit, worst chain
	// first, and in a chain the deepest first; at most a few. Of a Fail they are
	// those that are over it beyond doubt, of an Inconclusive result those that
	// were measured above it; a Pass has none.
	Offenders []Offender `json:"offenders,omitempty"`
	// Over is how many functions are over the limit in all, listed or not.
	Over int `json:"over"`

	// Reason says in one sentence why the verdict is what it is.
	Reason string `json:"reason,omitempty"`

	// Idle is set when the budget's "when" did not hold, so that nothing was judged.
	Idle bool `json:"idle,omitempty"`
}

// An Offender is a function, or a package, over the limit.
type Offender struct {
	Frame         // the function, at its costliest line
	Low   float64 `json:"low"`
	High  float64 `json:"high"`

	// Blame is the frame nearest to the offender in the user's own module that has
	// at least half of it, at the line of the call, with its Share; the offender
	// itself if it is the user's. Its Function is "" when no frame has half.
	Blame Frame `json:"blame,omitzero"`
	// Callers are the costliest way in: the caller first, up to the outermost of the own module.
	Callers []Frame `json:"callers,omitempty"`
	// Callees are where most of it goes on to: the offender's callee first.
	Callees []Frame `json:"callees,omitempty"`
}

// A Frame is a function at a line, and what passes through it.
type Frame struct {
	Function string  `json:"function"`
	File     string  `json:"file,omitempty"`
	Line     int     `json:"line,omitempty"`
	Share    float64 `json:"value"`         // in the unit of the Result's Share
	Value    float64 `json:"amount"`        // in seconds, bytes, or a count
	Own      bool    `json:"own,omitempty"` // of the program's own module
}
