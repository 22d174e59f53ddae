package guard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/hub"
)

const (
	// strangerLeast is how many samples make a stranger worth a look. With fewer,
	// resting (see restLongest) would not show who makes it busy.
	strangerLeast = 10

	// strangersMany is how many times as much as work they do for the check not to
	// wait until work's own samples have decided.
	strangersMany = 3

	// strangersMost bounds how many are looked at, the busiest first.
	strangersMost = 8
)

// Strangers are goroutines without any check's label, told apart by the function
// that they began with: a server that stood before the check and now works for
// it, or what a test in parallel has started. Which of the two is what resting
// finds out (see rest); and only where it matters, because with their samples a
// budget would be exceeded.
type strangers struct {
	samples map[string]int64 // by root, in the windows of the check

	wondered, asked bool // whether they matter; before the verdicts, and after them

	proven []string // roots that are busy because work is
	open   []string // roots of which nothing is known
}

// count adds up what strangers did in a window.
func (s *strangers) count(t *decode.Table) {
	if s.samples == nil {
		s.samples = map[string]int64{}
	}
	for root, n := range strangersIn(t) {
		s.samples[root] += n
	}
}

// strangersIn counts the samples of strangers by their roots.
func strangersIn(t *decode.Table) map[string]int64 {
	counts := map[string]int64{}
	var stack []string // the leaf first
	for i, s := range t.Samples {
		if slices.ContainsFunc(t.Labels[s.LabelLo:s.LabelHi], func(l decode.Label) bool { return string(t.String(l.Key)) == checkLabel }) {
			continue
		}
		stack = stack[:0]
		for _, at := range t.Stacks[s.StackLo:s.StackHi] {
			l := t.Locations[at]
			for _, line := range t.Lines[l.LineLo:l.LineHi] {
				stack = append(stack, t.Symbols.Name(line.Name))
			}
		}
		if root, ok := strangerRoot(stack); ok {
			counts[root] += t.Values[i*len(t.Types)]
		}
	}
	return counts
}

// strangerRoot names the function that a goroutine without a check's label began
// with, if what it does may be work's doing all the same. A test's own goroutine
// is not, nor are the runtime's and profguard's. Beneath Check's loop is work that
// has put other labels in the place of Check's.
func strangerRoot(stack []string) (root string, ok bool) {
	if i := slices.IndexFunc(stack, isLoop); i >= 0 {
		return stack[max(i-1, 0)], i > 0 && !isOverhead(stack)
	}
	for i := len(stack) - 1; i >= 0; i-- {
		root = stack[i]
		if !isAnyStart(root) {
			break
		}
	}
	for _, prefix := range []string{
		"runtime.", "runtime/pprof.", "internal/runtime/", "testing.",
		hubPackage + ".", guardPackage + ".(*", guardPackage + ".Start.", guardPackage + ".startWorker.",
	} {
		if strings.HasPrefix(root, prefix) {
			return "", false
		}
	}
	ours := slices.ContainsFunc(stack, func(name string) bool { return strings.HasPrefix(name, guardPackage+".(*checkRun).") })
	return root, root != "" && !ours
}

// isAnyStart knows functions that goroutines begin with whatever they are for.
func isAnyStart(name string) bool {
	return strings.HasPrefix(name, "sync.(*WaitGroup).") || strings.HasPrefix(name, "golang.org/x/sync/errgroup.") ||
		name == "runtime/pprof.Do" || name == "runtime/pprof.Do.func1"
}

// busiest lists the roots that are busy enough to be looked at.
func (s *strangers) busiest() []string {
	var roots []string
	for root, n := range s.samples {
		if n >= strangerLeast {
			roots = append(roots, root)
		}
	}
	slices.SortFunc(roots, func(a, b string) int {
		return cmp.Or(cmp.Compare(s.samples[b], s.samples[a]), cmp.Compare(a, b))
	})
	return roots[:min(len(roots), strangersMost)]
}

// total is what some strangers did.
func (s *strangers) total(roots []string) (n int64) {
	for _, root := range roots {
		n += s.samples[root]
	}
	return n
}

// name says who some strangers are.
func (s *strangers) name(roots []string) string {
	if len(roots) == 1 {
		return roots[0]
	}
	return fmt.Sprintf("%s and %d more", roots[0], len(roots)-1)
}

// outnumbered reports, once, whether strangers do so much more than work does
// that it is better to ask now than to wait for the little that work does itself.
func (c *cpuPhase) outnumbered() bool {
	s := &c.strangers
	if s.wondered || c.elapsed < leastSleep || s.total(s.busiest()) <= strangersMany*c.trial.Samples {
		return false
	}
	s.wondered = true
	return true
}

// question finds out about the strangers, if they matter.
func (c *cpuPhase) question(r *checkRun) error {
	s := &c.strangers
	roots := s.busiest()
	if len(roots) == 0 || s.asked || c.trial.Failed() || r.Update {
		return nil
	}
	counted, err := c.counting(r, roots)
	if err != nil || !c.matters(counted) {
		return err
	}
	s.asked = true
	s.proven, s.open = c.rest(r, roots)
	return nil
}

func isExceeded(res budget.Result) bool { return res.Verdict == budget.Fail }

// matters reports whether strangers make a difference, by the results with their
// samples: a budget is exceeded with them, or kept by work's own samples and not
// by these. That what they do is not beyond doubt either is no reason to pass.
func (c *cpuPhase) matters(counted []budget.Result) bool {
	for n, res := range counted {
		if isExceeded(res) || res.Verdict != budget.Pass && c.trial.Decided(n) == budget.Pass {
			return true
		}
	}
	return false
}

// weighEvery is by how much the samples grow until it is judged again whether
// work and its strangers keep the budgets together: by a quarter, so that 30
// seconds have some ten looks.
const weighEvery = 1.25

