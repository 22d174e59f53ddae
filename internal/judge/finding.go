package judge

import "github.com/profguard/profguard/internal/evidence"

// A Finding is the verdict on one rule, with the numbers behind it, in base units.
// budget.Result documents those that both have.
type Finding struct {
	Verdict          evidence.Verdict
	Value, Low, High float64
	Samples, Hits    int64
	Offenders        []Offender
	Over             int

	// Reason is why the verdict is what it is, never nil.
	Reason Reason

	// Who is the function or package that the numbers are of, where the rule is about
	// each; "" if none shows.
	Who string

	Notes

	// Alarm is the last proof, by one window or by all together, and Strength what
	// all windows together say for an excess: 1 is proof. Only a [Watch] sets them.
	// Growth against a baseline too small to ever pass by goes from Fail to
	// Inconclusive when it is over.
	Alarm    evidence.Verdict
	Strength float64
}

// Notes are what a reader of the reason should know beside it.
type Notes struct {
	Cut         int64    // samples of which the runtime has cut off the stack, where that matters
	BaselineCut bool     // there are such samples in the baseline, and none in the window
	Unordered   bool     // without addresses, hand-overs between functions may have been missed
	Unmatched   bool     // no function of the profile matches the pattern, which may be misspelt
	Elsewhere   string   // the package that does the work of the one that the rule is about
	Outside     *Outside // why no sample was in scope, beside another reason
}

// Open returns n findings that say why nothing could be judged.
func Open(n int, err error) []Finding {
	findings := make([]Finding, n)
	for i := range findings {
		findings[i].Reason = Failed{err}
	}
	return findings
}

// An Offender is a function, or a package, over the limit: at its costliest line.
type Offender struct {
	Frame
	Low, High float64
	Blame     Frame
	Callers   []Frame
	Callees   []Frame
}

// A Frame is a function at a line, and what passes through it.
type Frame struct {
	Function string
	File     string
	Line     int
	Share    float64 // in the unit of the finding's Value
	Value    float64 // in seconds, bytes, or a count
	Own      bool    // of the program's own module
}

// take takes the numbers over.
func (f *Finding) take(e evidence.Finding) {
	f.Verdict = e.Verdict
	f.Value, f.Low, f.High = e.Value, e.Low, e.High
}

// counted takes over what was counted in full.
func (f *Finding) counted(value, limit float64) {
	f.take(counted(value, limit))
	f.Reason = Counted{}
}

// counted is the finding on what was counted in full.
func counted(value, limit float64) evidence.Finding {
	f := evidence.Finding{Value: value, Low: value, High: value, Verdict: evidence.Pass}
	if value > limit {
		f.Verdict = evidence.Fail
	}
	return f
}
