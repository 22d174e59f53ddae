package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/unit"
	"github.com/profguard/profguard/internal/work"
)

// unlabelledLeast is how many samples are worth a look.
const unlabelledLeast = 10

// unlabelled are the samples without the label of any running check, by their roots.
type unlabelled struct {
	profiles []*profile.Profile // with the root in the place of the label
	samples  map[string]int64
}

// add adds the samples of a profile that have no label.
func (u *unlabelled) add(p *profile.Profile) {
	if u.samples == nil {
		u.samples = map[string]int64{}
	}
	p, samples := work.ByRoot(p)
	for root, n := range samples {
		u.samples[root] += n
	}
	u.profiles = append(u.profiles, p)
}

// busiest lists the roots with enough samples to be looked at.
func (u *unlabelled) busiest() []string {
	roots := slices.SortedFunc(maps.Keys(u.samples), func(a, b string) int {
		return cmp.Or(cmp.Compare(u.samples[b], u.samples[a]), cmp.Compare(a, b))
	})
	return slices.DeleteFunc(roots, func(root string) bool { return u.samples[root] < unlabelledLeast })
}

// text says how many samples some roots have.
func (u *unlabelled) text(roots []string) string {
	n := int64(0)
	for _, root := range roots {
		n += u.samples[root]
	}
	text := unit.Plural(n, "sample") + " of goroutines without this check's label"
	if n > 0 {
		text += " that began with " + strings.Join(roots, ", ")
	}
	return text
}

// withUnlabelled judges the budgets by the samples of work together with those of some
// roots. It returns the results, by index, that differ: budgets that fail only with the
// roots, and budgets that pass only without them because the roots raise their share.
func (c *cpuPhase) withUnlabelled(r *run, roots []string) (changed map[int]budget.Result) {
	changed = map[int]budget.Result{}
	if len(roots) == 0 {
		return changed
	}
	p := work.Merged(c.unlabelled.profiles...)
	work.KeepLabelled(p, roots...)
	p = work.Merged(append(c.all.profiles, p)...)
	for n, res := range judged(part(r.set, r.plan.cpu), p, r.facts("cpu", c.all.elapsed, c.all.work)) {
		i := r.plan.cpu[n]
		own := r.outcomes[i]
		raised := res.Verdict != budget.Pass && res.Share > own.Share
		if res.Verdict == budget.Fail && own.Verdict != budget.Fail || raised && own.Verdict == budget.Pass {
			changed[i] = res
		}
	}
	return changed
}

// attribute takes back verdicts that the samples of goroutines without the label would
// change. If the calls of work return, so that work can pause, it first finds out which of
// these goroutines do their work for this check.
func (c *cpuPhase) attribute(r *run, returns bool) {
	roots := c.unlabelled.busiest()
	if c.blocks.Failed() || r.Update || len(c.withUnlabelled(r, roots)) == 0 {
		return
	}
	var follow []string
	if returns {
		until := r.ends
		if r.busy() {
			until = r.latest
		}
		follow, roots = r.worker.Follow(until, roots, float64(c.unlabelled.samples[roots[0]])/c.all.elapsed.Seconds())
	}
	c.takeBack(r, follow, roots)
}

// takeBack makes the outcomes inconclusive that the samples of roots would change: of those
// that work for this check, or of these and others together, of which that is not known.
func (c *cpuPhase) takeBack(r *run, follow, unsure []string) {
	all := slices.Concat(follow, unsure)
	certain, changed := c.withUnlabelled(r, follow), c.withUnlabelled(r, all)
	maps.Copy(changed, certain)
	for i, with := range changed {
		roots, why, says := all, unknown, "of which it is not known whether they work for this check (if they belong to a test in parallel, run this test by itself)"
		if _, ok := certain[i]; ok {
			roots, why, says = follow, mistake, "which run while work runs and rest while it rests"
		}
		reason := fmt.Sprintf("%s, with %s, %s: let work call what they call (a server's handler), or start them inside work, for many requests a call",
			with.Reason, c.unlabelled.text(roots), says)
		o := &r.outcomes[i]
		if o.Verdict == budget.Pass {
			reason += ". Without them it is: " + o.Reason
		}
		o.Verdict, o.cause, o.Reason = budget.Inconclusive, why, reason
	}
}
