package check

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/decode"
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
// those of the roots, an experiment tells whose they are: work runs in one of two blocks
// and rests in the other, in an order that is drawn anew for each pair. What knows
// nothing of work is busier in the block with work in half of the pairs, however unsteady
// it is: 20 pairs of 20 come about with a chance of one in a million.
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
	samples map[string]int64
	tried   bool     // the experiment was made
	roots   []string // with which a budget is not kept, and which are not known to be others'
	why     cause    // mistake where they are proven to be work's
}

// rootOf names the function that a goroutine without a check's label began with, if
// what it does may be work's doing all the same. A test's own goroutine is not, nor are
// the runtime's and profguard's. On top of the loop is work that has put other labels
// in the place of the check's.
func rootOf(stack []string) (root string, ok bool) {
	if i := slices.IndexFunc(stack, isLoop); i >= 0 {
		return stack[max(i-1, 0)], workOf(stack) > 0
	}
	for i := len(stack) - 1; i >= 0; i-- {
		root = stack[i]
		if !isAnyStart(root) {
			break
		}
	}
	for _, prefix := range []string{
		"runtime.", "runtime/pprof.", "internal/runtime/", "testing.",
		profilerPackage + ".", guardPackage + ".(*", guardPackage + ".start.", checkPackage + ".startWorker.",
	} {
		if strings.HasPrefix(root, prefix) {
			return "", false
		}
	}
	return root, root != "" && !slices.ContainsFunc(stack, isOurs)
}

// isAnyStart knows functions that goroutines begin with whatever they are for.
func isAnyStart(name string) bool {
	return strings.HasPrefix(name, "sync.(*WaitGroup).") || strings.HasPrefix(name, "golang.org/x/sync/errgroup.") ||
		name == "runtime/pprof.Do" || name == "runtime/pprof.Do.func1"
}

// rootsIn counts the samples without a check's label by their roots.
func rootsIn(t *decode.Table) map[string]int64 {
	counts := map[string]int64{}
	var stack []string
	for i, s := range t.Samples {
		if slices.ContainsFunc(t.Labels[s.LabelLo:s.LabelHi], func(l decode.Label) bool { return string(t.String(l.Key)) == label }) {
			continue
		}
		stack = stack[:0]
		for _, at := range t.Stacks[s.StackLo:s.StackHi] {
			l := t.Locations[at]
			for _, line := range t.Lines[l.LineLo:l.LineHi] {
				stack = append(stack, t.Symbols.Name(line.Name))
			}
		}
		if root, ok := rootOf(stack); ok {
			counts[root] += t.Values[i*len(t.Types)]
		}
	}
	return counts
}

// count adds up what was done without a label in a window.
func (u *unlabelled) count(t *decode.Table) {
	if u.samples == nil {
		u.samples = map[string]int64{}
	}
	for root, n := range rootsIn(t) {
		u.samples[root] += n
	}
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
	p, err := mergeWindows(c.windows, func(p *profile.Profile) {
		p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
			if ids := s.Label[label]; len(ids) > 0 {
				delete(s.Label, label)
				return !slices.Contains(ids, r.id)
			}
			root, ok := rootOf(stackOf(s))
			return !ok || !slices.Contains(roots, root)
		})
		cutToWork(p)
	})
	if err != nil {
		return nil, err
	}
	return judged(part(r.set, r.plan.cpu), p, r.facts("cpu", c.elapsed, c.work)), nil
}

// matters reports whether a budget is exceeded with some roots, or kept only without
// them.
func (c *cpuPhase) matters(with []budget.Result) bool {
	for n, res := range with {
		if res.Verdict == budget.Fail || res.Verdict != budget.Pass && c.trial.Closing(n) == evidence.Pass {
			return true
		}
	}
	return false
}

// attribute finds out whose the samples without a label are, where that matters. Calls
// that do not return can't be made to rest: then it is not known.
func (c *cpuPhase) attribute(r *run, returns bool) error {
	roots := c.unlabelled.busiest()
	if len(roots) == 0 || c.trial.Failed() || r.Update {
		return nil
	}
	with, err := c.withUnlabelled(r, roots)
	if err != nil || !c.matters(with) {
		return err
	}
	c.unlabelled.roots, c.unlabelled.why = roots, unknown
	if returns && !r.worker.isOver() {
		c.unlabelled.tried = true
		c.unlabelled.roots, c.unlabelled.why = c.experiment(r, roots)
	}
	return nil
}

