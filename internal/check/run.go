package check

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/release"
	"github.com/profguard/profguard/internal/work"
)

const (
	// On a core, a share decides about a limit of 20% in defaultMax if it is less than 0.95 or
	// more than 1.5 times that, and in shortMax (of -short) if less than 0.5 or more than 2.4.
	defaultMax, shortMax = 30 * time.Second, 5 * time.Second
	// reserve is the time before the test's deadline in which work returns, the profile is
	// saved and the message is written.
	reserve = time.Second
)

// A run is one check.
type run struct {
	Config
	harness
	clock
	budgets
	subject
	meter
	goroutines
	findings
	seams

	reference *release.Side // the baseline, nil without one
	cpu       *cpuPhase
}

// A subject is the work that is checked.
type subject struct {
	call   func(context.Context)
	id     string // the value of its label
	worker *work.Worker
	first  process.Snapshot // of the process
	usual  time.Duration    // the duration of a call; 0 until a call has returned
}

// goroutines are what is known of them.
type goroutines struct {
	unlabelled map[string]int64 // without the label after the first call, by their roots
	started    int64            // by work in the first call
	tooMany    *judge.StillRunning
	peak       *decode.Table // those of work at the time when there were most
}

// findings are what was found.
type findings struct {
	outcomes []outcome                // by budget
	notes    []string                 // for the report
	judged   map[string]*decode.Table // by kind, the profile that budgets were judged by
}

// seams are what tests set.
type seams struct {
	temp     string              // where profiles are saved without -artifacts; "" is the system's
	baseline int64               // the number of samples of a new baseline
	onBlock  func(*decode.Table) // sees each block of work
}

// An outcome is what was found about a budget, with the cause of an inconclusive finding.
type outcome struct {
	judge.Finding
	cause cause
	kind  string // of the profile that it was judged by, "" without one
}

// undecided is the outcome without its verdict, and why it has none.
func (o outcome) undecided(why cause, reason judge.Reason) outcome {
	o.Verdict, o.cause, o.Reason, o.Notes = evidence.Inconclusive, why, reason, judge.Notes{}
	return o
}

// A cause says why a budget is inconclusive.
type cause int

const (
	noTime  cause = iota // it was not decided in the time given
	mistake              // more time would not decide it, on any machine: the test fails
	unknown              // the work may be that of another test: this test is skipped
)

// unreached are the findings before anything was judged.
func unreached(n int) findings {
	return findings{
		outcomes: slices.Repeat([]outcome{{Finding: judge.Finding{Reason: judge.NoTime{}}}}, n),
		judged:   map[string]*decode.Table{},
	}
}

// anyFailed reports whether a budget has failed. The check ends early then, and others may be
// left open.
func (f *findings) anyFailed() bool {
	return slices.ContainsFunc(f.outcomes, func(o outcome) bool { return o.Verdict == evidence.Fail })
}

const (
	// batchTime is how long the calls of a batch, or between two levels, should take: the kernel
	// updates the CPU time of threads on other cores only every few milliseconds.
	batchTime = 50 * time.Millisecond

	// pauseMost is the longest pause on a machine that is not busy.
	pauseMost = 10 * time.Millisecond

	// A process that uses less than so many cores rests.
	othersRate = 0.05

	// Goroutines that do not end in waitTime, while the process rests, wait for something. All
	// of them, and finalizers, have drainTime to come to an end.
	waitTime, drainTime = 50 * time.Millisecond, time.Second
)

// pace is the number of calls that take about batchTime together, with the goroutines that they
// start. It makes calls to find out.
func (r *run) pace() int64 {
	for n := int64(1); ; n *= 2 {
		start, before := time.Now(), runtime.NumGoroutine()
		if !r.calls(n) || r.settled(before).Sub(start) > batchTime/2 {
			return n
		}
	}
}

// calls makes n calls of work and reports whether they were made in time.
func (r *run) calls(n int64) bool {
	r.worker.Order(n)
	return r.wait()
}

