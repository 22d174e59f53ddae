package guard

import (
	"fmt"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/evidence"
)

// facts are what is known about a profile of a kind.
func (r *checkRun) facts(kind string, elapsed time.Duration, work map[string]float64) budget.Facts {
	f := budget.Facts{Kind: kind, Elapsed: elapsed, Work: work, Module: r.module, NotLinked: r.link.notLinked}
	if kind == "cpu" {
		f.Baseline, f.BaselineWork = r.base.profile, r.base.work
	}
	if r.reader != nil {
		r.figures(kind != "cpu", &f)
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
			why := c.vacuous(r, n)
			r.vacuous[i] = why != "" || c.tooSmall() || c.elapsed >= leastSleep && c.asleep()
			if why == "" {
				why = c.explain(r, res)
			}
			res.Reason = why
		}
		r.undecided[i] = res.Verdict == budget.Pass && c.trial.Decided(n) == budget.Inconclusive
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

// moreTime says how there come more samples: a benchmark takes as long as
// -benchtime, a check as long as Checker.Max, or as -short allows for. To raise the
// limit is advice only where what was measured is near it.
func (r *checkRun) moreTime(res budget.Result) string {
	took := time.Since(r.begun).Round(100 * time.Millisecond)
	text := fmt.Sprintf("raise Checker.Max (the check took %v), or let work use more CPU", took)
	if _, bench := r.t.(tbBenchmark); bench {
		text = fmt.Sprintf("raise -benchtime (it took %v)", took)
	} else if r.test.short && r.Max == 0 {
		text = fmt.Sprintf("run it without -short (which took %v)", took)
	}
	if res.Limit > 0 && res.Share > res.Limit && res.Share < evidence.Notable*res.Limit {
		text += ", or raise the limit"
	}
	return text
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
	case !c.watched && c.trial.Dropped > c.trial.Samples+loopLeast:
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
	return reason + "; to get them, " + r.moreTime(res) + c.strangers.aside(c.trial.Samples)
}
