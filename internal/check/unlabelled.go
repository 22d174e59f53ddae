package check

import (
	"cmp"
	"maps"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/work"
)

// enough is how many samples of a root are worth a look, and how many of its goroutines must
// have come with the calls to be taken for ones that work may leave: a server makes some for
// all calls.
const enough = 10

// unlabelled are profiles of the samples without the label of any running check, with their
// roots in its place.
type unlabelled []*profile.Profile

// busiest lists the roots with enough samples to be looked at.
func (u unlabelled) busiest() []string {
	samples := work.OfRoots(u...)
	roots := slices.SortedFunc(maps.Keys(samples), func(a, b string) int {
		return cmp.Or(cmp.Compare(samples[b], samples[a]), cmp.Compare(a, b))
	})
	return slices.DeleteFunc(roots, func(root string) bool { return samples[root] < enough })
}

// of are the samples of some roots.
func (u unlabelled) of(roots ...string) judge.Others {
	others, samples := judge.Others{Roots: roots}, work.OfRoots(u...)
	for _, root := range roots {
		others.Samples += samples[root]
	}
	return others
}

// withUnlabelled judges the budgets by the samples of work together with those of some
// roots. It returns the findings, by index, that differ: budgets that fail only with the
// roots, budgets that pass only without them because the roots raise their share, and
// budgets that are kept only with them, because work itself does a small part.
func (c *cpuPhase) withUnlabelled(r *run, roots []string) (changed map[int]judge.Finding) {
	changed = map[int]judge.Finding{}
	if len(roots) == 0 {
		return changed
	}
	p := work.Merged(c.unlabelled...)
	work.KeepLabelled(p, roots...)
	p = work.Merged(append(c.all.profiles, p)...)
	for n, f := range judged(part(r.rules, r.plan.cpu), p, r.facts(kinds.CPU, c.all.elapsed, c.all.work)) {
		i := r.plan.cpu[n]
		own := r.outcomes[i]
		raised := f.Verdict != evidence.Pass && f.Value > own.Value
		lowered := f.Verdict == evidence.Pass && f.Value <= r.rules[i].Limit && r.rules[i].Test != judge.Grows // baselines have work alone
		if f.Verdict == evidence.Fail && own.Verdict != evidence.Fail || raised && own.Verdict == evidence.Pass || lowered && own.Verdict == evidence.Fail {
			changed[i] = f
		}
	}
	return changed
}

// attribute takes back verdicts that the samples of goroutines without the label would
// change. If the calls of work return, so that work can pause, it first finds out which of
// these goroutines do their work for this check. A failure stays, and says what they change.
func (c *cpuPhase) attribute(r *run, returns bool) {
	if r.Update {
		return
	}
	roots := c.unlabelled.busiest()
	changed := c.withUnlabelled(r, roots)
	if c.blocks.Failed() {
		for i, with := range changed {
			if o := &r.outcomes[i]; o.Verdict == evidence.Fail {
				o.Reason = o.beside(c.unlabelled.of(roots...), with)
			}
		}
		return
	}
	if len(changed) == 0 {
		return
	}
	var follow []string
	if returns {
		until := r.ends
		if r.busy() {
			until = r.latest
		}
		follow, roots = r.worker.Follow(until, roots, float64(c.unlabelled.of(roots[0]).Samples)/c.all.elapsed.Seconds())
	}
	c.takeBack(r, follow, roots)
}

// beside is the reason of an outcome that is another one with the samples of others.
func (o *outcome) beside(others judge.Others, with judge.Finding) judge.WithOthers {
	without := o.Finding
	return judge.WithOthers{Others: others, With: &with, Without: &without}
}

// takeBack makes the outcomes inconclusive that the samples of roots would change: of those
// that work for this check, or of these and others together, of which that is not known.
func (c *cpuPhase) takeBack(r *run, follow, unsure []string) {
	all := slices.Concat(follow, unsure)
	certain, changed := c.withUnlabelled(r, follow), c.withUnlabelled(r, all)
	maps.Copy(changed, certain)
	followed, others := c.unlabelled.of(follow...), c.unlabelled.of(all...)
	for i, with := range changed {
		o := &r.outcomes[i]
		reason := o.beside(others, with)
		o.cause = unknown
		if _, ok := certain[i]; ok {
			reason.Others, reason.Certain, o.cause = followed, true, mistake
		}
		o.Verdict, o.Reason, o.Notes = evidence.Inconclusive, reason, judge.Notes{}
	}
}

// takeBackGoroutines takes back that budgets on goroutines are kept, if goroutines without the
// label have come with the calls, one for two calls or more: work may have left them in a
// server that runs since before the check.
func (r *run) takeBackGoroutines() {
	found := judge.MoreGoroutines{Calls: r.worker.Calls.Load()}
	for root, n := range work.Unlabelled(r.id) {
		if n -= r.unlabelled[root]; n > found.Come || n == found.Come && root < found.Root {
			found.Come, found.Root = n, root
		}
	}
	if found.Come < max(enough, found.Calls/2) {
		return
	}
	for _, i := range r.plan.ofGoroutines(r.rules) {
		if o := &r.outcomes[i]; o.Verdict == evidence.Pass {
			found.Of = o.Reason
			o.Verdict, o.cause, o.Reason = evidence.Inconclusive, unknown, found
		}
	}
}
