package judge

import (
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/release"
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
	Apart

	alert.Proof // only a [Watch] knows it; Kept is that of all windows together
}

// Notes are further facts that a reader of the reason should know.
type Notes struct {
	Cut       int64   // samples whose stacks the runtime may have cut off, also those of the baseline; 0 where that cannot change the verdict or the offender
	Unordered bool    // addresses do not show the order of the link, so hand-overs between functions may have been missed
	Without   float64 // the part of the samples that lacks the label, where the rule is about its values; 0 for less than a tenth
	Unmatched bool    // no function of the profile matches the pattern, which may be misspelt
}

// Apart is of how many values of a label a finding is that judges each by its own work. A finding on anything else has
// the zero Apart.
type Apart struct {
	Values    int // that have samples
	Open      int // those of them that are undecided by themselves
	Uncounted int // those of these whose own work is not known
}

// lacksNames reports whether it is not known which functions, or values of a label, are in the samples.
func (f *Finding) lacksNames() bool {
	switch f.Reason.(type) {
	case NoNames, NoPackages, NoLabel, TooManyValues:
		return true
	}
	return false
}

// findingOf is a finding with the numbers of package evidence.
func findingOf(e evidence.Finding, why Reason) Finding {
	return Finding{Verdict: e.Verdict, Value: e.Value, Low: e.Low, High: e.High, Reason: why}
}

// Unjudged returns n findings that say why nothing could be judged.
func Unjudged(n int, err error) []Finding {
	findings := make([]Finding, n)
	for i := range findings {
		findings[i].Reason = Failed{err}
	}
	return findings
}

// An Offender is a function over the limit, at its costliest line, or a package, or the value of a label.
type Offender struct {
	Frame
	Within          Frame // of a value: the function that costs most of it, of which what follows is
	Low, High       float64
	Blame           Frame
	Owner           Frame // the function that makes it expensive, empty if that is Blame or callers differ
	StacksTruncated bool  // Blame is not known, as stacks were cut off
	Callers         []Frame
	Callees         []Frame
}

// A Frame is a function at a line, and the weight of the samples through it.
type Frame struct {
	Function string
	File     string
	Line     int
	Share    float64 // in the unit of the finding's Value
	Amount   float64 // in seconds, bytes, or a count
	InModule bool    // of the program's own module
}

// Place is the file with its folder, and the line: "shop/order.go:46", or "" if not known.
func (f *Frame) Place() string {
	if f.File == "" {
		return ""
	}
	return path.Join(path.Base(path.Dir(f.File)), path.Base(f.File)) + ":" + strconv.Itoa(f.Line)
}

// HasValue reports whether something was measured. What is not decided has an upper bound then.
func (f *Finding) HasValue() bool {
	return f.Verdict != evidence.Inconclusive || f.High != 0 || f.Value != 0
}

// A Reason says why a finding has its verdict: one of the types below, or of those of a check in package words, which has the words of all.
type Reason any

// First reports whether that is no fault: there is no other build yet.
func (n NoRelease) First() bool { return strings.HasPrefix(n.Why, release.FirstBuild) }

// Reasons why nothing was judged. A Why is "" where the cause is not known.
type (
	Failed              struct{ Err error }                  // the profile could not be judged at all
	Idle                struct{ Value float64 }              // the condition does not hold: its figure is at Value
	ConditionUnknown    struct{ Why string }                 // its figure is not known
	NotLinked           struct{}                             // no function of the program matches the subject
	OtherKind           struct{ Wanted, Is string }          // the profile is of another kind than the rule needs
	NoSamples           struct{}                             // the profile is empty
	NoNames             struct{ Share float64 }              // of such a share of the samples it is not known which functions are in them
	NoPackages          struct{ Share float64 }              // such a share has no function with a package of Go, so that none is charged
	NoLabel             struct{}                             // no sample has the label whose values the rule is about
	TooManyValues       struct{}                             // a label has more than [charge.MostValues], and none is proven to be over the limit
	OutOfScope          struct{}                             // there are samples, and none is within the rule's "in" and "where"
	DurationUnknown     struct{}                             // the duration of the profile is not known
	NoBaseline          struct{}                             // there is no baseline
	OtherBaseline       struct{ Is, Profile *charge.Layout } // the baseline is of another sort than the profile
	NoRelease           struct{ Why string }                 // there is nothing to compare this build with, or not yet
	BaselineEmpty       struct{}                             // the baseline has no samples
	BaselineNoNames     struct{ Share float64 }              // of such a share of its samples it is not known which functions are in them
	BaselineNoLabel     struct{}                             // no sample of the baseline has the label whose values the rule is about
	BaselineWorkUnknown struct{}                             // the amount of work in the baseline is not known
	FigureUnknown       struct{ Name, Why string }           // the process's figure is not known
	WorkUnknown         struct{ Why string }                 // the amount of work is not known
	NoWork              struct{}                             // no work was done, or the amount is impossible
	OwnWorkUnknown      struct{}                             // the finding's value has no counter of its own, or none that was there all the time
)

// Reasons for a judgement whose numbers are in the finding. Needed is the number of samples
// that would decide.
type (
	Counted        struct{}                          // the value was counted in full, and not sampled
	Measured       struct{}                          // the bounds decide
	Unseen         struct{ Waited time.Duration }    // for locks, at least, and the samples have less of it
	UpTo           struct{}                          // with stacks that were cut off, the value may be as large as the finding's High
	TooFew         struct{ Needed, Notable float64 } // samples to tell a share of Notable from the limit
	TooClose       struct{ Needed, Zone float64 }    // to the limit; a Needed of 0 is unknown, and a pass is below Zone
	Occurs         struct{ Needed float64 }          // whether a function that must be absent has hits
	Leaked         struct{}                          // leaked goroutines were counted
	BetweenCalls   struct{}                          // whether it is steady shows between calls of a test
	AbsentInBlocks struct{}                          // there was no hit until the end

	// Likely: the finding's Low errs one time in twenty. Another function, Proven, whose
	// lower bound is ProvenLow, proves that the limit is exceeded.
	Likely struct {
		Proven    string
		ProvenLow float64
	}
	// InBlocks: by all blocks. Certain says that more blocks would not change it.
	InBlocks struct {
		Certain bool
		Needed  float64
	}
	// Growth: compared with a baseline of so many samples (Before). Added says that the
	// baseline has none of the function. SmallBaseline says that only a larger baseline
	// would decide.
	Growth struct {
		Before               float64
		Added, SmallBaseline bool
	}
	// Released: two builds were compared. Function is the one that the numbers are of, nil for
	// the process, or if none shows.
	Released struct {
		Of       *release.Comparison
		Function *release.Function
	}
)

// Reasons of a guard, which knows more than one window.
type (
	// CountedOver: the process's counters over so much time, and so much work where the rule
	// is per unit of work. Little says that it is too little to tell so close to the limit.
	CountedOver struct {
		Elapsed time.Duration
		Work    float64
		Little  bool
	}
	// MadeOf: the offenders are the largest parts of a figure, by a profile of the kind. Err
	// is why there is none.
	MadeOf struct {
		Of   Reason
		Kind string
		Err  error
	}
)
