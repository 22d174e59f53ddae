package judge

import (
	"time"

	"github.com/google/pprof/profile"
)

// Facts are what is known about a window beyond its profile. Every field may be
// left out: a rule that needs it is inconclusive then. The first half is documented
// at budget.Facts.
type Facts struct {
	Kind          string
	MutexFraction int
	Elapsed       time.Duration
	Figures       map[string]float64
	Work          map[string]float64
	Module        string
	Baseline      *profile.Profile
	BaselineWork  map[string]float64

	// NoFigures says why Figures lacks one: {"gc": "no collection has ended"}.
	NoFigures map[string]string

	// NoWork says why Work lacks a unit that somebody does count: {"request": "its
	// counter went back"}.
	NoWork map[string]string

	// NotLinked are the patterns known to match no function of the program. A rule
	// about one of them can tell nothing, unless it says "absent".
	NotLinked []string
}
