package check

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/unit"
	"github.com/profguard/profguard/internal/work"
)

const (
	// unlabelledLeast is how many samples are worth a look.
	unlabelledLeast = 10
	// rootsMost bounds how many roots are looked at, the busiest first.
	rootsMost = 8
)

// unlabelled are the samples without any check's label, by their roots.
type unlabelled struct {
	profiles []*profile.Profile // with the root for a label
	samples  map[string]int64
	roots    []string // with which a budget is not kept, and which are not known to be others'
	why      cause    // mistake where they are proven to be work's
}

// add adds what a profile has without a label.
func (u *unlabelled) add(p *profile.Profile) {
	if u.samples == nil {
		u.samples = map[string]int64{}
	}
	p = work.ByRoot(p)
	for root, n := range work.Roots(p) {
		u.samples[root] += n
	}
	u.profiles = append(u.profiles, p)
}

// busiest lists the roots that are busy enough to be looked at.
func (u *unlabelled) busiest() []string {
	roots := slices.SortedFunc(maps.Keys(u.samples), func(a, b string) int {
		return cmp.Or(cmp.Compare(u.samples[b], u.samples[a]), cmp.Compare(a, b))
	})
	roots = slices.DeleteFunc(roots, func(root string) bool { return u.samples[root] < unlabelledLeast })
	return roots[:min(len(roots), rootsMost)]
}

// text says how much some roots did.
func (u *unlabelled) text(roots []string) string {
	n := int64(0)
	for _, root := range roots {
		n += u.samples[root]
	}
	return fmt.Sprintf("%s of goroutines without this check's label that began with %s", unit.Plural(n, "sample"), strings.Join(roots, ", "))
}

// withUnlabelled judges the budgets by the samples of work and of some roots.
func (c *cpuPhase) withUnlabelled(r *run, roots []string) ([]budget.Result, error) {
	p, err := profile.Merge(c.unlabelled.profiles)
	if err != nil {
		return nil, err
	}
	work.KeepLabelled(p, roots...)
	if p, err = profile.Merge(append(c.all.profiles, p)); err != nil {
		return nil, err
	}
	return judged(part(r.set, r.plan.cpu), p, r.facts("cpu", c.all.elapsed, c.all.work)), nil
}

// attribute finds out whose the samples without a label are, where a budget is exceeded
// with them, or kept only without them. Calls that do not return can't be made to rest:
// then it is not known.
func (c *cpuPhase) attribute(r *run, returns bool) error {
	u, roots := &c.unlabelled, c.unlabelled.busiest()
	if len(roots) == 0 || c.broken != nil || c.trial.Failed() || r.Update {
		return nil
	}
	with, err := c.withUnlabelled(r, roots)
	if err != nil {
		return err
	}
	for n, res := range with {
		if res.Verdict == budget.Fail || res.Verdict != budget.Pass && c.trial.Closing(n) == evidence.Pass {
			u.roots, u.why = roots, unknown
		}
	}
	if len(u.roots) == 0 || !returns || r.worker.IsOver() {
		return nil
	}
	ctx, cancel := context.WithDeadline(context.Background(), r.latest)
	defer cancel()
	follow, open, ok := r.worker.Follow(ctx, roots, float64(u.samples[roots[0]])/c.all.elapsed.Seconds())
	if r.late, u.roots = !ok, open; len(follow) > 0 {
		u.roots, u.why = follow, mistake
	}
	return nil
}

// reveal takes back what is kept only because goroutines without the label did the work.
func (c *cpuPhase) reveal(r *run) error {
	u := &c.unlabelled
	if len(u.roots) == 0 {
		return nil
	}
	const remedy = "let work call what they call (a server's handler), or start them inside work, for many requests a call"
	say := "which run while work runs and rest while it rests: they stood before the check, or lost its label. " + remedy
	if u.why == unknown {
		say = "of which it is not known whether they work for this check. If they do: " + remedy +
			". If they belong to a test in parallel, run this test by itself"
	}
	with, err := c.withUnlabelled(r, u.roots)
	if err != nil {
		return err
	}
	for n, i := range r.plan.cpu {
		res := &r.outcomes[i]
		if with[n].Verdict == budget.Fail && res.Verdict != budget.Fail || with[n].Verdict != budget.Pass && res.Verdict == budget.Pass {
			own := ""
			if res.Verdict == budget.Pass {
				own = ". Without them it is: " + res.Reason
			}
			res.Verdict, res.cause = budget.Inconclusive, u.why
			res.Reason = fmt.Sprintf("%s, with %s, %s%s", with[n].Reason, u.text(u.roots), say, own)
		}
	}
	return nil
}
