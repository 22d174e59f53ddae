package judge

import (
	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/evidence"
)

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
	Cut       int64    // samples, also of the baseline, of which the runtime has cut off the stack, where that leaves it undecided or may hide who is to blame
	Unordered bool     // without addresses, hand-overs between functions may have been missed
	Unmatched bool     // no function of the profile matches the pattern, which may be misspelt
	Outside   *Outside // why no sample was in scope, beside another reason
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

// A Reason says why a finding has its verdict: one of the types below, and *[Outside]. Package budget has the words.
type Reason any

// Nothing was judged. A Why is "" where nobody says.
type (
	Failed              struct{ Err error }                  // the profile could not be judged at all
	Idle                struct{ Value float64 }              // the condition does not hold: its figure is at Value
	ConditionUnknown    struct{ Why string }                 // its figure is not known
	NotLinked           struct{}                             // no function of the program matches the subject
	NotInProfiles       struct{}                             // no profile tells the figure
	OtherKind           struct{ Needs, Is string }           // of profile than the rule needs
	NoSamples           struct{}                             // the profile is empty
	OutOfScope          struct{}                             // there are samples, and none is within the rule's "in" and "where"
	AllCut              struct{}                             // no sample shows the rule's "in", but stacks were cut off
	DurationUnknown     struct{}                             // of the profile
	NoBaseline          struct{}                             // there is none
	OtherBaseline       struct{ Is, Profile *charge.Layout } // it is of another sort than the profile
	BaselineEmpty       struct{}                             // it has no samples
	BaselineWorkUnknown struct{}                             // how much work was done in it

	// FigureUnknown: the process's figure is not known, or Given as a Value that none can have.
	FigureUnknown struct {
		Figure, Why string
		Given       bool
		Value       float64
	}
	// WorkUnknown: how much work was done is not known, or Given as a number that is none.
	WorkUnknown struct {
		Why   string
		Given bool
		Done  float64
	}
)

// Something was judged, and the numbers are in the finding. Needed samples would decide.
type (
	Counted        struct{}                          // in full, and not sampled
	CountedNone    struct{}                          // there was nothing to count, and that is a count
	Measured       struct{}                          // the bounds decide
	UpTo           struct{}                          // stacks that were cut off may hide as much as the finding's High
	TooFew         struct{ Needed, Notable float64 } // to tell a share of Notable from the limit
	TooClose       struct{ Needed, Zone float64 }    // 0 for no number; a pass is below Zone
	Occurs         struct{ Needed float64 }          // or not, where it should be absent
	Leaked         struct{}                          // goroutines, which are counted
	OverHours      struct{}                          // that it is steady, one window cannot tell
	Learning       struct{ Share float64 }           // of what is normal; from 1 on, the verdict is in
	AbsentInBlocks struct{}                          // there was no hit until the end

	// Likely: Low errs with one in twenty. That the limit is exceeded is proven by another
	// function, whose lower bound is ProvenLow.
	Likely struct {
		Proven    string
		ProvenLow float64
	}
	// InBlocks: by all blocks. Certain says that more would not change it.
	InBlocks struct {
		Certain bool
		Needed  float64
	}
	// Growth: against so many samples Before, which have nothing of what is New.
	// NeededBefore is set when only a larger baseline would decide.
	Growth struct {
		Before               float64
		New                  bool
		Needed, NeededBefore float64
	}
)

// Outside says what keeps all of so many samples out of a rule's scope: its condition
// (Gate), or its "in" and "where", beside which they carry the labels Set.
type Outside struct {
	Samples int64
	Gate    Reason
	Set     []string
}
