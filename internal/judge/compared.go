package judge

import (
	"context"
	"fmt"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/release"
	"github.com/profguard/profguard/internal/tree"
	"github.com/profguard/profguard/internal/unit"
)

// This file judges growth in a test as that of builds: the baseline is the build before, and the sum of the blocks this
// one. So a function that was renamed fails no test either.
//
// Two things differ from a guard. What a test costs in a second says nothing, because it runs at full load. And a test
// must end with a verdict that it also has tomorrow. So it looks at the blocks a few times and not at each, confirms a
// failure by as many blocks again, and at the end passes what seems to be within the limit, if three times the
// limit would have shown.

// builds are the baseline of a test, and the newest block. All rules of a test share them: a tree is made once for
// each block, whatever the number of budgets.
type builds struct {
	labels   []string // whose values are compared
	counter  tree.Counter
	baseline *decode.Table
	before   *release.Side
	block    *tree.Tree // nil if it is not comparable
}

const (
	// looks is the factor by which the blocks grow from one comparison of all blocks to the next. Each comparison is
	// one more chance of an error, and costs a millisecond: a factor makes ten of them of a hundred blocks.
	looks = 1.25
	// leastBlocks is the number of blocks from which on their differences are known.
	leastBlocks = 12
	// mostConfirm is the number of blocks that confirm a failure at the most.
	mostConfirm = 40
	// atEnd times the limit is what would have been caught where a function that seems to be within the limit
	// passes at the end: a test must not be flaky because a call costs less.
	atEnd = 3
)

// set makes a block the newest. Blocks of one process share a counter, so names are learned once; the baseline is of
// another process, whose addresses are not those of this one.
func (b *builds) set(m *measurement) (err error) {
	b.block = nil
	if _, ok := m.layout.Value(kinds.CPU, unit.Count); !ok || m.base.problem != nil {
		return nil
	}
	ctx, base := context.Background(), m.facts.Baseline
	b.counter.Module, b.counter.Modules, b.counter.Labels = m.facts.Module, m.facts.Modules, b.labels
	if base != b.baseline {
		counter := tree.Counter{Module: m.facts.Module, Modules: m.facts.Modules, Labels: b.labels} // of another process
		if b.before, err = sideOf(ctx, &counter, "the baseline", base, 0, m.facts.BaselineWork); err != nil {
			return err
		}
		b.baseline = base
	}
	b.block, err = b.counter.Tree(ctx, m.t)
	return err
}

// block adds a block to the sum, unless the rule has exceptions from one caller, which are known to growth only.
func (r released) block(t *tally, m *measurement) {
	r.growth.block(t, m)
	if len(r.Routes) > 0 || m.unjudged(r.rule) != nil {
		return
	}
	if c, why := r.grown(m); why != nil || m.builds.block == nil || c.samples() == 0 {
		return
	}
	if t.blocks == nil {
		t.before, t.blocks = m.builds.before, &release.Side{Build: release.Build{Version: "this build"}}
	}
	t.blocks.Add(m.builds.block, release.Piece{CPU: release.SampledCPU(m.t), Work: m.facts.Work})
}

// verdict is that of the comparison of all blocks so far, which is made again when they have grown by a quarter. Before
// the last block, a failure takes a second proof with twice as many blocks, or forty more: the bounds know how
// blocks differ, but not that the first calls of work cost more than all others, or that a burst lasts for
// all blocks so far.
func (r released) verdict(t *tally, last bool) evidence.Verdict {
	if t.blocks == nil {
		return evidence.Inconclusive
	}
	n := t.blocks.Pieces.Count
	if n >= leastBlocks && (n >= looks*t.looked || last && n > t.looked) {
		t.looked, t.of = n, t.compare(r)
		if r.decided(t.of, false) != evidence.Fail {
			t.failed = 0
		} else if t.failed == 0 {
			t.failed = n
		}
	}
	if t.of == nil || t.failed > 0 && !last && t.looked < t.failed+min(t.failed, mostConfirm) {
		return evidence.Inconclusive
	}
	return r.decided(t.of, last)
}

