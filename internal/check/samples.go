package check

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/release"
	"github.com/profguard/profguard/internal/unit"
	"github.com/profguard/profguard/internal/words"
	"github.com/profguard/profguard/internal/work"
)

// A span is some time, with the sum of its profiles and the amount of work in it.
type span struct {
	sum     *decode.Merger // nil without a profile
	elapsed time.Duration
	work    map[string]float64 // by unit
}

// add adds a profile, with the names of d.
func (s *span) add(d *decode.Decoder, t *decode.Table, elapsed time.Duration, work map[string]float64) error {
	if s.sum == nil {
		s.sum, s.work = d.Merger(), map[string]float64{}
	}
	s.elapsed += elapsed
	for unit, n := range work {
		s.work[unit] += n
	}
	return s.sum.Add(t)
}

// A cpuPhase collects the CPU profile of work, and judges it block by block.
type cpuPhase struct {
	of      []int // the budgets, by their indices
	blocks  *judge.Blocks
	decoder decode.Decoder
	cover   coverage // of the good windows

	group  span           // the windows of the next block
	all    span           // the blocks, with only the samples of work
	pieces release.Pieces // the same blocks
	last   work.Done

	loop   int64  // samples of the loop that calls work
	lost   string // why a window could not be used
	broken error

	// Samples without the label of this check:
	unlabelled decode.Merger
	roots      map[string]int64
	lostRoot   string // that of work itself, which has replaced the label
	relabelled int64  // the samples of that root

	// What is known when it is over:
	own, both *decode.Table // the samples of work, without those without the label and with them
	facts     judge.Facts
	findings  []judge.Finding
}

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
