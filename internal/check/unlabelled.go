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

const (
	// unlabelledLeast is how many samples are worth a look.
	unlabelledLeast = 10
	// rootsMost bounds how many roots are looked at, the busiest first.
	rootsMost = 8
)

// unlabelled are the samples without the label of any check, by their roots.
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
	roots = slices.DeleteFunc(roots, func(root string) bool { return u.samples[root] < unlabelledLeast })
	return roots[:min(len(roots), rootsMost)]
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
// roots, and budgets that pass only without them.
func (c *cpuPhase) withUnlabelled(r *run, roots []string) (changed map[int]budget.Result) {
	if len(roots) == 0 {
		return nil
	}
	p := work.Merged(c.unlabelled.profiles...)
	work.KeepLabelled(p, roots...)
	p = work.Merged(append(c.all.profiles, p)...)
	changed = map[int]budget.Result{}
	for n, res := range judged(part(r.set, r.plan.cpu), p, r.facts("cpu", c.all.elapsed, c.all.work)) {
		i := r.plan.cpu[n]
		own := r.outcomes[i].Verdict
		if res.Verdict == budget.Fail && own != budget.Fail || res.Verdict != budget.Pass && own == budget.Pass {
			changed[i] = res
		}
	}
	return changed
}

// attribute takes back verdicts that the samples of goroutines without the label would
// change. If the calls of work return, so that work can pause, it first finds out which of
// these goroutines do their work for this check.
func (c *cpuPhase) attribute(r *run, returns bool) {
	if c.trial.Failed() || r.Update {
		return
	}
	roots := c.unlabelled.busiest()
	if len(c.withUnlabelled(r, roots)) == 0 {
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

// takeBack takes back the verdicts that the samples of roots would change: of those that work
// for this check, or of these and others together, of which that is not known.
func (c *cpuPhase) takeBack(r *run, follow, unsure []string) {
	const remedy = "let work call what they call (a server's handler), or start them inside work, for many requests a call"
	certain := c.withUnlabelled(r, follow)
	if len(unsure) > 0 {
		roots := slices.Concat(follow, unsure)
		for i, with := range c.withUnlabelled(r, roots) {
			if _, known := certain[i]; !known {
				r.outcomes[i].takeBack(unknown, fmt.Sprintf("%s, with %s, of which it is not known whether they work for this check. If they do: %s. "+
					"If they belong to a test in parallel, run this test by itself", with.Reason, c.unlabelled.text(roots), remedy))
			}
		}
	}
	for i, with := range certain {
		r.outcomes[i].takeBack(mistake, fmt.Sprintf("%s, with %s, which run while work runs and rest while it rests: they stood before the check, "+
			"or lost its label. %s", with.Reason, c.unlabelled.text(follow), remedy))
	}
}

// takeBack makes the outcome inconclusive.
func (o *outcome) takeBack(why cause, reason string) {
	if o.Verdict == budget.Pass {
		reason += ". Without them it is: " + o.Reason
	}
	o.Verdict, o.cause, o.Reason = budget.Inconclusive, why, reason
}
