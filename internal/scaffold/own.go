package scaffold

import (
	"slices"
	"strings"
)

const ours = "github.com/profguard/profguard/"

// starts are the functions that profguard's goroutines begin with. Those of the
// second list run the host's code too, all of it by way of guard.call.
var (
	starts = [...]string{"guard.start.", "internal/hub.", "internal/dump.", "internal/kinds."}
	lends  = [...]string{"guard.(*sink).", "guard.(*counter).", "guard.(*Guard).register.", "guard.(*Guard).shutDown."}
)

// A Goroutine says whose doing is what a goroutine does.
type Goroutine uint8

const (
	// Theirs is the program's.
	Theirs Goroutine = iota
	// Ours is a goroutine of profguard, or the one with which the runtime writes
	// CPU profiles.
	Ours
	// Lent is a goroutine of profguard that runs code of the program: ours, unless
	// [Lends] is on the stack.
	Lent
)

// Started tells whose a goroutine is by the bottom frame of its stack. In a process
// that allocates little, watching it is what allocates most, and no budget is
// about that.
func Started(bottom string) Goroutine {
	if bottom == "runtime/pprof.profileWriter" {
		return Ours
	}
	rest, found := strings.CutPrefix(bottom, ours)
	begins := func(prefix string) bool { return strings.HasPrefix(rest, prefix) }
	switch {
	case !found:
		return Theirs
	case slices.ContainsFunc(starts[:], begins):
		return Ours
	case slices.ContainsFunc(lends[:], begins):
		return Lent
	}
	return Theirs
}

// Lends reports whether a function is the one by which profguard runs code of the
// program.
func Lends(name string) bool { return name == ours+"guard.call" }
