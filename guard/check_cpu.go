package guard

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/hub"
)

const (
	// callUnit is what budgets "per call" are per.
	callUnit = "call"

	// block is the length of one profile. Each starts the sampling clock anew,
	// at a random phase, and costs about 3 ms; see VERDICTS in package evidence.
	block = 100 * time.Millisecond

	// longCall is what a call takes for blocks to be whole calls: with shorter
	// ones the 20 blocks that a verdict takes come together anyway.
	longCall = 500 * time.Millisecond

	// figureTime is how long work runs for the figures of the process alone.
	figureTime = time.Second

	// idleTime is after how long without a single sample a check gives up, counted
	// in windows of the profiler: work that shares two cores with ten others would
	// have had a hundred.
	idleTime = 5 * time.Second

	// asleepRate is how many samples a second are as good as none: a fiftieth of a
	// core, where work that computes gets a tenth on the worst machine.
	asleepRate = 2

	// leastSleep is how long work has to be asleep to be told that it is: as long
	// as a pass takes at least.
	leastSleep = 2 * time.Second

	// overheadMost is how much of the time may go into calling work.
	overheadMost = 0.5
)

// A cpuPhase collects the CPU profile of work, and judges it on the way.
type cpuPhase struct {
	trial   *budget.Trial
	shares  bool // some budget is about a share
	watched bool // by the race detector, which is not told from the loop in trial.Dropped
	decoder decode.Decoder

	group    [][]byte // windows that are not yet a block
	groupLen time.Duration
	groupOf  map[string]float64 // work done in them

	windows [][]byte // all of the good ones
	merged  int      // so many of them are in sum
	sum     *profile.Profile
	elapsed time.Duration
	work    map[string]float64
	last    unitsRead

	lost       int
	lostReason string
	broken     error

	strangers strangers
	restful   bool // work returns, so that it can be made to rest
}

// unitsRead is how much work was done at a time.
type unitsRead struct {
	at    time.Time
	units map[string]float64
}

func (r *checkRun) readUnits() unitsRead {
	units := map[string]float64{}
	for name, read := range r.Work {
		units[name] = read()
	}
	if r.worker != nil {
		units[callUnit] = float64(r.worker.calls.Load())
	}
	return unitsRead{time.Now(), units}
}

// newCPUPhase is for the budgets on CPU of the plan.
func (r *checkRun) newCPUPhase() (*cpuPhase, error) {
	trial, err := budget.NewTrial(part(r.set, r.plan.cpu), map[string]string{checkLabel: r.id})
	if err != nil {
		return nil, err
	}
	if r.usual >= longCall {
		trial.Runs()
	}
	shares := slices.ContainsFunc(part(r.set, r.plan.cpu), isShare)
	c := &cpuPhase{trial: trial, shares: shares, groupOf: map[string]float64{}, work: map[string]float64{}, last: r.readUnits()}
	trial.Drop(func(stack []string) bool {
		c.watched = c.watched || len(stack) > 0 && isDetector(stack[0])
		return isOverhead(stack)
	})
	return c, nil
}

