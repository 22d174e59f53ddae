// Package charge says whose share a sample is. It walks the samples of a decoded
// profile once, charges each to functions, packages or patterns, for any number of
// queries at a time, and names the offenders among those that are over a limit.
//
// The rule, which package budget's documentation explains to users:
//
//   - layout.go finds in a profile's samples the values that a budget asks about.
//   - known.go has the few names that it knows; names.go what is known of each function.
//   - order.go reads the order of the link off the addresses, and finds hand-overs.
//   - stack.go finds the way in of each stack, and servers' own work.
//   - sums.go adds up; offenders.go picks whom to name; paths.go finds the way there.
//
// Everything is an index into an array. The arrays are kept from profile to
// profile, so that in the steady state of a running program nothing is
// allocated and no string is looked at.
package charge

// Unit is what samples are charged to.
type Unit uint8

const (
	Function Unit = iota // keys are ids of names
	Package              // keys are numbers of packages; by Inner and those below, of other modules than the program's
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
	// Inner charges the function in whose body the sample was taken, and those that
	// called it up to the entry point, which is left out: see the package's doc.
	Inner
	// Waiting is Inner for profiles of contention, where the leaf says how a goroutine
	// waits: package sync and time are of the floor as well.
	Waiting
	// Living is for profiles of goroutines: as Waiting, with the entry point, which
	// says what a goroutine is for.
	Living
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
	Except int32 // number of a set of patterns: what runs in these and below is charged neither to them nor to their callers; -1: none
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
