package judge

// A Reason says why a finding has its verdict: one of the types of this file, and
// *[Outside]. Package budget has the words.
type Reason any

// Nothing was judged. A Why is "" where nobody says.
type (
	Failed              struct{ Err error }          // the profile could not be judged at all
	Idle                struct{ Value float64 }      // the condition does not hold: its figure is at Value
	ConditionUnknown    struct{ Why string }         // its figure is not known
	NotLinked           struct{}                     // no function of the program matches the subject
	NamesPending        struct{ Functions int }      // so many have yet to be matched with the patterns
	NotInProfiles       struct{}                     // no profile tells the figure
	OtherKind           struct{ Needs, Is string }   // of profile than the rule needs
	NoSamples           struct{}                     // the profile is empty
	OutOfScope          struct{}                     // it is not, but nothing is within the rule's "in" and "where"
	AllCut              struct{}                     // no sample shows the rule's "in", but stacks were cut off
	DurationUnknown     struct{}                     // of the profile
	NoBaseline          struct{}                     // there is none
	OtherBaseline       struct{ Is, Profile Layout } // it is of another sort than the profile
	BaselinePending     struct{ Functions int }      // of it have yet to be matched
	BaselineEmpty       struct{}                     // it has no samples
	BaselineWorkUnknown struct{}                     // how much work was done in it

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

// A Layout is a kind of profile, and its period.
type Layout struct {
	Kind   string
	Period int64
}

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
// (Gate), or a label that none of them carries (Key, with Value where others have the
// key), beside which they carry Set; or neither, then it is "in" or the labels together.
type Outside struct {
	Samples    int64
	Gate       Reason
	Key, Value string
	Set        []string
}
