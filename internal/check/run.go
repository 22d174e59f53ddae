package check

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/release"
	"github.com/profguard/profguard/internal/work"
)

// A run is one check.
type run struct {
	Config
	t         TB
	bench     tbBenchmark // t, if it is one
	test      testRun
	set       budget.Set
	rules     []judge.Rule // of the set
	plan      plan
	call      func(context.Context) // work
	id        string                // the value of the label
	temp      string                // where profiles are saved without -artifacts; "" is the system's
	begun     time.Time
	ends      time.Time     // the time of the verdict
	latest    time.Time     // the time of the verdict on a busy machine
	waited    time.Duration // for cores, before the check
	base      *decode.Table // the baseline, and what it says of itself
	reference *release.Side
	baseWork  map[string]float64 // in the baseline, by unit
	baseline  int64              // the number of samples of a new baseline
	unlinked  map[string]string  // patterns that match no function, with the nearest name
	worker    *work.Worker
	first     process.Snapshot

	outcomes []outcome                // by budget
	notes    []string                 // for the report
	judged   map[string]*decode.Table // by kind, the profile that budgets were judged by

	unlabelled map[string]int64 // goroutines without the label after the first call, by their roots
	started    int64            // goroutines of work after the first call
	tooMany    *judge.StillRunning
	each       int64 // the number of calls in a batch
	collect    usage // what a collection takes
	look       usage // what a look at the goroutines takes
	mem        runtime.MemStats

	onBlock func(*decode.Table) // in tests, sees each block of work

	cpu   *cpuPhase
	peak  *decode.Table // the goroutines of work at the time when there were most
	usual time.Duration // the duration of a call; 0 until a call has returned
}

// An outcome is what was found about a budget, with the cause of an inconclusive finding.
type outcome struct {
	judge.Finding
	cause cause
	kind  string // of the profile that it was judged by, "" without one
}

// A cause says why a budget is inconclusive.
type cause int

const (
	noTime  cause = iota // it was not decided in the time given
	mistake              // more time would not decide it, on any machine: the test fails
	unknown              // the work may be that of another test: this test is skipped
)

// newRun prepares a check, or says what is wrong with it.
func newRun(c Config, t TB, budgets budget.Set, call func(context.Context)) (*run, string) {
	r := &run{
		Config: c, t: t, call: call,
		test:     currentTestRun(),
		id:       fmt.Sprintf("%s#%08x", t.Name(), rand.Uint32()),
		judged:   map[string]*decode.Table{},
		baseline: baselineSamples,
	}
	r.bench, _ = t.(tbBenchmark)
	switch {
	case call == nil:
		return nil, "expected a function to call, found nil"
	case len(budgets) == 0:
		return nil, "expected budgets, found none: name at least one, as in budget.Must(\"no function above 20% cumulative\")"
	case c.Max < 0:
		return nil, fmt.Sprintf("expected a Max above zero, found %v; zero means %v", c.Max, defaultMax)
	}
	for name, counter := range c.Work {
		if counter == nil {
			return nil, fmt.Sprintf("Work[%q]: expected a function that reads the counter, found nil", name)
		}
	}
	if err := budgets.Validate(); err != nil {
		return nil, err.Error()
	}
	if c.Update { // the baseline is being written, so growth is not judged
		budgets = slices.DeleteFunc(slices.Clone(budgets), func(b budget.Budget) bool { return b.Rule == budget.RuleGrows })
	}
	r.set = budgets
	var err error
	if r.rules, err = budgets.Rules(); err != nil {
		return nil, err.Error()
	}
	mainAsTested(r.rules, r.test.path)
	r.outcomes = unreached(len(r.set))
	var wrong []string
	r.plan, wrong = planOf(r.set, r.rules, c)
	if !r.test.fuzzing { // under -fuzz this runs for each input, and nothing is judged
		var texts []string
		for _, rule := range r.rules {
			texts = append(texts, rule.Patterns()...)
		}
		r.unlinked, _ = process.Missing(texts, process.Functions) // if they are not known, all count as linked
	}
	wrong = append(wrong, r.vacuous()...)
	if len(wrong) > 0 {
		return nil, "cannot be judged:\n  " + strings.Join(wrong, "\n  ")
	}
	return r, r.loadBaseline()
}

func unreached(n int) []outcome {
	return slices.Repeat([]outcome{{Finding: judge.Finding{Reason: judge.NoTime{}}}}, n)
}

