package check

import (
	"cmp"
	"slices"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
	"github.com/profguard/profguard/internal/work"
)

// withUnlabelled judges the budgets by the samples of work together with those of some
// roots. It returns the findings, by index, that differ: budgets that fail only with the
// roots, budgets that pass only without them because the roots raise their share, and
// budgets that are kept only with them, because work itself does a small part.
func (c *cpuPhase) withUnlabelled(r *run, roots []string) (changed map[int]judge.Finding) {
	changed = map[int]judge.Finding{}
	if len(roots) == 0 {
		return changed
	}
	sum := c.decoder.Merger()
	err := sum.Add(c.all.sum.Table())
	for _, root := range roots {
		err = cmp.Or(err, sum.Add(c.unlabelled[root].Table()))
	}
	if err != nil {
		return changed // there are more stacks than are judged
	}
	for n, f := range judged(part(r.rules, r.plan.cpu), sum.Table(), r.facts(kinds.CPU, c.all.elapsed, c.all.work)) {
		i := r.plan.cpu[n]
		own := r.outcomes[i]
		raised := f.Verdict != evidence.Pass && f.Value > own.Value && mayExceed(r.rules[i], f)
		lowered := f.Verdict == evidence.Pass && f.Value <= r.rules[i].Limit && !r.rules[i].Needs().Baseline // baselines have work alone
		if f.Verdict == evidence.Fail && own.Verdict != evidence.Fail || raised && own.Verdict == evidence.Pass || lowered && own.Verdict == evidence.Fail {
			changed[i] = f
		}
	}
	return changed
}

// mayExceed reports whether a finding may be one of a value above 1.5 times the limit, which a check
// that has no more time would have caught.
func mayExceed(r judge.Rule, f judge.Finding) bool {
	switch {
	case r.Test != judge.Limited:
		return true
	case r.Dimension == unit.Share:
		return f.High >= evidence.NotableShare(r.Limit)
	}
	return f.High >= evidence.Notable*r.Limit
}

// attribute takes back verdicts that the samples of goroutines without the label would
// change: their stacks do not tell whether they work for this check or belong to a test that
// runs in parallel. A failure stays, and says what they change.
func (c *cpuPhase) attribute(r *run) {
	if r.Update { // nobody compares with what is being written
		return
	}
	roots, lost := c.unlabelled.busiest(), r.worker.LostRoot()
	var certain map[int]judge.Finding
	if slices.Contains(roots, lost) {
		certain = c.withUnlabelled(r, []string{lost})
	}
	for i, with := range c.withUnlabelled(r, roots) {
		o := &r.outcomes[i]
		without := o.Finding
		reason := judge.WithOthers{Others: c.unlabelled.of(roots...), With: &with, Without: &without}
		switch _, ours := certain[i]; {
		case o.Verdict == evidence.Fail:
			o.Reason = reason
		case o.Verdict == evidence.Inconclusive && c.blocks.Failed(): // which has ended the check
		case ours:
			*o = o.undecided(mistake, c.lostLabel(lost))
		default:
			*o = o.undecided(unknown, reason)
		}
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
