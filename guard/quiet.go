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
	if !measured(r) {
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
// without a hit that a pass takes are below 0.1%, and five windows of a busy core; 16
// times three windows are most of an hour.
const maxRelapses = 4

// calm is how many samples without a hit are asked for after so many relapses: at
// first what a pass of an "absent" budget takes.
func calm(relapses int) int64 {
	return int64(evidence.AbsentNeeded(evidence.AbsentShare, 1, evidence.AbsentAlpha)) << relapses
}

// calmWindows is how many windows in a row a figure has to keep its limit after so
// many relapses. A heap goes up and down with every collection, so one window says
// little of the next; three do at once what the evidence of samples takes longer for.
func calmWindows(relapses int) int { return 3 << relapses }

// What has to be quiet before an alert ends.
const (
	byVerdict = iota // what the windows together say, or the user with a "for"
	bySamples        // so many samples without a hit
	byWindows        // so many windows in a row
)

// endsBy is how an alert of the budget ends.
func endsBy(b budget.Budget) int {
	switch {
	case b.ForWindows > 0 || b.ForTime > 0:
		return byVerdict // the user has said how long to wait
	case kindOf(b) == kindFigures:
		return byWindows
	case b.Rule == "absent" && b.Kind != "goroutine": // these are counted in full
		return bySamples
	}
	return byVerdict
}

// restless reports whether a budget that fires has yet to show that it is kept: a
// figure in some windows in a row, an "absent" budget that fires again and again by
// more than one window. What is hit once in 300 samples is clean in every third
// window, and would be resolved and fire again for ever; so would a heap that swings
// around its limit. So each time that it fires again soon, twice as much is asked for.
func (e *entry) restless() bool {
	if e.alert.State != alert.Firing {
		return false
	}
	switch endsBy(e.budget) {
	case byWindows:
		return e.quiet.windows < calmWindows(e.relapses)
	case bySamples:
		return e.relapses > 0 && e.quiet.samples < calm(e.relapses)
	}
	return false
}

// relapse counts how often the budget has fired soon after it was kept again. before
// is what was quiet until now.
func (e *entry) relapse(before quiet) {
	soon := false
	switch endsBy(e.budget) {
	case byWindows:
		soon = before.windows < calmWindows(maxRelapses)
	case bySamples:
		soon = before.samples < calm(maxRelapses)
	}
	if !soon || e.alert.Firings == 1 {
		e.relapses = 0
		return
	}
	e.relapses = min(e.relapses+1, maxRelapses)
}