// A follower is a root of which it is to be found out whether it follows work.
type follower struct {
	root         string
	wins, losses int   // pairs in which it was busier while work ran, and while it rested
	on, off      int64 // samples while work ran, and while it rested
}

// see takes the samples of a pair of blocks.
func (f *follower) see(on, off int64) {
	f.on, f.off = f.on+on, f.off+off
	switch {
	case on > off:
		f.wins++
	case off > on:
		f.losses++
	}
}

// follows reports whether so many pairs with work are proof, with error alpha.
func (f *follower) follows(alpha float64) bool {
	return float64(f.off) <= restShare*float64(f.on) && signTest(f.wins, f.losses) <= alpha
}

// own reports whether it is busy on its own account: hardly less while work rests.
func (f *follower) own() bool {
	return f.off >= unlabelledLeast && float64(f.off) > 2*restShare*float64(f.on)
}

// signTest is the chance of at least so many wins where both are as likely.
func signTest(wins, losses int) float64 {
	n := wins + losses
	sum, choose := 0.0, 1.0
	for i := 0; i <= losses; i++ {
		sum += choose
		choose *= float64(n-i) / float64(i+1)
	}
	for range n {
		sum /= 2
	}
	return sum
}

// experiment lets work run and rest, and returns the roots that follow it, or else those
// of which it is not known.
func (c *cpuPhase) experiment(r *run, roots []string) (found []string, why cause) {
	busiest := float64(c.unlabelled.samples[roots[0]])
	each := min(max(time.Duration(2/busiest*float64(c.elapsed)), restLeast), restLongest)
	alpha := evidence.FailAlpha / float64(len(roots))
	open := func(f follower) bool { return !f.follows(alpha) && !f.own() }
	var followers []follower
	for _, root := range roots {
		followers = append(followers, follower{root: root})
	}
	ctx, cancel := context.WithDeadline(context.Background(), r.latest)
	defer cancel()
	on, off := map[string]int64{}, map[string]int64{}
	rest := func() (ok bool) { off, ok = c.capture(ctx, each); return ok }
	work := func() (ok bool) {
		r.worker.order(0)
		on, ok = c.capture(ctx, each)
		r.late = !r.pause()
		return ok
	}
	r.late = !r.pause()
	for pair := 0; pair < pairsMost && !r.late && ctx.Err() == nil && slices.ContainsFunc(followers, open); pair++ {
		first, second := rest, work
		if rand.IntN(2) == 1 {
			first, second = work, rest
		}
		if !first() || r.late || !second() {
			continue // a window was lost
		}
		for i := range followers {
			followers[i].see(on[followers[i].root], off[followers[i].root])
		}
	}
	var follow, untold []string
	for _, f := range followers {
		switch {
		case f.follows(alpha):
			follow = append(follow, f.root)
		case !f.own():
			untold = append(untold, f.root)
		}
	}
	if len(follow) > 0 {
		return follow, mistake
	}
	return untold, unknown
}

// capture counts the samples without a label for some time, unless the window is lost.
func (c *cpuPhase) capture(ctx context.Context, d time.Duration) (roots map[string]int64, ok bool) {
	w, err := profiler.Process().Capture(ctx, d)
	if err != nil {
		return nil, false
	}
	table, err := c.decoder.Bytes(w.Data)
	if err != nil {
		return nil, false
	}
	return rootsIn(table), true
}

// reveal takes back what is kept only because goroutines without the label did the work.
func (c *cpuPhase) reveal(r *run) error {
	roots := c.unlabelled.roots
	if len(roots) == 0 {
		return nil
	}
	const remedy = "let work call what they call (a server's handler), or start them inside work, for many requests a call"
	say := "which run while work runs and rest while it rests: they stood before the check, or lost its label. " + remedy
	if c.unlabelled.why == unknown {
		say = "of which it is not known whether they work for this check. If they do: " + remedy +
			". If they belong to a test in parallel, run this test by itself"
	}
	with, err := c.withUnlabelled(r, roots)
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
			res.Verdict, res.cause = budget.Inconclusive, c.unlabelled.why
			res.Reason = fmt.Sprintf("%s, with %s, %s%s", with[n].Reason, c.unlabelled.text(roots), say, own)
		}
	}
	return nil
}