// compare compares the blocks so far with the baseline.
func (t *tally) compare(r released) *release.Comparison {
	o := r.options()
	if o.Per == "" {
		o.Per = commonUnit(t.blocks.Pieces.Work, t.before.Pieces.Work)
	}
	c, err := release.Compare(context.Background(), t.before, t.blocks, o)
	if err != nil {
		return &release.Comparison{Why: err.Error()}
	}
	for i := range c.Functions {
		if f := &c.Functions[i]; r.Per == "" && f.Named && f.Share.Value <= r.Limit {
			f.Named, f.Status = false, release.Undecided
		}
	}
	if x := c.Subject; x != nil && r.Per == "" && x.Status == release.Grown && x.Share.Value <= r.Limit {
		x.Status = release.Undecided
	}
	return c
}

// decided is the verdict by a comparison. It adds passes to it: a function whose growth is not decided, or whose cost has
// moved, keeps the budget if its growth is surely not notable. Without a unit in the rule its share will do as
// well, because on a slower machine all functions cost more, and no share grows.
func (r released) decided(c *release.Comparison, last bool) evidence.Verdict {
	verdict, within := r.verdictOf(c), c.Why == ""
	if verdict != evidence.Inconclusive {
		return verdict
	}
	switch x := c.Subject; {
	case r.Class == Process:
		within = within && r.isWithin(c.Process, last)
	case r.Class == Pattern:
		within = x != nil && (within && r.isWithin(x.Points, last) || r.keepsShare(x, last))
	default:
		for i := range c.Functions {
			f := &c.Functions[i]
			if f.Status == release.Moved {
				within = within && (r.isWithin(f.Rest, last) || r.Per == "" && r.isWithin(f.RestShare, last))
				continue
			}
			within = within && (f.Status != release.Undecided || r.isWithin(f.Points, last) || r.keepsShare(f, last))
		}
	}
	if within {
		return evidence.Pass
	}
	return evidence.Inconclusive
}

// isWithin reports whether a growth is surely not notably more than the limit. At the end it is enough that it does not
// seem to be more than the limit, and that three times as much would have shown: a test that ends undecided
// protects from less than one that finds large growth.
func (r released) isWithin(g release.Growth, last bool) bool {
	return g.High < evidence.Notable*r.Limit || last && g.Value <= r.Limit && g.High < atEnd*r.Limit
}

// keepsShare reports whether a function has not grown by its share, where the rule says nothing else.
func (r released) keepsShare(f *release.Function, last bool) bool {
	return r.Per == "" && (f.Share.High < evidence.Edge(r.Limit) || last && f.Share.High < evidence.Notable*r.Limit)
}

func (r released) closed(t *tally, m *measurement, all Finding) Finding {
	c, why := r.grown(m)
	if t.blocks == nil || why != nil || m.unjudged(r.rule) != nil {
		return all
	}
	verdict := r.verdict(t, true)
	switch {
	case t.of == nil:
		return Finding{Samples: c.samples(), Notes: Notes{Cut: c.cut(verdict)}, Reason: NoRelease{fmt.Sprintf("%.0f blocks are too few to compare with the baseline: it takes %d", t.blocks.Pieces.Count, leastBlocks)}}
	case t.of.Why != "" && verdict == evidence.Inconclusive:
		return Finding{Samples: c.samples(), Notes: Notes{Cut: c.cut(verdict)}, Reason: NoRelease{t.of.Why}}
	case c.nameless(c.sums) != nil && verdict != evidence.Fail:
		return all
	}
	f := r.findingOf(t.of)
	f.Verdict = verdict
	if of, is := f.Reason.(Released); is && of.Function != nil && verdict == evidence.Pass && of.Function.Share.High < f.High {
		share := of.Function.Share
		f.Value, f.Low, f.High, f.Reason = share.Value, share.Low, share.High, Growth{Before: t.of.Before.Samples}
	}
	if r.Class.IsEach() {
		c.locate(f.Offenders)
	} else {
		f.Offenders, f.Over = all.Offenders, all.Over
	}
	return f
}
