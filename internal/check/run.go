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
	"github.com/profguard/profguard/internal/words"
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
	facts
	seams

	reference     *release.Side // what the baseline says of itself, nil without one
	baselineTable *decode.Table // its profile

	outcomes []outcome                // by budget
	notes    []string                 // for the report
	judged   map[string]*decode.Table // by kind, the profile that budgets were judged by
}

// A subject is the work that is checked.
type subject struct {
	call   func(context.Context)
	id     string // the value of its label
	worker *work.Worker
	first  process.Snapshot // of the process
	usual  time.Duration    // the duration of a call; 0 until a call has returned
}

// facts are what a check has seen. It decides by them in the end, once. What was not looked at is nil.
type facts struct {
	counting *counting
	levels   map[int]level
	cpu      *cpuPhase
	others   *kindsPhase
	endings  []ending

	// Goroutines:
	started   int64                 // by work in the first call
	strangers map[string]int64      // without the label after the first call, by their roots
	come      *words.MoreGoroutines // of these, as the most that have come with the calls
	peak      *decode.Table         // those of work at the time when there were most
	tooMany   *words.StillRunning   // the repetition has ended because of them
	rest      rest                  // after the last call
	hadToEnd  time.Duration         // how long those that are left in the end had to end
	waits     *words.StillRunning   // that wait then, and have come with the calls
}

// hasFailed reports whether a budget has failed by what was seen so far, beside CPU samples. The check ends early then,
// and others may be left open.
func (r *run) hasFailed() bool {
	return slices.ContainsFunc(r.of(counted), func(i int) bool {
		return r.counting != nil && r.counting.outcome(r.rules[i]).Verdict == evidence.Fail
	}) || slices.ContainsFunc(r.of(levels), func(i int) bool {
		return r.levels != nil && r.levelsOf(i).Verdict == evidence.Fail
	}) || slices.ContainsFunc(r.of(gained), func(i int) bool {
		return r.others != nil && r.others.found[i].Verdict == evidence.Fail
	})
}

// seams are what tests set.
type seams struct {
	temp     string              // where profiles are saved without -artifacts; "" is the system's
	baseline int64               // the number of samples of a new baseline
	onBlock  func(*decode.Table) // sees each block of work
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

// about are the facts about a profile of a kind, and the process's figures since the check
// began.
func (r *run) about(kind string, elapsed time.Duration, units map[string]float64) judge.Facts {
	now := process.Read()
	used := process.Between(r.first, now)
	f := judge.Facts{
		Kind: kind, Elapsed: elapsed, Work: units, Module: r.test.module, Modules: process.Modules(), NotLinked: slices.Sorted(maps.Keys(r.unlinked)),
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
		f.Baseline, f.BaselineWork = r.baselineTable, r.reference.Pieces.Work
	}
	return f
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
