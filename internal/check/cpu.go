package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/profiler"
	"github.com/profguard/profguard/internal/unit"
)

const (
	// block is the length of one profile. Each starts the sampling clock anew,
	// at a random phase, and costs about 3 ms.
	block = 100 * time.Millisecond

	// longCall is what a call takes for blocks to be whole calls: with shorter
	// ones the 20 blocks that a verdict takes come together anyway.
	longCall = 500 * time.Millisecond

	// figureTime is how long work runs for the figures of the process alone.
	figureTime = time.Second

	// idleTime is after how long without a single sample a check gives up.
	idleTime = 5 * time.Second

	// asleepRate is how many samples a second are as good as none: a fiftieth of a
	// core.
	asleepRate = 2

	// leastSleep is how long work has to be asleep to be told that it is: as long
	// as a pass takes at least.
	leastSleep = 2 * time.Second

	// loopLeast is how many more samples than work's the loop around it has, for the
	// reason why nothing was found: work that sleeps shows one now and then.
	loopLeast = 2

	// overheadMost is how much of the time may go into calling work.
	overheadMost = 0.5
)

// A cpuPhase collects the CPU profile of work, and judges it on the way.
type cpuPhase struct {
	trial   *judge.Blocks
	shares  bool  // some budget is about a share
	dropped int64 // samples with the label, which are not of work
	beside  bool  // not only the loop's samples were dropped
	decoder decode.Decoder
	cover   coverage // of the good windows

	group    [][]byte // windows that are not yet a block
	groupLen time.Duration
	groupOf  map[string]float64 // work done in them

	windows [][]byte         // all of the good ones
	sum     *profile.Profile // of work in them, when they are complete
	elapsed time.Duration
	work    map[string]float64
	last    unitsRead

	lost       int
	lostReason string
	broken     error

	unlabelled unlabelled
}

// samples is how many samples of work there are.
func (c *cpuPhase) samples() int64 { return c.trial.Samples() }