// weigh goes on, once strangers are proven to be work's, until it is known what
// becomes of the budgets with their samples, or time is up.
func (c *cpuPhase) weigh(r *checkRun) error {
	if len(c.strangers.proven) == 0 {
		return nil
	}
	if r.resting {
		r.worker.order(0)
		r.resting = false
	}
	c.last = r.readUnits()
	ctx, cancel := context.WithDeadline(context.Background(), r.ends)
	defer cancel()
	for {
		counted, err := c.counting(r, c.strangers.proven)
		if err != nil || slices.ContainsFunc(counted, isExceeded) || !c.matters(counted) {
			return err
		}
		enough := time.Duration(weighEvery * float64(c.elapsed))
		// The error is the context's: time is up.
		_ = hub.Process().Stream(ctx, block, func(w hub.Window) bool {
			c.take(r, w)
			return c.broken == nil && !r.worker.isOver() && c.elapsed < enough
		})
		if c.broken != nil || r.worker.isOver() || ctx.Err() != nil {
			return c.broken
		}
	}
}

// counting judges the budgets by work's own samples and those of strangers.
func (c *cpuPhase) counting(r *checkRun, roots []string) ([]budget.Result, error) {
	own, err := c.profile(r)
	if err != nil {
		return nil, err
	}
	theirs, err := mergeWindows(c.windows, func(p *profile.Profile) {
		p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
			root, ok := strangerRoot(stackOf(s))
			return len(s.Label[checkLabel]) > 0 || !ok || !slices.Contains(roots, root)
		})
		resume(p)
	})
	if err != nil {
		return nil, err
	}
	all, err := profile.Merge([]*profile.Profile{own, theirs})
	if err != nil {
		return nil, fmt.Errorf("merge work's samples and those of goroutines without its label: %w", err)
	}
	return part(r.set, r.plan.cpu).Judge(all, r.facts("cpu", c.elapsed, c.work)), nil
}

// reveal takes back what passed only because strangers did the work, and says so
// where that is possible but not known.
func (c *cpuPhase) reveal(r *checkRun) error {
	s := &c.strangers
	if !s.asked && !c.restful && !r.Update {
		s.open = s.busiest()
	}
	if len(s.proven) > 0 {
		counted, err := c.counting(r, s.proven)
		if err != nil {
			return err
		}
		for n, i := range r.plan.cpu {
			res := &r.results[i]
			if isExceeded(counted[n]) && !isExceeded(*res) || counted[n].Verdict != budget.Pass && res.Verdict == budget.Pass {
				own := ""
				if res.Verdict == budget.Pass {
					own = ". Without them it is: " + res.Reason
				}
				res.Verdict = budget.Inconclusive
				res.Reason = fmt.Sprintf("%s; %d of the samples are of goroutines without this check's label (%s), which are busy while work runs and not while it rests. "+
					"They stood before the check, or lost its label: %s%s",
					counted[n].Reason, s.total(s.proven), s.name(s.proven), strangerRemedy, own)
				// What is exceeded with them, no time would decide.
				r.vacuous[i] = isExceeded(counted[n])
			}
		}
	}
	if len(s.open) == 0 {
		r.notes = append(r.notes, c.besides(r)...)
		return nil
	}
	counted, err := c.counting(r, slices.Concat(s.proven, s.open))
	if err != nil {
		return err
	}
	for n, i := range r.plan.cpu {
		if r.results[i].Verdict == budget.Pass && counted[n].Verdict != budget.Pass {
			r.notes = append(r.notes, fmt.Sprintf("%q is kept only if the %s of goroutines without this check's label are not work's doing (%s): "+
				"with them it is %s. It could not be found out (that takes calls that return, and some seconds). If they belong to a test in parallel, all is well. If they stood before the check and work for it: %s",
				r.set[i], plural(int(s.total(s.open)), "sample"), s.name(s.open), counted[n].Reason, strangerRemedy))
		}
	}
	return nil
}

// strangerRemedy is how the work of strangers becomes the check's.
const strangerRemedy = "let work call what they call (a server's handler), or start them inside work, for many requests a call"

// aside tells of strangers who did as much as work itself, or nearly: a budget that is
// open by work's own samples is so for the wrong ones, if theirs are work's as well.
func (s *strangers) aside(own int64) string {
	roots := s.busiest()
	n := s.total(roots)
	if n == 0 || 2*n < own {
		return ""
	}
	return fmt.Sprintf(". Besides, %d samples came from goroutines without this check's label (%s): if they stood before the check and work for it, %s",
		n, s.name(roots), strangerRemedy)
}

// besides tells, of budgets that are all kept, that strangers did more than work
// itself: the figures are of work alone, and look better than they are if the
// strangers work for it.
func (c *cpuPhase) besides(r *checkRun) []string {
	s := &c.strangers
	roots := s.busiest()
	n := s.total(roots)
	if s.asked || r.Update || n <= c.trial.Samples ||
		slices.ContainsFunc(r.plan.cpu, func(i int) bool { return r.results[i].Verdict != budget.Pass }) {
		return nil
	}
	return []string{fmt.Sprintf("no figure here has the %s of goroutines without this check's label (%s), beside %d of work; the budgets are kept with them too. "+
		"If they work for this check: %s", plural(int(n), "sample"), s.name(roots), c.trial.Samples, strangerRemedy)}
}

// hint names the busiest stranger to a check that has next to no samples.
func (s *strangers) hint() string {
	roots := s.busiest()
	if len(roots) == 0 {
		return ""
	}
	return fmt.Sprintf(" (meanwhile %d samples came from goroutines without this check's label that began with %s)", s.samples[roots[0]], roots[0])
}
