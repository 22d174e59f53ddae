package judge

import (
	"math"
	"time"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
)

// The CPU and the allocations of the whole process are counted by the kernel and the runtime, and
// not sampled. Rules on them are judged once a period, by counters of the whole period. They need
// no profile and no samples.

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

// Count judges a rule that is judged by counters ([Needs]) by what was used since it was last judged
// so. last is the finding on the last window of that time, whose profile may show offenders. Without
// work, or under a condition that the figures of the process do not meet, nothing is counted (ok is
// false), and last stands, but proves nothing. again says that there was too little work to
// tell: the next period is to be judged together with this one.
func (r *Rule) Count(last Finding, u Usage, figures map[string]float64, period time.Duration) (f Finding, ok, again bool) {
	f = last
	f.Proven, f.Evidence = f.Verdict, 0 // windows cover only a part of the period
	reason, over := CountedOver{Elapsed: u.Elapsed}, u.Elapsed.Seconds()
	heavy := over * r.Limit / heavyCPU.Seconds() // the number of heavy requests that the limit allows
	if r.Per != "" {
		over = u.Work[r.Per]
		heavy, reason.Work = over/heavyRequests, over
	}
	value := u.of(r) / over
	if r.When.UnmetBy(figures) != nil || over <= 0 || math.IsInf(value, 1) { // last says why
		return f, false, false
	}
	e := counted(value, r.Limit)
	if e.Verdict == evidence.Fail && !(evidence.RateLower(heavy*value/r.Limit, countedAlpha) > heavy) {
		// A single request could decide.
		e.Verdict, reason.Little = evidence.Inconclusive, true
		again = u.Elapsed < pooledPeriods*period
	}
	f.set(e)
	f.Proven, f.Reason = e.Verdict, reason
	if e.Verdict == evidence.Pass { // the offenders are of a window that has failed
		f.Offenders, f.Over = nil, 0
	}
	return f, true, again
}