// newCPUPhase is for the budgets on CPU of the plan.
func (r *run) newCPUPhase() (*cpuPhase, error) {
	set := part(r.set, r.plan.cpu)
	c := &cpuPhase{shares: slices.ContainsFunc(set, isShare), groupOf: map[string]float64{}, work: map[string]float64{}, last: r.readUnits()}
	rules, err := set.Rules()
	if err != nil {
		return nil, err
	}
	c.trial, err = judge.NewBlocks(rules, judge.Options{
		Runs: r.usual >= longCall,
		Once: r.isBenchmark(), // the benchmark says when it ends
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// freely lets work run until the budgets that go by time are decided.
func (r *run) freely(back bool) (problem string) {
	others, err := r.newKindsPhase()
	if err != nil {
		return err.Error()
	}
	if back {
		r.worker.order(0)
	}
	start, said := time.Now(), false
	goesOn := func() bool {
		if !said && time.Since(r.begun) > r.sayAfter {
			said = true
			r.progress()
		}
		if !back && r.worker.wait(0) {
			back, r.usual = true, time.Since(r.begun)
			r.worker.order(0)
		}
		if r.plan.goroutines {
			r.peak.look(r.id)
		}
		others.look(r, time.Since(start), false)
		switch {
		case r.worker.isOver(), r.failed():
			return false
		case !time.Now().Before(r.ends):
			return r.cpu != nil && r.cpu.isOpen(r) && r.goOn()
		case r.cpu == nil:
		case r.cpu.trial.Failed():
			return false
		case r.Update && !r.cpu.idle(r) && r.cpu.samples() < r.baseline:
			return true
		case !r.cpu.idle(r) && !r.cpu.settled(r):
			return true
		}
		if len(r.plan.figures) > 0 && time.Since(start) < figureTime {
			return true
		}
		return !others.done(r)
	}
	if len(r.plan.cpu) > 0 {
		if r.cpu, err = r.newCPUPhase(); err != nil {
			return err.Error()
		}
		if err := r.cpu.stream(r, goesOn); err != nil {
			return err.Error()
		}
		if err := r.cpu.attribute(r, back); err != nil {
			return err.Error()
		}
	} else {
		tick := time.NewTicker(block)
		defer tick.Stop()
		for goesOn() {
			<-tick.C
		}
	}
	others.look(r, time.Since(start), true)
	return ""
}

// stream takes blocks as long as it goes on.
func (c *cpuPhase) stream(r *run, goesOn func() bool) error {
	ctx, cancel := context.WithDeadline(context.Background(), r.latest)
	defer cancel()
	// The error is the context's, and its end is one of the ways to finish.
	_ = profiler.Process().Stream(ctx, block, func(w profiler.Window) bool {
		c.take(r, w)
		return goesOn()
	})
	return c.broken
}

// settled reports whether every budget is decided, or will never be.
func (c *cpuPhase) settled(r *run) bool {
	for n, i := range r.plan.cpu {
		unjudged := r.Update && r.set[i].Rule == "grows"
		if c.trial.Decided(n) == evidence.Inconclusive && !c.unreachable(r, n) && !unjudged {
			return false
		}
	}
	return true
}

// isOpen reports whether a budget would be open if the check ended now, and more time
// may decide it.
func (c *cpuPhase) isOpen(r *run) bool {
	for n := range r.plan.cpu {
		if c.trial.Closing(n) == evidence.Inconclusive && !c.unreachable(r, n) {
			return !c.idle(r)
		}
	}
	return false
}

// progress says what a check that takes long waits for.
func (r *run) progress() {
	if r.cpu == nil {
		return
	}
	var open []string
	for n, i := range r.plan.cpu {
		if r.cpu.trial.Decided(n) == evidence.Inconclusive {
			open = append(open, r.set[i].String())
		}
	}
	if len(open) > 0 {
		r.t.Helper()
		round := func(t time.Time) time.Duration { return t.Sub(r.begun).Round(100 * time.Millisecond) }
		r.t.Logf("guard.Check: after %v and %s still open: %s. The check ends after %v, and on a busy machine after %v",
			round(time.Now()), unit.Plural(r.cpu.samples(), "CPU sample"), strings.Join(open, "; "), round(r.ends), round(r.latest))
	}
}

// unreachable reports whether budget n will never be decided. One call is not all that
// work does: what has yet to return may come to it.
func (c *cpuPhase) unreachable(r *run, n int) bool {
	return r.worker.calls.Load() >= 2 && c.trial.Unreachable(n)
}

// idle reports whether it is no use to go on: a busy machine keeps work from being sampled,
// but not work alone.
func (c *cpuPhase) idle(r *run) bool {
	kept := r.busy() && len(c.unlabelled.busiest()) == 0
	return c.broken != nil || c.cover.isLost() || c.shares && c.tooSmall() || c.elapsed > idleTime && c.samples() == 0 && !kept
}

// tooSmall reports whether calling work takes longer than work does, beyond doubt.
// What little was seen of it is no share of anything: a sample is not that sharp.
func (c *cpuPhase) tooSmall() bool {
	all := float64(c.dropped + c.samples())
	return !c.beside && all > 0 && evidence.Lower(float64(c.dropped), all, 1, evidence.FailAlpha) > overheadMost
}

// isShare reports whether a budget is about a share of the CPU profile.
func isShare(b budget.Budget) bool {
	return b.Rule == "" && b.Limit.Unit == "%" || b.Rule == "grows" && b.Per == ""
}

// take adds a window.
func (c *cpuPhase) take(r *run, w profiler.Window) {
	before, now := c.last, r.readUnits()
	c.last = now
	if table := w.Table(&c.decoder); table != nil {
		c.unlabelled.count(table)
		c.cover.add(w.CPU, table.Count())
	}
	if w.Outcome != profiler.OK {
		c.lost++
		c.lostReason = fmt.Sprintf("%s: %s", w.Outcome, w.Reason)
		c.group, c.groupLen = nil, 0
		clear(c.groupOf)
		return
	}
	c.group = append(c.group, w.Data)
	c.groupLen += w.Elapsed
	// Between two windows the profiler is off for some milliseconds. What was
	// done then has no samples.
	seen := min(1, w.Elapsed.Seconds()/now.at.Sub(before.at).Seconds())
	for unit, n := range now.since(before) {
		c.groupOf[unit] += n * seen
	}
	if r.usual > 0 && (c.groupOf[callUnit] == 0 || r.usual > block && c.groupLen < r.usual) {
		return // a block has a whole call, or several
	}
	c.broken = c.flush(r)
}

// flush gives the windows of the group to the trial, as one block.
func (c *cpuPhase) flush(r *run) error {
	p, err := mergeWindows(c.group, func(p *profile.Profile) { keepLabelled(p, r.id) })
	if err != nil {
		return err
	}
	labelled := samplesIn(p)
	c.beside = c.beside || slices.ContainsFunc(p.Sample, func(s *profile.Sample) bool { return isBeside(stackOf(s)) })
	cutToWork(p)
	c.dropped += labelled - samplesIn(p)
	if err := c.trial.Add(p, r.facts("cpu", c.groupLen, c.groupOf)); err != nil {
		return err
	}
	c.windows = append(c.windows, c.group...)
	c.elapsed += c.groupLen
	for unit, n := range c.groupOf {
		c.work[unit] += n
	}
	c.group, c.groupLen = nil, 0
	clear(c.groupOf)
	return nil
}

// profile is everything that was sampled of work.
func (c *cpuPhase) profile(r *run) (*profile.Profile, error) {
	if len(c.windows) == 0 {
		return &profile.Profile{
			SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
			PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
			Period:     10 * time.Millisecond.Nanoseconds(),
		}, nil
	}
	if c.sum == nil {
		p, err := mergeWindows(c.windows, func(p *profile.Profile) { keepWork(p, r.id) })
		if err != nil {
			return nil, err
		}
		c.sum = p
	}
	return c.sum, nil
}

// results closes the trial.
func (c *cpuPhase) results(r *run) error {
	p, err := c.profile(r)
	if err != nil {
		return err
	}
	findings, err := c.trial.Close(p, r.facts("cpu", c.elapsed, c.work))
	if err != nil {
		return err
	}
	for n, i := range r.plan.cpu {
		o := outcome{r.set[i].Result(findings[n]), proven}
		switch {
		case r.Update && o.Budget.Rule == "grows":
			o.Verdict, o.Reason, o.cause = budget.Pass, "the baseline is being written", unjudged
		case o.Verdict == budget.Pass && c.samples() == 0 && o.Samples == 0 && !r.isUnlinked(o.Budget.Subject):
			o.Verdict = budget.Inconclusive // nothing was done: that proves nothing
		case o.Verdict == budget.Pass && c.cover.isLow() && !r.isUnlinked(o.Budget.Subject):
			o.Verdict = budget.Inconclusive // what was not sampled may be anybody's
		case c.tooSmall() && isShare(o.Budget):
			o.Verdict, o.Offenders, o.Over = budget.Inconclusive, nil, 0
		}
		switch {
		case o.cause == unjudged:
		case o.Verdict == budget.Inconclusive:
			o.cause, o.Reason = c.explain(r, n, o.Result)
		case isNear(o.Result, c.trial.Decided(n) != evidence.Inconclusive):
			o.cause = near
		}
		r.outcomes[i] = o
	}
	return c.reveal(r)
}

// isNear reports whether a budget passed without being kept for sure: what was measured
// is above its limit, or may be, and surely not far above.
func isNear(res budget.Result, decided bool) bool {
	return res.Verdict == budget.Pass && res.Limit > 0 && (res.Share > res.Limit || !decided && res.High >= res.Limit)
}

// explain says why nothing could be said of budget n, and what to do.
func (c *cpuPhase) explain(r *run, n int, res budget.Result) (cause, string) {
	busy := r.busy()
	judged, dropped := c.samples(), c.dropped
	switch {
	case c.cover.isLow():
		why := mistake
		if busy && !c.cover.isLost() {
			why = noTime
		}
		return why, c.cover.reason()
	case c.unreachable(r, n):
		return mistake, res.Reason
	case res.Budget.Per == callUnit && r.worker.calls.Load() == 0:
		return noTime, "no call of work has returned: a budget per call needs calls that do"
	case len(c.windows) == 0 && c.lost > 0:
		return noTime, "no window of the profiler could be used: " + c.lostReason
	case !c.beside && dropped > judged+loopLeast:
		why := noTime
		if c.tooSmall() {
			why = mistake
		}
		each := time.Duration(float64(c.elapsed) / max(1, c.work[callUnit])) // by the clock
		return why, fmt.Sprintf("work is too small: %d of %d CPU samples are Check's own loop around it, at %v a call. "+
			"Do it many times in each call: func(ctx context.Context) { for range 1000 { ... } }", dropped, dropped+judged, each)
	case len(c.windows) > 0 && !busy && float64(dropped+judged) < asleepRate*c.elapsed.Seconds():
		why, meanwhile := noTime, ""
		if c.elapsed >= leastSleep {
			why = mistake
		}
		if roots := c.unlabelled.busiest(); len(roots) > 0 {
			meanwhile = " (meanwhile there were " + c.unlabelled.text(roots) + ")"
		}
		return why, fmt.Sprintf("too few CPU samples: %d in %v and %d calls. Work sleeps or waits, "+
			"or it does its work on goroutines that stood before the check%s: start those inside work, or make work compute",
			judged, c.elapsed.Round(100*time.Millisecond), r.worker.calls.Load(), meanwhile)
	case c.trial.Failed() || r.failed():
		return stopped, res.Reason
	case c.lost > len(c.windows):
		return noTime, fmt.Sprintf("%s; %d windows were lost (%s)", res.Reason, c.lost, c.lostReason)
	}
	return noTime, res.Reason + "; to get them, " + r.moreTime(res)
}
