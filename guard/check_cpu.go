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

	// loopLeast is how many more samples than work's the loop around it has, for the
	// reason why nothing was found: work that sleeps shows one now and then.
	loopLeast = 2

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
	units := r.counters.read(r)
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
		case r.cpu != nil && !r.cpu.idle() && !r.cpu.settled(r):
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
		if err := r.cpu.weigh(r); err != nil {
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

// settled reports whether every budget is decided, or will never be.
func (c *cpuPhase) settled(r *checkRun) bool {
	for n := range r.plan.cpu {
		if c.trial.Decided(n) == budget.Inconclusive && c.vacuous(r, n) == "" {
			return false
		}
	}
	return true
}

// vacuous says why budget n will never be decided. One call is not all that work
// does: what has yet to return may come to it.
func (c *cpuPhase) vacuous(r *checkRun, n int) string {
	if r.worker.calls.Load() < 2 {
		return ""
	}
	return c.trial.Vacuous(n)
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
