package budget

import "github.com/profguard/profguard/internal/evidence"

// A Verdict is what a profile proves about a budget. The zero Verdict is [Inconclusive], so
// that nothing passes without proof.
type Verdict int

const (
	Inconclusive Verdict = iota // there are too few samples, or nothing to judge
	Pass                        // the budget is kept
	Fail                        // the budget is exceeded; wrong one time in a million
)

// String returns "inconclusive", "pass" or "fail", or Verdict(7) for an unknown one.
func (v Verdict) String() string { return evidence.Verdict(v).String() }

// MarshalText returns the String of v, also for JSON.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads what MarshalText has written. Any other text, as of a later version, is
// Inconclusive.
func (v *Verdict) UnmarshalText(text []byte) error {
	*v = Inconclusive
	for _, known := range []Verdict{Pass, Fail} {
		if known.String() == string(text) {
			*v = known
		}
	}
	return nil
}

// A Result is the verdict on one budget, with the numbers behind it.
type Result struct {
	Budget  Budget  `json:"budget"` // as its sentence
	Verdict Verdict `json:"verdict"`

	// Value is the measured value, in the base unit of the limit: from 0 to 1 for shares
	// and points, or cores, seconds, bytes or a count. For "no function" budgets it is that
	// of the first offender or, without one, of the worst function. Low and High are its
	// bounds. The chance that the true value is below Low is one in a million; that it is
	// above High, one in a thousand, or for "absent" one in twenty. If the first offender is
	// named because another function proves that the limit is exceeded, Low is wrong one time
	// in twenty, and the Reason says "likely". For counted values (goroutines, figures) the
	// bounds equal Value.
	//
	// If the baseline has no sample of a function, its growth per unit of work has no
	// number. Value is then the growth over a baseline with one sample, and High is 1e15.
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`

	// Limit is the budget's limit in the same unit, 0 if it has none. Unit is the name of
	// that unit: "ratio", "cores", "s waited per second" (of mutex and block), "seconds",
	// "bytes" or "count".
	Limit float64 `json:"limit"`
	Unit  string  `json:"unit,omitempty"`

	// Samples is the number of samples behind the verdict, and Hits the number of these that
	// were charged to the budget. Both can be added up over windows and processes. Samples of
	// bytes and delays have different weights; for these it is the number of equally weighted
	// samples with the same information.
	Samples int64 `json:"samples"`
	Hits    int64 `json:"hits"`

	// Offenders are the functions (or packages) over the limit, the worst chain of calls
	// first, and in a chain the deepest first; at most a few. For a Fail one of them is proven
	// to be over the limit, and the others are with a chance of nineteen in twenty; for an
	// Inconclusive result they are those whose measured value is over it. A Pass has none.
	Offenders []Offender `json:"offenders,omitempty"`
	// Over is the number of all functions over the limit, listed or not. It is 0 if the budget
	// is on the process or a pattern, whose offenders are parts of a whole.
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

	// Blame is the nearest caller in the user's own module that has at least half of the
	// offender, at the line of the call, with its Share; the offender itself if it is in
	// that module. Its Function is "" if no caller has half of the offender.
	Blame Frame `json:"blame,omitzero"`
	// Cut says that such a caller is not known, because the runtime cut stacks off.
	Cut bool `json:"cut,omitempty"`
	// Callers are the costliest way in: first the caller, up to the outermost function of the own
	// module. Each has what passes through it, on this way and others.
	Callers []Frame `json:"callers,omitempty"`
	// Callees are the functions that most of the cost is in: first the offender's callee.
	Callees []Frame `json:"callees,omitempty"`
}

// A Frame is a function at a line, and the weight of the samples through it.
type Frame struct {
	Function string  `json:"function"`
	File     string  `json:"file,omitempty"`
	Line     int     `json:"line,omitempty"`
	Share    float64 `json:"share"`         // in the unit of the Result's Value
	Amount   float64 `json:"amount"`        // in seconds, bytes, or a count
	Own      bool    `json:"own,omitempty"` // of the program's own module
}
