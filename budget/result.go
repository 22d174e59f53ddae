package budget

import (
	"strings"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/unit"
	"github.com/profguard/profguard/internal/words"
)

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

// UnmarshalText reads what MarshalText has written. Any other text, such as that of a later version, is
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

// String is a report for people: the verdict in one line, and some more lines for each chain
// of offenders.
//
//	FAIL no function above 20% cumulative
//	  ...
func (r Result) String() string {
	text := strings.ToUpper(r.Verdict.String()) + " " + r.Budget.String()
	for line := range strings.Lines(r.Reason) { // of an error, which may have several
		text += "\n  " + pattern.Visible(strings.TrimSuffix(line, "\n"))
	}
	offenders := make([]judge.Offender, len(r.Offenders))
	for i, o := range r.Offenders {
		offenders[i] = o.found()
	}
	return text + words.Offenders(r.Budget.terms(), offenders, r.Over)
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

// String is the function with its place, the call in the own module that leads to it, and the next
// package that it goes to: "encoding/json.Marshal at json/encode.go:160, called from main.serve at
// shop/order.go:46, goes to main.(*Order).MarshalJSON". A function of the own module has its
// caller there, which of a callback is the function that passed it on. Where no call in the own
// module has half of a function of the standard library, it is the nearest caller outside that.
func (o Offender) String() string {
	found := o.found()
	return words.Offender(&found)
}

// found is the offender as package judge has it.
func (o *Offender) found() judge.Offender {
	return judge.Offender{
		Frame: judge.Frame(o.Frame), Low: o.Low, High: o.High, Blame: judge.Frame(o.Blame), Cut: o.Cut,
		Callers: converted[judge.Frame](o.Callers), Callees: converted[judge.Frame](o.Callees),
	}
}

func converted[To, From Frame | judge.Frame](list []From) (frames []To) {
	for _, f := range list {
		frames = append(frames, To(f))
	}
	return frames
}

// Result puts a finding of package judge into words. It is for packages of profguard only.
func (b Budget) Result(f judge.Finding) Result { return b.result(&f, words.Reason) }

// CheckResult is [Budget.Result] for findings of package check, whose words programs without
// a check do not link. It is for packages of profguard only.
func (b Budget) CheckResult(f judge.Finding) Result { return b.result(&f, words.OfCheck) }

func (b Budget) result(f *judge.Finding, reason func(words.Terms, *judge.Finding) string) Result {
	_, idle := f.Reason.(judge.Idle)
	t := b.terms()
	r := Result{
		Budget: b, Verdict: Verdict(f.Verdict), Value: f.Value, Low: f.Low, High: f.High,
		Limit: t.Rule.Limit, Unit: t.Dimension.String(), Samples: f.Samples, Hits: f.Hits, Over: f.Over,
		Reason: reason(t, f), Idle: idle,
	}
	for i := range f.Offenders {
		o := &f.Offenders[i]
		r.Offenders = append(r.Offenders, Offender{
			Frame: Frame(o.Frame), Low: o.Low, High: o.High, Blame: Frame(o.Blame), Cut: o.Cut,
			Callers: converted[Frame](o.Callers), Callees: converted[Frame](o.Callees),
		})
	}
	if over := r.lapsed(); over != "" {
		r.Reason += "; " + over
	}
	return r
}

// terms are what sentences say about the budget.
func (b *Budget) terms() words.Terms {
	return words.Terms{Rule: b.rule(), Values: b.values(), Limit: unit.Amount(b.Limit), When: unit.Amount(b.When.Amount)}
}
