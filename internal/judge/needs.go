package judge

import (
	"time"

	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
)

// Needs are what a guard has to measure to judge a rule.
type Needs struct {
	Profile  string // the kind, "" for none: the figures of the process are enough
	Periodic bool   // judged once a period: it is counted in full, or by a profile of one moment
	Counters bool   // judged by the process's counters over the period, see [Rule.Count]
}

// Needs is what is needed to judge the rule.
func (r *Rule) Needs() Needs {
	n := Needs{Profile: r.Kind, Counters: r.hasCounter()}
	switch {
	case r.Class == Figure, r.Test == Steady:
		n.Profile = ""
	case r.Class == Leak:
		n.Profile = kinds.GoroutineLeak
	}
	n.Periodic = n.Profile == "" || n.Counters || kinds.Of(n.Profile).Taken == kinds.State
	return n
}

// hasCounter reports whether a counter of the process has the value of the rule: its CPU, in
// cores or per unit of work, or its allocations per unit of work.
func (r *Rule) hasCounter() bool {
	if r.Class != Process || r.Test != Limited || r.In != "" || len(r.Where) > 0 {
		return false
	}
	return r.Kind == kinds.CPU && (r.Per != "" || r.Dimension == unit.Cores) || r.Kind == kinds.Allocs && r.Per != ""
}

// Alert is how long the rule's alert takes to begin and to end, in a guard with such periods
// and windows.
func (r *Rule) Alert(period, window time.Duration) alert.Rule {
	single := r.Test == Absent || r.Class == Leak // one hit is proof
	counted := r.Needs().Periodic && !single
	var a alert.Rule
	switch {
	case r.ForWindows > 0 || r.ForTime > 0:
		a = alert.For(r.ForWindows, r.ForTime, period)
	case counted:
		a = alert.Counted(period)
	default:
		a = alert.Lasting(period, window)
		a.AtOnce = single
	}
	a.Counted = counted
	a.Each = r.IsEach()
	a.Share = !counted && r.Test == Limited && r.Dimension == unit.Share
	a.Streams = r.Test == Grows || r.Test == Limited
	return a
}

// IsAbsent reports whether the subject must not occur, so that the rule is kept best if the program
// has no function of that name.
func (r *Rule) IsAbsent() bool { return r.Test == Absent }

// IsEach reports whether the limit is for each function, package or goroutine.
func (r *Rule) IsEach() bool { return r.Class == Each || r.Class == Leak }

// HasParts reports whether the offenders are parts of a whole, of which another may lead in each
// window.
func (r *Rule) HasParts() bool { return r.Class == Process || r.Class == Figure }

// InShares reports whether the offenders are shares of a profile while the value is none.
func (r *Rule) InShares() bool {
	return (r.HasParts() || r.Class == Leak) && r.Dimension != unit.Share
}
