package guard

import (
	"math"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/unit"
)

// The CPU, memory and allocations of the whole process are counted by the kernel and the
// runtime, and not sampled. Budgets on them are judged once a period, by counters of the
// whole period. They need no profile and no samples.

// totals are the values of all counters at one moment.
type totals struct {
	process.Snapshot
	work readings
	own  allocations   // by the guard, since it began
	cost time.Duration // of reading work, estimated
}

// period returns the start of the period that a window from start to end completes. It
// reports false for a window that completes none: one that follows another closely, or that
// a jump of CPU has started early.
func (l *looper) period(start time.Time, end *process.Snapshot) (began time.Time, ok bool) {
	if began = l.lastPeriod.At; began.IsZero() {
		began = start
	} else if end.At.Sub(began) < l.cfg.Every*3/4 {
		return began, false
	}
	l.lastPeriod = *end
	return began, true
}

// oncePerPeriod reports whether a budget is judged once a period: its value is counted in full,
// or it is about a profile of one moment, of the heap or of goroutines.
func oncePerPeriod(r *judge.Rule) bool {
	kind := kindOf(r)
	return kind == kindFigures || kinds.Of(kind).Taken == kinds.State || hasCounter(r)
}

// hasCounter reports whether a counter of the process has the value of a budget: its CPU,
// in cores or per unit of work, or its allocations per unit of work.
func hasCounter(r *judge.Rule) bool {
	if r.Class != judge.Process || r.Test != judge.Limited || r.In != "" || len(r.Where) > 0 {
		return false
	}
	return r.Kind == kinds.CPU && (r.Per != "" || r.Dimension == unit.Cores) || r.Kind == kinds.Allocs && r.Per != ""
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

// count judges a budget by counters, over the time since it was last judged. It reports
// whether the budget can be judged so. before are the counters at the start of the window.
func (e *entry) count(f *judge.Finding, figures map[string]float64, before, now *totals, every time.Duration) bool {
	b, from := &e.rule, e.counted
	e.counted = *now
	if !hasCounter(b) || b.When.UnmetBy(figures) != nil { // also where there is no profile
		return false
	}
	if from.At.IsZero() {
		from = *before
	}
	elapsed := now.At.Sub(from.At)
	used := (now.CPU - from.CPU).Seconds()
	if b.Kind == kinds.Allocs {
		host := allocationsOf(&from.Snapshot, &now.Snapshot).beyond(now.own.beyond(from.own))
		used = host.objects
		if b.Dimension == unit.Bytes {
			used = host.bytes
		}
	}
	reason, over := judge.CountedOver{Elapsed: elapsed}, elapsed.Seconds()
	heavy := over * b.Limit / heavyCPU.Seconds() // the number of heavy requests that the limit allows
	if b.Per != "" {
		done, _ := between(from.work, now.work)
		over = done[b.Per]
		heavy, reason.Work = over/heavyRequests, over
	}
	value := used / over
	if over <= 0 || math.IsInf(value, 1) { // the result says why there is no work, or next to none
		return false
	}
	f.Verdict, f.Value, f.Low, f.High = evidence.Pass, value, value, value
	switch {
	case value <= b.Limit:
	case evidence.RateLower(heavy*value/b.Limit, countedAlpha) > heavy:
		f.Verdict = evidence.Fail
	default:
		// A single request could decide, so this period is judged together with the next.
		f.Verdict, reason.Little = evidence.Inconclusive, true
		if elapsed < pooledPeriods*every {
			e.counted = from
		}
	}
	if f.Verdict == evidence.Pass { // the offenders are of a window that has failed
		f.Offenders, f.Over = nil, 0
	}
	f.Reason = reason
	return true
}

// gcOf sets the figure gc, or the reason why it is not known. The runtime counts the cost of a
// collection when it ends. If none has ended, the CPU profile of the window shows whether
// one was running. t is nil without a profile.
func gcOf(used *process.Figures, t *decode.Table, f *judge.Facts) {
	switch {
	case used.GCKnown:
		f.Figures["gc"] = used.GC
	case t != nil && !judge.Collects(t):
		f.Figures["gc"] = 0
	default:
		f.NoFigures = map[string]string{"gc": process.GCUnknown}
	}
}
