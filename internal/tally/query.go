// Package tally counts: it walks the samples of a decoded profile once and
// charges them to functions, packages or patterns, for any number of queries at
// a time.
//
// Everything is an index into an array. The arrays are kept from profile to
// profile, so that in the steady state of a running program nothing is
// allocated and no string is looked at.
package tally

// Unit is what samples are charged to.
type Unit uint8

const (
	Function Unit = iota // keys are ids of names
	Package              // keys are numbers of packages
	Pattern              // keys are numbers of patterns
)

// Charge says which frames of a stack are charged with its sample.
type Charge uint8

const (
	Flat       Charge = iota // the leaf
	Cumulative               // every frame
	// Resumed is Flat, with the function that was interrupted in the place of the
	// interrupt: what the runtime puts on top of a loop to preempt it is the loop's,
	// and on a busy machine it is most of the loop.
	Resumed
	// Inner charges the leaf, and every frame of the program's own work: what
	// scaffolding and entry points call, but not these. See package scaffold.
	// The leaf is the function that was interrupted, not the interrupt.
	Inner
	// Unparked charges every frame outside the runtime. It is for goroutine
	// profiles, where the innermost frames say how a goroutine waits, which is
	// the same for all of them, and where the bottom frame, which a go statement
	// started, says what it is: so the way in counts, but for what runs a closure
	// in the place of a go statement, such as WaitGroup.Go.
	Unparked
)

// Query says which samples are counted and what they are charged to. It is
// comparable: equal queries are asked once.
type Query struct {
	Value  int // index of the sample type that is added up
	Weight Weight
	Unit   Unit
	Charge Charge
	In     int32 // number of a pattern: only samples through it, and of these only what it calls; -1: all
	Where  int32 // number of a condition on labels; -1: every sample
}

// Weight says how the number of observations behind the values is told.
type Weight struct {
	// Count is the index of the sample type that counts observations, or -1:
	// then every unit of value is one.
	Count int
	// Bytes and Rate are for heap profiles, whose values have been scaled up from
	// what was observed: the index of the bytes, and the mean distance in bytes
	// between two observations. A Rate of 0 means that nothing was scaled.
	Bytes int
	Rate  int64
	// Multiple is for contention profiles, where one observed event counts as
	// [Counter.Multiple].
	Multiple bool
}

// A Label is one condition on a sample's labels.
type Label struct{ Key, Value string }
