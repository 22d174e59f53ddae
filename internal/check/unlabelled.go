package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/profiler"
	"github.com/profguard/profguard/internal/unit"
)

// Work may have goroutines without its label do what a budget forbids: a server that
// stood before the check, or a goroutine on which work sets labels on another context.
// Their samples look like those of a test in parallel, which has no label either.
//
// So each sample without a label is counted by its root, the function that its goroutine
// began with. Where a budget is kept, or open, by work's own samples and not kept with
// those of the roots, work runs in one of two blocks and rests in the other, in an order
// that is drawn anew for each pair. What knows nothing of work is busier in the block with
// work in half of the pairs, however unsteady it is: 20 pairs of 20 come about with a
// chance of one in a million.
const (
	// unlabelledLeast is how many samples are worth a look.
	unlabelledLeast = 10
	// rootsMost bounds how many are looked at, the busiest first.
	rootsMost = 8

	// Blocks are longer where less than two samples come in one.
	restLeast, restLongest = 90 * time.Millisecond, time.Second
	pairsMost              = 60 // prove it also where most blocks show nothing, on a busy machine
	// restShare is how much of what is done while work runs may be done while it rests,
	// for what is work's.
	restShare = 0.25
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
	p = byRoot(p)
	for _, s := range p.Sample {
		u.samples[s.Label[label][0]] += s.Value[0]
	}
	u.profiles = append(u.profiles, p)
}

// busiest lists the roots that are busy enough to be looked at.
func (u *unlabelled) busiest() []string {
	var roots []string
	for root, n := range u.samples {
		if n >= unlabelledLeast {
			roots = append(roots, root)
		}
	}
	slices.SortFunc(roots, func(a, b string) int {
		return cmp.Or(cmp.Compare(u.samples[b], u.samples[a]), cmp.Compare(a, b))
	})
	return roots[:min(len(roots), rootsMost)]
}

// text says how much some roots did.
func (u *unlabelled) text(roots []string) string {
	n, who := int64(0), roots[0]
	for _, root := range roots {
		n += u.samples[root]
	}
	if len(roots) > 1 {
		who = fmt.Sprintf("%s and %d more", who, len(roots)-1)
	}
	return fmt.Sprintf("%s of goroutines without this check's label that began with %s", unit.Plural(n, "sample"), who)
}

// withUnlabelled judges the budgets by the samples of work and of some roots.
func (c *cpuPhase) withUnlabelled(r *run, roots []string) ([]budget.Result, error) {
	p, err := profile.Merge(c.unlabelled.profiles)
	if err != nil {
		return nil, err
	}
	keepLabelled(p, roots...)
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
	if len(roots) == 0 || c.broken != nil || c.trial.Failed() {
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
	if len(u.roots) > 0 && returns && !r.worker.isOver() {
		each := time.Duration(2 * float64(c.all.elapsed) / float64(u.samples[roots[0]]))
		u.compare(r, min(max(each, restLeast), restLongest))
	}
	return nil
}

// A follower is a root of which it is to be found out whether it follows work.
type follower struct {
	wins, pairs float64 // in which it was busier while work ran, and in which it was not as busy
	on, off     float64 // samples while work ran, and while it rested
}

// see takes the samples of a pair of blocks.
func (f *follower) see(on, off int64) {
	f.on, f.off = f.on+float64(on), f.off+float64(off)
	if on > off {
		f.wins++
	}
	if on != off {
		f.pairs++
	}
}

// follows reports whether so many pairs with work are proof, with error alpha.
func (f *follower) follows(alpha float64) bool {
	return f.pairs > 0 && f.off <= restShare*f.on && evidence.Lower(f.wins, f.pairs, 1, alpha) > 0.5
}

// isOwn reports whether it is busy on its own account: hardly less while work rests.
func (f *follower) isOwn() bool { return f.off >= unlabelledLeast && f.off > 2*restShare*f.on }

// compare lets work run and rest, and leaves the roots that follow it, or else those of
// which it is not known.
func (u *unlabelled) compare(r *run, each time.Duration) {
	ctx, cancel := context.WithDeadline(context.Background(), r.latest)
	defer cancel()
	alpha := evidence.FailAlpha / float64(len(u.roots))
	followers := map[string]*follower{}
	for _, root := range u.roots {
		followers[root] = &follower{}
	}
	follows := func(root string) bool { return followers[root].follows(alpha) }
	open := func(root string) bool { return !follows(root) && !followers[root].isOwn() }
	r.late = !r.pause()
	for pair := 0; pair < pairsMost && !r.late && ctx.Err() == nil && slices.ContainsFunc(u.roots, open); pair++ {
		var blocks [2]unlabelled
		var lost error
		works := rand.IntN(2)
		for i := range blocks {
			if i == works {
				r.worker.order(0)
			}
			lost = errors.Join(lost, blocks[i].capture(ctx, each))
			if i == works {
				r.late = !r.pause()
			}
		}
		for root, f := range followers {
			if lost == nil {
				f.see(blocks[works].samples[root], blocks[1-works].samples[root])
			}
		}
	}
	if slices.ContainsFunc(u.roots, follows) {
		u.why, open = mistake, follows
	}
	u.roots = slices.DeleteFunc(u.roots, func(root string) bool { return !open(root) })
}

// capture adds the samples of some time.
func (u *unlabelled) capture(ctx context.Context, d time.Duration) error {
	w, err := profiler.Process().Capture(ctx, d)
	if err != nil {
		return err
	}
	p, err := profile.ParseData(w.Data)
	if err == nil {
		u.add(p)
	}
	return err
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
