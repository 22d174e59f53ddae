package guard

import (
	"fmt"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
)

// reason is why the budget stands as it does. That is the reason of its last window,
// but for an alert that goes on although this window did not fail: then it is what
// the alert waits for.
func (e *entry) reason() string {
	r := e.result
	if e.alert.State != alert.Firing || r.Verdict == budget.Fail {
		return r.Reason
	}
	why := r.Reason
	if e.unjudged > 0 {
		// An idle window is no proof, so a fix that leaves the process idle ends no alert.
		why = fmt.Sprintf("firing; nothing to judge for %s: %s", plural(e.unjudged, "window"), r.Reason)
	}
	switch wait := e.waitsFor(); {
	case wait == "":
		return why
	case e.unjudged == 0 && endsBy(e.budget) == bySamples:
		return wait // of one window it says the same
	default:
		return why + "; " + wait
	}
}

// waitsFor says how far a firing alert is on the way to its end, where that is counted.
func (e *entry) waitsFor() string {
	switch q := e.quiet; endsBy(e.budget) {
	case bySamples:
		if q.windows == 0 {
			return fmt.Sprintf("%d samples without a hit are needed to say that it is gone", calm(e.relapses))
		}
		return fmt.Sprintf("none of %s in the last %s; %d are needed to say that it is gone",
			plural(int(q.samples), "sample"), plural(q.windows, "window"), calm(e.relapses))
	case byWindows:
		return fmt.Sprintf("still firing: it takes %d windows in a row that pass, and there were %d", calmWindows(e.relapses), q.windows)
	}
	return ""
}