// freely lets work run until the budgets that go by time are decided.
func (r *checkRun) freely(back bool) (problem string) {
	others, err := r.newKindsPhase()
	if err != nil {
		return err.Error()
	}
	if back {
		r.worker.order(0)
	}
	start := time.Now()
	goesOn := func() bool {
		if !back && r.worker.wait(0) {
			back, r.usual = true, time.Since(r.begun)
			r.worker.order(0)
		}
		if r.plan.goroutines {
			r.peak.look(r.id)
		}
		others.look(r, time.Since(start), false)
		switch {
		case r.worker.isOver() || !time.Now().Before(r.ends), others.failed():
			return false
		case r.cpu != nil && r.cpu.trial.Failed():
			return false
		case r.Update && r.cpu != nil && !r.cpu.idle() && r.cpu.trial.Samples < r.baseline:
			return true
		case r.Update && r.cpu != nil && r.cpu.doneButGrows(r):
			return !others.done()
		case r.cpu != nil && !r.cpu.idle() && !r.cpu.trial.Done():
			return true
		case len(r.plan.figures) > 0 && time.Since(start) < figureTime:
			return true
		}
		return !others.done()
	}
	if len(r.plan.cpu) > 0 {
		if r.cpu, err = r.newCPUPhase(); err != nil {
			return err.Error()
		}
		ctx, cancel := context.WithDeadline(context.Background(), r.ends)
		defer cancel()
		for more := true; more; {
			more = false
			// The error is the context's, and its end is one of the ways to finish.
			_ = hub.Process().Stream(ctx, block, func(w hub.Window) bool {
				r.cpu.take(r, w)
				on := goesOn()
				more = on && back && r.cpu.outnumbered()
				return on && !more
			})
			if more {
				if more, err = r.cpu.ask(r); err != nil {
					return err.Error()
				}
			}
		}
	} else {
		tick := time.NewTicker(block)
		defer tick.Stop()
		for goesOn() {
			<-tick.C
		}
	}
	others.look(r, time.Since(start), true)
	if r.cpu != nil && r.cpu.broken != nil {
		return r.cpu.broken.Error()
	}
	if r.cpu != nil && back && !r.worker.isOver() {
		r.cpu.restful = true
		if err := r.cpu.question(r); err != nil {
			return err.Error()
		}
	}
	return ""
}

// doneButGrows reports whether everything is decided that needs no baseline.
func (c *cpuPhase) doneButGrows(r *checkRun) bool {
	for n, i := range r.plan.cpu {
		if r.set[i].Rule != "grows" && c.trial.Decided(n) == budget.Inconclusive {
			return false
		}
	}
	return true
}

// idle reports whether it is no use to go on.
func (c *cpuPhase) idle() bool {
	return c.broken != nil || c.elapsed > idleTime && c.trial.Samples == 0 || c.shares && c.tooSmall()
}

// tooSmall reports whether calling work takes longer than work does, beyond doubt.
// What little was seen of it is no share of anything: a sample is not that sharp.
func (c *cpuPhase) tooSmall() bool {
	all := float64(c.trial.Dropped + c.trial.Samples)
	return !c.watched && all > 0 && evidence.Lower(float64(c.trial.Dropped), all, 1, evidence.FailAlpha) > overheadMost
}

// isShare reports whether a budget is about a share of the CPU profile.
func isShare(b budget.Budget) bool {
	return b.Rule == "" && b.Limit.Unit == "%" || b.Rule == "grows" && b.Per == ""
}

