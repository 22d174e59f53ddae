package budget

import (
	"time"

	"github.com/google/pprof/profile"
)

// Facts are what is known about a window beyond its profile. Every field is optional. A
// budget that needs a missing one is inconclusive, and its Reason says so.
type Facts struct {
	// Kind is the kind of the profile, as in the grammar: "cpu", for example. By default it
	// is derived from the profile. Mutex and block profiles look the same, so without a Kind
	// budgets of both kinds are judged by such a profile.
	Kind string

	// MutexFraction is the argument of runtime.SetMutexProfileFraction when the profile was
	// taken: one contention in so many was observed, and counts as so many. By default it is
	// the greatest common divisor of the profile's counts.
	MutexFraction int

	// Elapsed is how long the window was, if the profile does not say so itself.
	Elapsed time.Duration

	// Figures are figures of the process: "cores", "goroutines", "heap" and "rss" (in
	// bytes), "gc" (a share from 0 to 1). If one is negative, infinite or NaN, budgets and
	// conditions on it are inconclusive.
	Figures map[string]float64

	// Work is the amount of work in the window by unit, for budgets "per" a unit:
	// {"request": 1200}.
	Work map[string]float64

	// Module is the path of the user's own module, for blame. Without it, all functions
	// outside the standard library count as the user's.
	Module string

	// Baseline is the profile that "grows" budgets compare with, and BaselineWork the amount
	// of work in it.
	Baseline     *profile.Profile
	BaselineWork map[string]float64
}