// wait reports whether the calls that were ordered have returned in time, which is more on a
// busy machine.
func (r *run) wait() bool {
	for !r.worker.Wait(time.Until(r.ends)) {
		if r.worker.IsOver() || !r.goOn() {
			return false
		}
	}
	return true
}

func (r *run) done() work.Done { return r.worker.Done(r.Work) }

// facts are the facts about a profile of a kind, and the process's figures since the check
// began.
func (r *run) facts(kind string, elapsed time.Duration, units map[string]float64) judge.Facts {
	now := process.Read()
	used := process.Between(r.first, now)
	f := judge.Facts{
		Kind: kind, Live: true, Elapsed: elapsed, Work: units, Module: r.test.module, Modules: process.Modules(), NotLinked: slices.Sorted(maps.Keys(r.unlinked)),
		Figures: map[string]float64{"goroutines": float64(now.Goroutines), "heap": float64(now.Heap), "rss": float64(now.RSS)},
	}
	if r.peak != nil {
		f.Figures["goroutines"] = float64(r.peak.Count())
	}
	if used.GCKnown {
		f.Figures["gc"] = used.GC
	} else {
		f.NoFigures = map[string]string{"gc": process.GCUnknown}
	}
	switch {
	case kind != kinds.CPU:
		f.Figures["cores"] = used.Cores
	case r.reference != nil:
		f.Baseline, f.BaselineWork = r.reference.Table, r.reference.Work()
	}
	return f
}

// judge judges some budgets, by their indices, by a profile.
func (r *run) judge(indices []int, t *decode.Table, facts judge.Facts) {
	r.judged[facts.Kind] = t
	for n, f := range judged(part(r.rules, indices), t, facts) {
		r.outcomes[indices[n]] = outcome{Finding: f, kind: facts.Kind}
	}
}

// name makes the largest functions of a profile the offenders of a budget.
func (r *run) name(i int, t *decode.Table, facts judge.Facts) {
	r.judged[facts.Kind] = t
	largest := judge.Largest(facts.Kind, r.rules[i].Dimension)
	r.outcomes[i].Offenders, r.outcomes[i].kind = judged([]judge.Rule{largest}, t, facts)[0].Offenders, facts.Kind
}

func judged(rules []judge.Rule, t *decode.Table, facts judge.Facts) []judge.Finding {
	findings, err := judge.New(rules).Table(context.Background(), t, facts)
	if err != nil {
		return judge.Unjudged(len(rules), err)
	}
	return findings
}

// settled waits until there are no more goroutines than before some calls, or the others wait for
// something. It returns the time when the last one ended or used CPU.
func (r *run) settled(before int) (last time.Time) {
	start := time.Now()
	last = start
	cpu, looked := process.ProcessCPU(), start
	for least := runtime.NumGoroutine(); least > before && time.Since(last) < waitTime && time.Since(start) < drainTime; {
		time.Sleep(time.Millisecond)
		if n := runtime.NumGoroutine(); n < least {
			least, last = n, time.Now()
		}
		if d := time.Since(looked); d > pauseMost {
			now := process.ProcessCPU()
			if (now - cpu).Seconds() > othersRate*d.Seconds() {
				last = time.Now()
			}
			cpu, looked = now, time.Now()
		}
	}
	return last
}

// cumulative takes a profile of everything since the process started.
func cumulative(kind string) *decode.Table {
	if kinds.Of(kind).Sampling == kinds.Memory {
		process.Force(1) // the profile is as of the last collection
	}
	return work.Take(kind)
}

// goOn gives a check that is not decided when its time is up more time, if the machine was
// busy. It reports whether it did. That is said in the end, at the line of the test: a callback
// of the profiler, which calls goOn as well, has no line there.
func (r *run) goOn() bool {
	if !r.ends.Before(r.latest) || !r.busy() {
		return false
	}
	r.notes = append(r.notes, fmt.Sprintf("not decided after %v, so it went on for up to %v more: %s",
		time.Since(r.begun).Round(100*time.Millisecond), time.Until(r.latest).Round(time.Second), r.loadText()))
	r.ends = r.latest
	return true
}
