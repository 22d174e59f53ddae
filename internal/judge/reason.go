package judge

// A Reason says why a finding has its verdict: one of the types of this file.
// Package budget has the words.
type Reason any

// Nothing was judged:
type (
	// Failed: the profile could not be judged at all.
	Failed struct{ Err error }
	// Idle: the condition does not hold. Its figure is at Value.
	Idle struct{ Value float64 }
	// ConditionUnknown: its figure is not known. Why is "" where nobody says.
	ConditionUnknown struct{ Why string }
	// NotLinked: no function of the program matches the subject.
	NotLinked struct{}
	// NamesPending: so many functions have yet to be matched with the patterns.
	NamesPending struct{ Functions int }
	// FigureUnknown: the process's figure is not known. Why is "" where nobody says;
	// Given that it has a Value, which no figure can have.
	FigureUnknown struct {
		Figure string
		Why    string
		Given  bool
		Value  float64
	}
	// NotInProfiles: no profile tells the figure.
	NotInProfiles struct{}
	// OtherKind: the profile is not of the kind that the rule needs.
	OtherKind struct{ Needs, Is string }
	// NoSamples: the profile is empty.
	NoSamples struct{}
	// OutOfScope: it is not, and no sample is within the rule's "in" and "where".
	OutOfScope struct{}
	// AllCut: no sample shows what the rule's "in" matches, but stacks were cut off.
	AllCut struct{}
	// WorkUnknown: how much work was done is not known. Why is "" where nobody says;
	// Given that it is Done.
	WorkUnknown struct {
		Why   string
		Given bool
		Done  float64
	}
	// DurationUnknown: how long the profile took is not known.
	DurationUnknown struct{}
	// NoBaseline: there is none.
	NoBaseline struct{}
	// OtherBaseline: the baseline is of another sort than the profile.
	OtherBaseline struct {
		Kind, ProfileKind     string
		Period, ProfilePeriod int64
	}
	// BaselinePending: so many functions of the baseline have yet to be matched.
	BaselinePending struct{ Functions int }
	// BaselineEmpty: the baseline has no samples.
	BaselineEmpty struct{}
	// BaselineWorkUnknown: how much work was done in the baseline is not known.
	BaselineWorkUnknown struct{}
)

// Something was judged, and the numbers are in the finding:
type (
	// Counted: in full, and not sampled.
	Counted struct{}
	// CountedNone: there was nothing to count, and that is a count.
	CountedNone struct{}
	// Measured: the bounds decide.
	Measured struct{}
	// UpTo: stacks that were cut off may hide as much as the finding's High.
	UpTo struct{}
	// TooFew: so many samples are needed to tell a share of Notable from the limit.
	TooFew struct{ Needed, Notable float64 }
	// TooClose: so many samples would tell, 0 for none; a pass is below Zone.
	TooClose struct{ Needed, Zone float64 }
	// Occurs is of a rule that says "absent". Needed samples without a hit would show
	// that the share is below Share.
	Occurs struct{ Needed, Share float64 }
	// Leaked: the goroutines are counted.
	Leaked struct{}
	// Growth: against so many samples of the baseline, which has nothing of what is
	// New. Needed samples would tell, or a baseline of NeededBefore.
	Growth struct {
		Before               float64
		New                  bool
		Needed, NeededBefore float64
	}
	// OverHours: that it is steady, one window cannot tell.
	OverHours struct{}
	// Learning: so much of what is normal is known. From 1 on, the verdict is in.
	Learning struct{ Share float64 }
	// InBlocks: all blocks together. Certain says that more would not change it, and
	// Needed how many samples would decide, 0 for no number.
	InBlocks struct {
		Certain bool
		Needed  float64
	}
	// AbsentInBlocks: there was no hit until the end.
	AbsentInBlocks struct{}
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
