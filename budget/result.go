package budget

import (
	"slices"
	"strconv"
	"strings"

	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/unit"
	"github.com/profguard/profguard/internal/words"
)

// A Verdict says whether a profile proves that a budget is kept, or exceeded. The zero Verdict is
// [Inconclusive], so that nothing passes without proof.
type Verdict int

const (
	Inconclusive Verdict = iota // there are too few samples, or there is nothing to judge
	Pass                        // the budget is kept
	Fail                        // the budget is broken. This is wrong one time in a million
)

// String returns "inconclusive", "pass" or "fail", or Verdict(7) for an unknown one.
func (v Verdict) String() string { return evidence.Verdict(v).String() }

// MarshalText returns the String of v, also for JSON.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads the text of MarshalText. Any other text, such as that of a later version, is
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
	// of the first offender or, without one, of the worst function.
	//
	// Low and High are its bounds. The true value is below Low one time in a million. It is above
	// High one time in a thousand, or for "absent" one in twenty. The first offender may be named
	// because another function proves that the limit is exceeded. Then its Low is wrong one time
	// in twenty, and the Reason says "likely". Counted values (goroutines, figures) have bounds
	// equal to Value.
	//
	// If the baseline has no sample of a function, its growth per unit of work is not a number.
	// Value is then the growth over a baseline with one sample, and High is 1e15.
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`

	// Limit is the budget's limit in the same unit, 0 if it has none. Unit is the name of
	// that unit: "ratio", "cores", "s waited per second" (for mutex and block), "seconds",
	// "bytes" or "count".
	Limit float64 `json:"limit"`
	Unit  string  `json:"unit,omitempty"`

	// Samples is the number of samples behind the verdict, and Hits the number of these that
	// were charged to the budget. Both can be added up over windows and processes. Samples of
	// bytes and delays have different weights. Samples is then the number of equally weighted
	// samples that tell as much.
	Samples int64 `json:"samples"`
	Hits    int64 `json:"hits"`

	// Offenders are a few of the functions (or packages, or values of a label) over the limit, the
	// worst chain of calls first, and in a chain the deepest first. In a Fail, one of them is
	// proven to be over the limit, and each other one is over it with a chance of nineteen in
	// twenty. In an Inconclusive result, their measured values are over it. A Pass has none.
	Offenders []Offender `json:"offenders,omitempty"`
	// Over is the number of all functions over the limit, listed or not. It is 0 for a budget on
	// the process or a pattern, because its offenders are parts of a whole.
	Over int `json:"over"`

	// Reason explains the verdict in one sentence.
	Reason string `json:"reason,omitempty"`

	// Idle is set if the budget's "when" did not hold, so that nothing was judged.
	Idle bool `json:"idle,omitempty"`
}

// String is a report for people: a line with the verdict, the reason, and some lines for each
// chain of offenders.
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

// Accept returns the sentence of the budget with an "except" for its first offenders. Their number is
// at most the given one. It is "" if there is no offender, or if the language has no exception for one.
func (r *Result) Accept(most int) string {
	b := r.Budget
	if len(r.Offenders) == 0 || slices.Equal(b.Except, []string{"none"}) || b.Label() != "" && r.Offenders[0].Function == judge.Hidden {
		return ""
	}
	b.Except = slices.Clone(b.Except)
	for i := range r.Offenders[:min(most, len(r.Offenders))] {
		name := r.Exception(&r.Offenders[i])
		b.Except = append(slices.DeleteFunc(b.Except, func(text string) bool { return strings.HasPrefix(text, name+" until ") }), name)
	}
	if b.Validate() != nil { // the language may have no pattern for a name
		return ""
	}
	return b.String()
}

// Exception returns an offender of the result as it is written after "except".
func (r *Result) Exception(o *Offender) string {
	name, b := o.Function, r.Budget
	if b.Label() != "" {
		return b.exceptionOf(strconv.Quote(name)).String()
	}
	if b.Subject != "no package" || name == pattern.NoPackage {
		name = pattern.Quote(name)
	}
	b.Except = []string{words.Exception(name, o.Share, (*judge.Frame)(&o.Owner), r.Limit/2)}
	if b.Validate() != nil { // growth has no owner
		return name
	}
	return b.Except[0]
}

// An Offender is a function, a package, or the value of a label, over the limit.
type Offender struct {
	Frame         // the function, at its costliest line; a value of a label is its Function, and has no line
	Low   float64 `json:"low"`
	High  float64 `json:"high"`

	// Within is the function that costs most of a value, at its costliest line. Blame and the fields
	// after it are then about this function. Its Function is "" if the offender is no value, or if no
	// function has a tenth of the value.
	Within Frame `json:"within,omitzero"`

	// Blame is the nearest caller in the program's own module with at least half of the
	// offender, at the line of the call, with its Share. It is the offender itself if that is in
	// the module. Its Function is "" if no caller has half of the offender.
	Blame Frame `json:"blame,omitzero"`
	// Owner is the function that makes it expensive: the outermost function of the program's own
	// module, below the way in, with at least nine tenths of the offender, at its costliest line. Its
	// Function is "" if that is Blame or the offender. It is "" also if the callers differ: then look
	// at the offender itself.
	Owner Frame `json:"owner,omitzero"`
	// StacksTruncated says that Blame is unknown because the runtime cut stacks off.
	StacksTruncated bool `json:"stacks_truncated,omitempty"`
	// Callers are the costliest way in: first the caller, last the outermost function of the own
	// module. The share of each includes other ways through it.
	Callers []Frame `json:"callers,omitempty"`
	// Callees are the functions with most of the cost, first the offender's callee.
	Callees []Frame `json:"callees,omitempty"`
}

// A Frame is a function at a line, with the weight of the samples through it.
type Frame struct {
	Function string  `json:"function"`
	File     string  `json:"file,omitempty"`
	Line     int     `json:"line,omitempty"`
	Share    float64 `json:"share"`               // in the unit of the Result's Value
	Amount   float64 `json:"amount"`              // in seconds, bytes, or a count
	InModule bool    `json:"in_module,omitempty"` // of the program's own module
}

// String returns the function with its place, the call in the own module that leads to it, and the
// next package that it goes to: "encoding/json.Marshal at json/encode.go:160, called from main.serve
// at shop/order.go:46, goes to main.(*Order).MarshalJSON". A function of the own module has its
// caller there. The caller of a callback is the function that passed it on. If no call in the own
// module has half of a function of the standard library, its nearest caller outside the standard
// library is named. The Owner follows: "nearly all of it in main.(*server).export,
// shop/export.go:31".
func (o Offender) String() string {
	found := o.found()
	return words.Offender(&found)
}

// found is the offender as package judge has it.
func (o *Offender) found() judge.Offender {
	return judge.Offender{
		Frame: judge.Frame(o.Frame), Low: o.Low, High: o.High, Within: judge.Frame(o.Within), Blame: judge.Frame(o.Blame), Owner: judge.Frame(o.Owner), StacksTruncated: o.StacksTruncated,
		Callers: converted[judge.Frame](o.Callers), Callees: converted[judge.Frame](o.Callees),
	}
}

func converted[To, From Frame | judge.Frame](list []From) (frames []To) {
	for _, f := range list {
		frames = append(frames, To(f))
	}
	return frames
}

// result puts a finding into words, with those of its reason.
func (b Budget) result(f *judge.Finding, reason bridge.Words) Result {
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
			Frame: Frame(o.Frame), Low: o.Low, High: o.High, Within: Frame(o.Within), Blame: Frame(o.Blame), Owner: Frame(o.Owner), StacksTruncated: o.StacksTruncated,
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
