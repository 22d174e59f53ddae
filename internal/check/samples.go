package check

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
	"github.com/profguard/profguard/internal/words"
	"github.com/profguard/profguard/internal/work"
)

// This file has what the samples of a cpuPhase say, with the label and without.

// tooSmall reports whether it is beyond doubt that calling work takes more CPU than work
// itself. Samples do not tell such short work from the loop around it exactly enough for
// shares.
func (c *cpuPhase) tooSmall() bool {
	both := float64(c.loop + c.blocks.Samples())
	return both > 0 && evidence.Lower(float64(c.loop), both, 1, evidence.FailAlpha) > 0.5
}

const (
	// enough is how many samples of a root are worth a look where none fails a budget, and how many of its goroutines must
	// have come with the calls to be taken for ones that work may leave: a server makes some for
	// all calls.
	enough = 10

	// lostLeast is the number of samples without the label, in a second of a core, from which the
	// check does not wait for samples with it, where these are fewer.
	lostLeast = 100

	// asleepRate is the number of samples a second below which work is called asleep: 2%
	// of a core.
	asleepRate = 2
)

// hasLostLabel reports whether most samples of work do not have the label, because work has
// replaced it.
func (c *cpuPhase) hasLostLabel() bool {
	return c.relabelled >= lostLeast && c.relabelled > c.blocks.Samples()
}

// busiest lists the roots with at least so many samples.
func (c *cpuPhase) busiest(least int64) []string {
	roots := slices.SortedFunc(maps.Keys(c.roots), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.roots[b], c.roots[a]), cmp.Compare(a, b))
	})
	return slices.DeleteFunc(roots, func(root string) bool { return c.roots[root] < least })
}

// without are the samples without the label, of roots with enough of them. Where a few make a budget fail (one is proof
// that a function is not absent), they are those of all roots.
func (c *cpuPhase) without(fails bool) (others words.Others) {
	if others.Roots = c.busiest(enough); len(others.Roots) == 0 && fails {
		others.Roots = c.busiest(1)
	}
	for _, root := range others.Roots {
		others.Samples += c.roots[root]
	}
	return others
}

// differs reports whether a finding matters that is on the samples of work together with those without the label: a budget
// fails only with them, or, unless they are few, passes only without them because they raise its share, or is kept only with
// them, because work itself does a small part.
func differs(rule judge.Rule, own, with judge.Finding, few bool) bool {
	raised := with.Verdict != evidence.Pass && with.Value > own.Value && mayExceed(rule, with)
	lowered := with.Verdict == evidence.Pass && with.Value <= rule.Limit && !rule.Needs().Baseline // baselines have work alone
	return with.Verdict == evidence.Fail && own.Verdict != evidence.Fail || !few && (raised && own.Verdict == evidence.Pass || lowered && own.Verdict == evidence.Fail)
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

// outcome is what the samples of work say about budget n.
func (c *cpuPhase) outcome(r *run, n int) outcome {
	o, rule := outcome{Finding: c.findings[n], kind: kinds.CPU}, r.rules[c.of[n]]
	// Without samples of work, or with too few for the CPU that was used, nothing passes.
	unseen := c.blocks.Samples() == 0 && o.Samples == 0 || c.cover.isLow()
	if o.Verdict == evidence.Pass && unseen && !r.isUnlinked(rule.Subject) || c.tooSmall() && isShare(rule) {
		o.Verdict, o.Offenders, o.Over = evidence.Inconclusive, nil, 0
	}
	if o.Verdict == evidence.Inconclusive {
		var other judge.Reason
		if o.cause, other = c.explain(r, n, o.Reason); other != nil {
			o.Reason, o.Notes = other, judge.Notes{}
		}
	}
	return o
}

// explain says why budget n of the phase is inconclusive. The reason is nil if it is the one that
// was found.
func (c *cpuPhase) explain(r *run, n int, found judge.Reason) (cause, judge.Reason) {
	calls, rule := r.worker.Calls.Load(), r.rules[c.of[n]]
	all := c.blocks.Samples() + c.loop
	each := time.Duration(float64(c.all.elapsed) / max(1, c.all.work[work.Call])) // by the clock
	small := words.SmallWork{Loop: c.loop, Samples: all, Call: each}
	switch {
	case c.hasLostLabel():
		return mistake, c.lostLabel()
	case c.tooSmall() && isShare(rule):
		return mistake, small
	case c.cover.isLow():
		unsampled := words.Unsampled{Samples: c.cover.samples, Due: c.cover.due(), CPU: c.cover.cpu, Busy: r.busy()}
		if unsampled.Busy {
			return noTime, unsampled
		}
		return mistake, unsampled
	case c.unreachable(r, n):
		return mistake, words.OutOfReach{Of: found}
	case rule.Per != "" && c.all.work[work.Call] >= 2 && c.all.work[rule.Per] == 0:
		return mistake, words.NoUnit{Calls: calls}
	case c.tooSmall(): // more time decides an amount, too
		return noTime, small
	case !r.busy() && time.Since(r.begun) >= leastTime && float64(all) < asleepRate*c.all.elapsed.Seconds():
		return mistake, words.Asleep{Samples: c.blocks.Samples(), Elapsed: c.all.elapsed, Calls: calls, Others: c.without(false)}
	}
	return noTime, nil
}

// beside is an outcome that samples without the label would change: their stacks do not tell whether they work for this
// check or belong to a test that runs in parallel. A failure stays, and says what they change.
func (c *cpuPhase) beside(o outcome, with judge.Finding) outcome {
	without := o.Finding
	reason := words.WithOthers{Others: c.without(with.Verdict == evidence.Fail), With: &with, Without: &without}
	switch {
	case o.Verdict == evidence.Fail:
		o.Reason = reason
		return o
	case o.Verdict == evidence.Inconclusive && c.blocks.Failed(): // which has ended the check
		return o
	case reason.Others.Roots[0] == c.lostRoot:
		return o.undecided(mistake, c.lostLabel())
	}
	return o.undecided(unknown, reason)
}

func (c *cpuPhase) lostLabel() words.LostLabel {
	return words.LostLabel{Samples: c.relabelled, Kept: c.blocks.Samples(), Function: c.lostRoot}
}
