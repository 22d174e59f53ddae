// Package charge decides which functions, packages or patterns a sample counts for. It
// walks the samples of a decoded profile, adds them up for any number of queries, and
// picks the offenders among the functions that are over a limit.
//
// The rule, which package budget's documentation explains to users, is in these files:
//
//   - layout.go finds the values that a budget asks about in a profile's samples, and how
//     many observations they stand for.
//   - known.go has the few function names that the rule knows; names.go what is known
//     about each function of a profile.
//   - order.go derives the order in which packages were linked from addresses, and finds
//     hand-overs with it.
//   - stack.go finds the way in of each stack, and servers' own work.
//   - query.go says what can be asked, and reach.go which frames a sample is charged to; values.go
//     which value of a label.
//   - count.go adds up; offenders.go picks the offenders; paths.go finds their callers and
//     callees, and owner.go whose they are.
//
// Everything is an index into an array. The arrays are kept from profile to profile: in a
// running program, adding up allocates nothing and matches no name after the first window.
package charge

import (
	"cmp"

	"github.com/profguard/profguard/internal/pattern"
)

// Unit is what samples are charged to.
type Unit uint8

const (
	Function Unit = iota // keys are ids of names
	Package              // keys are numbers of packages
	Pattern              // keys are numbers of patterns
	Labelled             // keys are numbers of the values that a label has in the open profile
	Whole                // there are no keys, only the total
)

// groups are the units that several functions share, with what a function is charged to.
var groups = [Whole + 1]struct {
	of      func(name, pkg, file string) string
	foreign bool // from Inner on, only of modules other than the program's
}{
	Package: {func(_, pkg, _ string) string { return cmp.Or(pkg, pattern.NoPackage) }, true},
}

// Charge says which frames of a stack are charged with its sample.
type Charge uint8

const (
	// Flat charges the leaf, or the function that was interrupted, and not the runtime's
	// interrupt on top of it. On a busy machine most samples of a loop are in such interrupts.
	Flat       Charge = iota
	Cumulative        // every frame
	// Inner charges the function in whose body the sample was taken, and its callers up
	// to the entry point, which is left out: see the package's doc.
	Inner
	// Waiting is Inner for profiles of contention. The leaf shows how a goroutine waits,
	// so packages sync and time are part of the floor as well.
	Waiting
	// Started is for goroutines of which there are too many. It charges the function that the goroutine
	// was started for, because its go statement is what to mend: the outermost of the program's
	// own module, or else the goroutine's first. A sample without such a function is no leak, see
	// Counter.started.
	Started
	// Living is for profiles of goroutines: as Waiting, but with the entry point, which
	// shows the purpose of a goroutine.
	Living
)

// Query says which samples are counted and what they are charged to. It is
// comparable: equal queries are asked once.
type Query struct {
	Value  int // index of the sample type that is added up
	Weight Weight
	Unit   Unit
	Charge Charge
	In     int32 // number of a pattern: only samples through it, and of these only its callees; -1: all
	Where  int32 // number of a condition on labels; -1: every sample
	Except int32 // number of a list of exceptions: samples in these and in their callees are charged neither to them nor to their callers; -1: none
	Of     int32 // of Labelled: the number of the label
	Only   int32 // 1 + key of a value of the label Of: only samples with it; 0: all
}

// An Exception accepts what a pattern matches, everywhere (From is -1), or where what another one matches is among its
// callers. Both are numbers.
type Exception struct{ Of, From int32 }

// Compare orders exceptions.
func (e Exception) Compare(f Exception) int {
	return cmp.Or(cmp.Compare(e.Of, f.Of), cmp.Compare(e.From, f.From))
}

// LabelValues are a label whose values are keys. Samples with the values in Except are charged to none.
type LabelValues struct {
	Label  string
	Except []string
}

// A Label is one condition on a sample's labels.
type Label struct{ Key, Value string }
