package budget

import (
	"time"

	"github.com/google/pprof/profile"
)

// Facts are what is known about a window beyond its profile. Every field may be
// left out; a budget that needs one which is missing is inconclusive and says
// so.
type Facts struct {
	// Kind is the kind of the profile, as the grammar names it: "cpu", say. It is
	// read off the profile where that is possible; mutex and block profiles look
	// the same, so without a Kind budgets of either are judged by what there is.
	Kind string

	// MutexFraction is what runtime.SetMutexProfileFraction was called with when
	// the profile was taken: one contention in so many was observed, and counts as
	// so many. Without it, the greatest common divisor of the profile's counts is
	// taken for it.
	MutexFraction int

	// Elapsed is how long the window was, if the profile does not say so itself.
	Elapsed time.Duration

	// Figures are the process's own: "cores", "goroutines", "heap" and "rss" (in
	// bytes), "gc" (a share from 0 to 1). One that is negative, infinite or not a
	// number makes budgets and conditions on it inconclusive.
	Figures map[string]float64

	// Work is how many units of work were done in the window, for budgets "per"
	// them: {"request": 1200}.
	Work map[string]float64

	// Module is the path of the user's own module, for blame. Without it,
	// whatever is outside the standard library is taken for the user's.
	Module string

	// Baseline is what "grows" budgets compare with, and BaselineWork the work
	// done in it.
	Baseline     *profile.Profile
	BaselineWork map[string]float64
}
