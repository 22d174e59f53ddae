package release

// A Status says what is known of a function.
type Status string

const (
	Grown     Status = "more"      // surely, by more than the limit
	Cheaper   Status = "less"      // surely
	Moved     Status = "moved"     // what calls it has not grown with it
	Undecided Status = "undecided" // it may have grown by more than the limit
	Same      Status = "same"      // it has not grown by more than the limit
)

// Comparison is what a build (now) costs against another one (before).
type Comparison struct {
	Per    string  `json:"per,omitempty"`
	Label  string  `json:"label,omitempty"` // whose values are compared, in the place of functions
	Limit  float64 `json:"limit"`           // that of the options
	Before Summary `json:"before"`
	Now    Summary `json:"now"`

	// Why says why nothing is judged, "" if something is. There may be Functions all the same, by their
	// shares as they are: each is [Undecided] then.
	Why string `json:"why,omitempty"`

	// Process is the growth of the whole process per unit of work, as a part: 0.031 is 3.1% more.
	// Known says that there is one.
	Process Growth `json:"process"`
	Known   bool   `json:"known"`
	// Scale is what everything costs now in parts of what it cost before. Without a unit of work it
	// is relative to the functions that did not change.
	Scale Growth `json:"scale"`
	// Without is the part of the samples now that lacks the Label.
	Without float64 `json:"without,omitempty"`
	// Functions are those with a notable share on either side: those that are Named, with the deepest of a
	// chain of calls first; those that are Above 0; others that surely cost more; what surely costs less, or has
	// moved; and then those that are nearest to the limit.
	Functions []Function `json:"functions"`
	// Subject is what [Options.Subject] has grown by, nil if there is none.
	Subject *Function `json:"subject,omitempty"`
	// Machine says that the machine was busier on one side, and what that may be of the difference; "" if
	// it was not. The bounds of the process, and of functions, count that in.
	Machine string `json:"machine,omitempty"`
	// Collector is the growth of the garbage collector, which is no function's, in points: zero unless it surely
	// has grown by more than the limit, and no function is to be named.
	Collector Growth `json:"collector,omitzero"`
	// Notes are what a reader should know, as other releases of Go.
	Notes []string `json:"notes,omitempty"`
}

// A Summary says what was measured of a side.
type Summary struct {
	Build   Build   `json:"build"`
	Samples float64 `json:"samples"`
	CPU     float64 `json:"cpu"`     // seconds
	Elapsed float64 `json:"elapsed"` // seconds
	Work    float64 `json:"work"`    // in the unit of the comparison
	Load    float64 `json:"load"`    // work in a second; 0 if not known
	// Cut are samples whose stacks the runtime has cut off, so that other functions may be in them, too.
	Cut float64 `json:"cut,omitempty"`
}

// A Growth is a number with its bounds.
type Growth struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// A Function is one that both builds have, or one of them.
type Function struct {
	Name   string `json:"function"`
	Was    string `json:"was,omitempty"` // its name before, if that was another one
	Status `json:"change"`
	// Now and Before are its cost: CPU seconds per unit of work, or a share without a unit.
	Now    float64 `json:"now"`
	Before float64 `json:"before"`
	// Points is its growth in parts of what everything cost before, without what has Moved to it. Where its
	// Status is Moved, it is with that.
	Points Growth `json:"points"`
	// Share is the growth of its share of the samples as it is.
	Share Growth `json:"-"`
	// Moved is the part of the growth that has only moved, in points.
	Moved float64 `json:"moved,omitempty"`
	// Rest is what a function whose Status is Moved has grown by beside that, and RestShare that of its share.
	Rest      Growth `json:"-"`
	RestShare Growth `json:"-"`
	// From is a function that costs less by as much, from which it has moved, if there is one.
	From string `json:"from,omitempty"`
	// Named says that it is to be named: it costs more for sure, and not because of a function
	// below it that does.
	Named bool `json:"named"`
	// Above says that it costs more for sure, but perhaps not by more than the limit, or that has only moved to it;
	// and not because of a function that is Named or Above, too. MayMove says that what it costs more may have moved.
	Above   bool `json:"above,omitempty"`
	MayMove bool `json:"may_have_moved,omitempty"`
	// Line is its costliest line, and Blame the nearest one of the program's own module on the way to it.
	Line  Frame `json:"line,omitzero"`
	Blame Frame `json:"blame,omitzero"`
	// New says that no sample before has it.
	New bool `json:"new"`
	// Hits are its samples now.
	Hits float64 `json:"hits"`

	id id
}

// A Frame is a line of a function.
type Frame struct {
	Function string `json:"function"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	InModule bool   `json:"in_module,omitempty"` // of the program's own module
}
