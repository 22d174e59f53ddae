package guard

import (
	"fmt"
	"math"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/unit"
)

// What the whole process uses is counted, by the kernel or the runtime, and not
// sampled. Budgets on it are judged once a period and by the counters of all of it, so
// that they need no profile and no samples.

// counters are what has been used and done at one moment.
type counters struct {
	process.Snapshot
	work readings
}

// period returns when the period began that a window from start to end completes. It
// reports false for one that completes none: those that follow each other closely, and
// those that a jump of CPU has called early.
func (l *looper) period(start, end time.Time) (began time.Time, ok bool) {
	if began = l.completed; began.IsZero() {
		began = start
	} else if end.Sub(began) < l.cfg.Every*3/4 {
		return began, false
	}
	l.completed = end
	return began, true
}

// isCounted reports whether a budget is on what is counted in full.
func isCounted(r *judge.Rule) bool {
	return kindOf(r) == kindFigures || kinds.Of(r.Kind).Taken == kinds.State || hasCounter(r)
}

// hasCounter reports whether a budget is on what the process has used, which a counter
// tells: its CPU, in cores or per unit of work, or its allocations per unit of work.
func hasCounter(r *judge.Rule) bool {
	if r.Class != judge.Process || r.Test != judge.Limited || r.In != "" || len(r.Where) > 0 {
		return false
	}
	return r.Kind == kinds.CPU && (r.Per != "" || r.Dimension == unit.Cores) || r.Kind == kinds.Allocs && r.Per != ""
}

const (
	// A single heavy request is taken for ten of the usual: as many as in a lognormal
	// distribution with a deviation of 1.5. Where requests are not counted, it is taken
	// for half a second of CPU.
	heavyRequests = 10
	heavyCPU      = 500 * time.Millisecond

	// countedAlpha is the chance that a period fails by chance, among so few of these.
	// An alert takes three in a row.
	countedAlpha = 0.01

	// pooledPeriods is how many periods are put together at the most, if none of them has
	// enough work to be judged alone.
	pooledPeriods = 30
)

// count judges a budget by what the counters say of the time since it was last judged,
// and reports whether it is one of these. before is the start of the window.
func (e *entry) count(r *budget.Result, before, now *counters, every time.Duration) bool {
	b := &e.rule
	from := e.counted
	if !hasCounter(b) || r.Idle {
		e.counted = *now
		return false
	}
	if from.At.IsZero() {
		from = *before
	}
	e.counted = *now
	elapsed := now.At.Sub(from.At)
	used, what := (now.CPU - from.CPU).Seconds(), "CPU"
	if b.Kind == kinds.Allocs {
		used, what = float64(now.Allocations-from.Allocations), "allocations"
		if b.Dimension == unit.Bytes {
			used = float64(now.Allocated - from.Allocated)
		}
	}
	over := elapsed.Seconds()
	heavy := over * r.Limit / heavyCPU.Seconds() // how many heavy requests the limit allows
	period := elapsed.Round(time.Second).String()
	if b.Per != "" {
		done, _ := between(from.work, now.work)
		if over = done[b.Per]; over == 0 {
			return false // and the result says why there is none
		}
		heavy = over / heavyRequests
		period = fmt.Sprintf("%.0f of %q in %s", over, b.Per, period)
	}
	if over <= 0 || r.Limit <= 0 {
		return false
	}
	value := used / over
	if math.IsInf(value, 1) { // a counter that grows by next to nothing has counted nothing
		return false
	}
	r.Verdict, r.Share, r.Low, r.High = budget.Pass, value, value, value
	who := fmt.Sprintf("the process at %s, by its %s counted over %s", amount(value, r.Unit), what, period)
	switch {
	case value <= r.Limit:
	case evidence.RateLower(heavy*value/r.Limit, countedAlpha) > heavy:
		r.Verdict = budget.Fail
	default:
		// A single request may decide. So what comes next is judged with it.
		r.Verdict = budget.Inconclusive
		who += ", which is too little work to be judged alone"
		if elapsed < pooledPeriods*every {
			e.counted = from
		}
	}
	r.Reason = fmt.Sprintf("%s; the limit is %s", who, e.Budget.Limit)
	return true
}

// gcOf hands on what garbage collection took, or that it is not known. The runtime
// tells when a collection ends. Where none has, the CPU profile of the window shows
// whether one runs: t is nil where there is none.
func gcOf(used *process.Figures, t *decode.Table, f *judge.Facts) {
	switch {
	case used.GCKnown:
		f.Figures["gc"] = used.GC
	case t != nil && !judge.Collects(t), t == nil && used.GCNone:
		f.Figures["gc"] = 0
	default:
		f.NoFigures = map[string]string{"gc": "no collection has ended, and what one costs is told at its end"}
	}
}