// take adds a window.
func (c *cpuPhase) take(r *checkRun, w hub.Window) {
	before, now := c.last, r.readUnits()
	c.last = now
	if w.Outcome == hub.OK {
		table, err := c.decoder.Bytes(w.Data)
		if err != nil {
			w.Outcome, w.Reason = hub.Broken, err.Error()
		} else {
			hub.Check(&w, table)
		}
		if w.Outcome == hub.OK {
			c.strangers.count(table)
		}
	}
	if w.Outcome != hub.OK {
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
	for unit, n := range now.units {
		c.groupOf[unit] += (n - before.units[unit]) * seen
	}
	if r.usual > 0 && (c.groupOf[callUnit] == 0 || r.usual > block && c.groupLen < r.usual) {
		return // a block has a whole call, or several
	}
	c.broken = c.flush(r)
}

// flush gives the windows of the group to the trial, as one block.
func (c *cpuPhase) flush(r *checkRun) error {
	data := c.group[0]
	if len(c.group) > 1 {
		p, err := mergeWindows(c.group, func(*profile.Profile) {})
		if err != nil {
			return err
		}
		var out bytes.Buffer
		if err := p.WriteUncompressed(&out); err != nil {
			return fmt.Errorf("write a block of %d profiles: %w", len(c.group), err)
		}
		data = out.Bytes()
	}
	if err := c.trial.Block(bytes.NewReader(data), r.facts("cpu", c.groupLen, c.groupOf)); err != nil {
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

// facts are what is known about a profile of a kind.
func (r *checkRun) facts(kind string, elapsed time.Duration, work map[string]float64) budget.Facts {
	f := budget.Facts{Kind: kind, Elapsed: elapsed, Work: work, Module: r.module, NotLinked: r.link.notLinked}
	if kind == "cpu" {
		f.Baseline, f.BaselineWork = r.base.profile, r.base.work
	}
	if r.reader != nil {
		f.Figures = r.figures(kind != "cpu")
	}
	return f
}

// results closes the trial.
func (c *cpuPhase) results(r *checkRun) (problem string) {
	results := make([]budget.Result, len(r.plan.cpu))
	p, err := c.profile(r)
	if err == nil {
		results, err = c.trial.Close(p, r.facts("cpu", c.elapsed, c.work))
	}
	if err != nil {
		return err.Error()
	}
	for n, i := range r.plan.cpu {
		res := results[n]
		if r.Update && res.Budget.Rule == "grows" {
			res.Verdict, res.Reason = budget.Pass, "the baseline is being written"
		}
		if res.Verdict == budget.Pass && c.trial.Samples == 0 && res.Samples == 0 && !r.link.isMissing(res.Budget) {
			res.Verdict = budget.Inconclusive // nothing was done: that proves nothing
		}
		if c.tooSmall() && isShare(res.Budget) {
			res.Verdict, res.Offenders, res.Over = budget.Inconclusive, nil, 0
		}
		if res.Verdict == budget.Inconclusive {
			res.Reason = c.explain(r, res)
			r.vacuous[i] = c.tooSmall() || c.elapsed >= leastSleep && c.asleep()
		}
		r.results[i] = res
	}
	r.noteEntries(p)
	if err := c.reveal(r); err != nil {
		return err.Error()
	}
	return ""
}

// profile is everything that was sampled.
func (c *cpuPhase) profile(r *checkRun) (*profile.Profile, error) {
	if len(c.windows) > 0 && len(c.windows) == c.merged {
		return c.sum, nil
	}
	if len(c.windows) > 0 {
		p, err := mergeWindows(c.windows, func(p *profile.Profile) { keepWork(p, r.id) })
		if err == nil {
			c.sum, c.merged = p, len(c.windows)
		}
		return p, err
	}
	return &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:     10 * time.Millisecond.Nanoseconds(),
	}, nil
}

// asleep says whether work used next to no CPU.
func (c *cpuPhase) asleep() bool {
	return float64(c.trial.Samples+c.trial.Dropped) < asleepRate*c.elapsed.Seconds()
}

// explain says why nothing could be said, and what to do.
func (c *cpuPhase) explain(r *checkRun, res budget.Result) string {
	reason := res.Reason
	switch {
	case res.Budget.Per == callUnit && r.worker.calls.Load() == 0:
		return "no call of work has returned: a budget per call needs calls that do"
	case len(c.windows) == 0 && c.lost > 0:
		return "no window of the profiler could be used: " + c.lostReason
	case !c.watched && c.trial.Dropped > c.trial.Samples: // likely enough where nothing was found anyway
		each := time.Duration(float64(c.elapsed) / max(1, c.work[callUnit])) // by the clock
		return fmt.Sprintf("work is too small: %d of %d CPU samples are Check's own loop around it, at %v a call. "+
			"Do it many times in each call: func(ctx context.Context) { for range 1000 { ... } }",
			c.trial.Dropped, c.trial.Dropped+c.trial.Samples, each)
	case len(c.windows) > 0 && c.asleep():
		return fmt.Sprintf("too few CPU samples: %d in %v and %d calls. Work sleeps or waits, "+
			"or it does its work on goroutines that stood before the check%s: start those inside work, or make work compute",
			c.trial.Samples, c.elapsed.Round(100*time.Millisecond), r.worker.calls.Load(), c.strangers.hint())
	case len(c.strangers.proven) > 0:
		return "open: the check stopped when another budget turned out not to be kept (" + reason + ")"
	case c.trial.Failed():
		return "open: the check stopped when another budget had failed (" + reason + ")"
	case c.lost > len(c.windows):
		return fmt.Sprintf("%s; %d windows were lost (%s)", reason, c.lost, c.lostReason)
	}
	return reason + fmt.Sprintf("; to get them, raise Checker.Max (the check took %v), let work use more CPU, or raise the limit",
		time.Since(r.begun).Round(100*time.Millisecond))
}
