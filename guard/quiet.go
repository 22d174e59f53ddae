package guard

import (
	"fmt"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/page"
)

// A quiet is what windows have shown since the last one that failed.
type quiet struct {
	windows int
	samples int64
	value   float64 // the sum of what was measured, weighed by samples
}

// add adds a window that did not fail.
func (q *quiet) add(r budget.Result) {
	if r.Samples == 0 && r.Verdict == budget.Inconclusive {
		return // lost, or idle
	}
	q.windows++
	q.samples += r.Samples
	q.value += r.Share * float64(r.Samples)
}

// reason says why a budget is kept again, in one sentence. What a single window has
// proved is in its own reason; otherwise all have proved it together, and the reason
// of the last is that it does not suffice.
func (q quiet) reason(r budget.Result) string {
	absent := r.Budget.Rule == "absent" && r.Hits == 0 && q.value == 0
	if q.samples == 0 || q.windows < 2 && r.Verdict == budget.Pass || r.Verdict == budget.Pass && !absent {
		return r.Reason
	}
	over := fmt.Sprintf("%d samples in the last %d windows", q.samples, q.windows)
	if q.windows == 1 {
		over = fmt.Sprintf("%d samples in the last window", q.samples)
	}
	if absent {
		return "none of " + over
	}
	who := r.Budget.Subject
	switch who {
	case "no function", "no package":
		who = "the largest"
	case "process":
		who = "the process"
	}
	return fmt.Sprintf("%s at %s (%s), the limit is %s", who, page.Amount(q.value/float64(q.samples), r.Unit), over, r.Budget.Limit)
}

// maxRelapses bounds how often what is asked for is doubled. 16 times the 299 samples
// without a hit that a pass takes are below 0.1%, and five windows of a busy core.
const maxRelapses = 4

// calm is how many samples without a hit are asked for after so many relapses: at
// first what a pass of an "absent" budget takes.
func calm(relapses int) int64 {
	return int64(evidence.AbsentNeeded(evidence.AbsentShare, 1, evidence.AbsentAlpha)) << relapses
}

// restless reports whether an "absent" budget that fires again and again has yet to
// show that it is kept. What is hit once in 300 samples is clean in every third
// window, and would be resolved and fire again for ever. So each time that it fires
// again soon, twice as many samples without a hit are asked for.
func (e *entry) restless() bool {
	return e.relapses > 0 && e.alert.State == alert.Firing && e.quiet.samples < calm(e.relapses)
}

// relapse counts how often the budget has fired soon after it was kept again. before
// is what was quiet until now.
func (e *entry) relapse(before quiet) {
	switch {
	case e.budget.Rule != "absent" || e.budget.Kind == "goroutine" || e.budget.ForWindows > 0 || e.budget.ForTime > 0:
		// These are counted in full, or the user has said how long to wait.
	case e.alert.Firings > 1 && before.samples < calm(maxRelapses):
		e.relapses = min(e.relapses+1, maxRelapses)
	default:
		e.relapses = 0
	}
}