// do runs the check and reports it. A problem is the reason why there are no results.
func (r *run) do() (problem string) {
	r.t.Helper()
	restore, err := work.RecordContention(r.t.Name(), r.records(kinds.Mutex), r.records(kinds.Block))
	if err != nil {
		return err.Error()
	}
	defer restore()
	r.begun, r.waited = time.Now(), waited()
	r.setEnd()
	// The runtime adds the cost of a collection to its counters when the collection ends.
	// So one that has begun during the test's set-up is ended before the first snapshot.
	if slices.ContainsFunc(r.rules, func(rule judge.Rule) bool { return rule.Subject == "gc" || rule.When.Figure == "gc" }) {
		runtime.GC()
	}
	r.first = process.Read()
	if r.bench != nil {
		return r.benchmark()
	}
	held := r.test.cpuprofile && (len(r.plan.cpu) > 0 || slices.ContainsFunc(part(r.rules, r.plan.counted), isCPU) || r.Update)
	if held || r.test.fuzzing {
		r.once(held)
		return ""
	}
	if left := time.Until(r.deadline()); left < reserve {
		return fmt.Sprintf("the test's deadline leaves %v: raise -timeout of go test", max(0, left).Round(10*time.Millisecond))
	}
	r.worker = work.New(r.parent(), r.id, r.call)
	r.worker.Start()
	defer r.worker.Stop(0, 0) // also when something below panics
	problem = r.phases()
	if returns := r.usual > 0 && (!r.worker.Busy || r.worker.Pause(r.grace())); returns && problem == "" {
		r.takeBackUnfinished()
	}
	returned := r.worker.Stop(0, r.endTime())
	if r.worker.IsOver() {
		r.repeatEnd()
	}
	switch {
	case problem != "":
		return problem
	case !returned:
		return fmt.Sprintf("work has not returned %v after its context was canceled: return when ctx is done", r.endTime())
	}
	if r.cpu != nil && len(r.plan.figures) > 0 { // they are live memory, and no longer needed
		r.cpu.all.sum, r.cpu.unlabelled, r.cpu.group = nil, nil, span{}
	}
	r.afterwards()
	return r.report()
}

// grace is how long the last call may take to return before its context is canceled: twice
// the duration of a call and a second, five seconds at most, and 0 if no call has returned by
// itself.
func (r *run) grace() time.Duration {
	if r.usual == 0 {
		return 0
	}
	return min(2*r.usual+time.Second, 5*time.Second, max(0, time.Until(r.deadline())-reserve))
}

// endTime is how long work may take to return after its context was canceled: twice the
// duration of a call, and twenty seconds.
func (r *run) endTime() time.Duration {
	return min(2*r.usual+20*time.Second, max(time.Until(r.deadline())-reserve/2, reserve/2))
}

// firstWait is how long the check waits for the first call to return before it measures
// during that call: some work runs until its context ends.
const firstWait = time.Second

// phases runs work in the ways that the budgets need.
func (r *run) phases() (problem string) {
	start := time.Now()
	r.worker.Order(1)
	back := r.worker.Wait(min(firstWait, time.Until(r.ends)))
	if len(r.plan.ofGoroutines(r.rules)) > 0 {
		r.unlabelled = work.Unlabelled(r.id)
	}
	if !back {
		r.plan.sampleAll(r.rules) // with such long calls there would be few batches
		if len(r.plan.counted)+len(r.plan.steady) > 0 {
			back = r.wait()
			switch unfinished := !back && !r.worker.IsOver(); {
			case unfinished && (r.busy() || r.test.short):
				return "" // not decided
			case unfinished:
				return fmt.Sprintf("work has not returned from call 1 after %v; what is counted per call needs calls that return, and soon",
					time.Since(r.begun).Round(100*time.Millisecond))
			}
		}
	}
	if back {
		r.usual, r.started = time.Since(start), work.Goroutines(r.id).Count()
		r.limitGoroutines()
		r.count()
		r.judgeLevels()
	}
	if r.worker.IsOver() || back && r.worker.Busy || anyFailed(r.outcomes) {
		return ""
	}
	return r.repeatWork(back)
}

// anyFailed reports whether a budget has failed. The check ends early then, and others may be
// left open.
func anyFailed(outcomes []outcome) bool {
	return slices.ContainsFunc(outcomes, func(o outcome) bool { return o.Verdict == evidence.Fail })
}

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

// repeatEnd repeats on the test's goroutine how work ended its own: by a panic, a skip or an
// exit.
func (r *run) repeatEnd() {
	r.t.Helper()
	switch exited := r.worker.Exited; {
	case r.worker.Panicked != nil:
		panic(r.worker.Panicked)
	case exited && r.t.Skipped():
		r.t.Skipf("guard.Check: work has skipped the test")
	case exited && r.t.Failed():
		r.t.FailNow()
	case exited:
		r.t.Errorf("guard.Check: work ended its goroutine (runtime.Goexit) in call %d; it must return", r.worker.Calls.Load()+1)
		r.t.FailNow()
	}
}

// once calls work a single time, and judges nothing.
func (r *run) once(held bool) {
	r.t.Helper()
	ctx, cancel := context.WithDeadline(r.parent(), r.ends)
	defer cancel()
	r.call(ctx)
	const text = "guard.Check: go test -cpuprofile holds the profiler, so nothing was judged; work was called once. " +
		"Run the test without -cpuprofile, or judge the profile that it writes (budget.Set.JudgeReader)"
	switch {
	case held && r.Strict:
		r.t.Errorf(text)
		return
	case held:
		r.t.Skipf(text)
	}
	r.t.Logf("guard.Check: go test -fuzz is running, so nothing was judged; work was called once")
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
	if kind == kinds.CPU {
		f.Baseline, f.BaselineWork = r.base, r.baseWork
	} else {
		f.Figures["cores"] = used.Cores
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
