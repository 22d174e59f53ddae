package judge

import (
	"math"
	"time"

	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
)

// counted judges the CPU and the allocations of the whole process, which are counted by the kernel and
// the runtime, and not sampled. A guard judges them once a period, by counters of the whole period
// ([Rule.Count]), without a profile. Where there are no counters, samples decide.
type counted struct{ sampled }

// hasCounter reports whether a counter of the process has the value of the rule: its CPU, in
// cores or per unit of work, or its allocations per unit of work.
func (r *Rule) hasCounter() bool {
	if r.Class != Process || r.Test != Limited || r.In != "" || len(r.Where) > 0 {
		return false
	}
	return r.Kind == kinds.CPU && (r.Per != "" || r.Dimension == unit.Cores) || r.Kind == kinds.Allocs && r.Per != ""
}

func (c counted) needs() Needs { return Needs{Profile: c.Kind, Periodic: true, Counters: true} }

func (c counted) alert(period, window time.Duration) alert.Rule {
	return c.alertOf(period, window, true)
}

// window takes the figure of the process where it is known.
func (c counted) window(m *measurement) Finding {
	if _, given := m.facts.Figures[FigureOf(c.Subject)]; given && c.Dimension == unit.Cores && m.unmet(c.rule) == nil {
		return figure{c.rule}.measured(m)
	}
	return c.sampled.window(m)
}

const (
	// A heavy request is taken to cost as much as ten usual ones: that is so in a lognormal
	// distribution with a deviation of 1.5. Without a counter of requests, it is taken to
	// cost half a second of CPU.
	heavyRequests = 10
	heavyCPU      = 500 * time.Millisecond

	// countedAlpha is the chance that a period fails because it happens to have many heavy
	// requests. An alert takes three such periods in a row.
	countedAlpha = 0.01

	// pooledPeriods is the largest number of periods that are judged together, if none of
	// them has enough work to be judged alone.
	pooledPeriods = 30
)

// Usage is what a process has used and done in some time.
type Usage struct {
	Elapsed        time.Duration
	CPU            time.Duration
	Bytes, Objects float64            // allocated
	Work           map[string]float64 // by unit
}

// of is what a rule is about.
func (u *Usage) of(r *Rule) float64 {
	switch {
	case r.Kind != kinds.Allocs:
		return u.CPU.Seconds()
	case r.Dimension == unit.Bytes:
		return u.Bytes
	}
	return u.Objects
}

// Plus is what was used in both.
func (u Usage) Plus(v Usage) Usage {
	return Usage{Elapsed: u.Elapsed + v.Elapsed, CPU: u.CPU + v.CPU, Bytes: u.Bytes + v.Bytes, Objects: u.Objects + v.Objects}
}

// Count judges a rule that is judged by counters ([Needs]) by what was used since it was last judged
// so. before is what was used without work before that. last is the finding on the last window of that time,
// whose profile may show offenders. Without work, or under a condition that the figures of the process do not
// meet, nothing is counted (ok is false), and last stands, but proves nothing. again says that there was too
// little work to tell: the next period is to be judged together with this one. If there was none, it belongs to what
// was used before.
//
// A unit of work counts when it ends, and may have begun before. So a pass has to be true with all that was used
// before, and a fail without it, because a process also uses some without work.
func (r *Rule) Count(last Finding, before, u Usage, figures map[string]float64, period time.Duration) (f Finding, ok, again bool) {
	f = last
	f.Proven, f.Evidence = f.Verdict, 0 // windows cover only a part of the period
	reason, over := CountedOver{Elapsed: u.Elapsed}, u.Elapsed.Seconds()
	heavy := over * r.Limit / heavyCPU.Seconds() // the number of heavy requests that the limit allows
	known := false
	if r.Per != "" {
		over, known = u.Work[r.Per]
		heavy, reason.Work = over/heavyRequests, over
	}
	value := u.of(r) / over
	if unmet := r.When.UnmetBy(figures) != nil; unmet || over <= 0 || math.IsInf(value, 1) { // last says why
		return f, false, known && !unmet
	}
	e := evidence.Counted(value, r.Limit)
	if all := u.Plus(before); e.Verdict == evidence.Pass && all.of(r)/over > r.Limit {
		e = evidence.Counted(all.of(r)/over, r.Limit)
		e.Verdict, reason.Elapsed, reason.Little = evidence.Inconclusive, all.Elapsed, true
	} else if e.Verdict == evidence.Fail && !(evidence.RateLower(heavy*value/r.Limit, countedAlpha) > heavy) {
		// A single request could decide.
		e.Verdict, reason.Little = evidence.Inconclusive, true
		again = u.Elapsed < pooledPeriods*period
	}
	f.Verdict, f.Value, f.Low, f.High = e.Verdict, e.Value, e.Low, e.High
	f.Proven, f.Reason = e.Verdict, reason
	if e.Verdict == evidence.Pass { // the offenders are of a window that has failed
		f.Offenders, f.Over = nil, 0
	}
	return f, true, again
}
