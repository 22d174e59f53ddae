// Package check judges budgets in a test. It is what guard.Check and guard.Checker do.
//
// check.go has the steps of a check. plan.go says how each budget is judged. Package work calls
// the test's work on a goroutine of its own, with a label. Facts are collected first: counts.go measures counters
// per call, steady.go what must not grow from call to call, cpu.go CPU samples, in blocks of 100 ms until all budgets are
// decided, kinds.go other profiles, and goroutines.go what has not ended, and what is left. decide.go decides once, from
// all of them: samples.go has what CPU samples say, with the label and without. report.go writes the result.
//
// load.go distinguishes a busy machine from work that sleeps: no budget fails because of a
// busy machine. Without samples for the CPU that was used, no budget passes.
package check

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/profiler"
	"github.com/profguard/profguard/internal/reference"
	"github.com/profguard/profguard/internal/work"
)

// Run fails the test unless work keeps within the budgets.
func Run(t TB, c Config, budgets budget.Set, work func(context.Context)) {
	t.Helper()
	r, problem := newRun(c, t, budgets, work)
	if problem == "" {
		problem = r.do()
	}
	if problem != "" {
		t.Errorf("guard.Check: %s", problem)
		t.FailNow()
	}
}

// newRun prepares a check, or says what is wrong with it.
func newRun(c Config, t TB, budgets budget.Set, call func(context.Context)) (*run, string) {
	r := &run{
		Config: c, harness: harness{t: t, test: currentTestRun()}, seams: seams{baseline: baselineSamples},
		subject: subject{call: call, id: fmt.Sprintf("%s#%08x", t.Name(), rand.Uint32())},
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
	if r.rules, err = bridge.Rules(budgets); err != nil {
		return nil, err.Error()
	}
	mainAsTested(r.rules, r.test.path)
	r.judged = map[string]*decode.Table{}
	var wrong []string
	r.ways, wrong = waysOf(r.set, r.rules, c)
	if !r.test.fuzzing { // under -fuzz this runs for each input, and nothing is judged
		var texts []string
		for _, rule := range r.rules {
			texts = append(texts, rule.Patterns()...)
		}
		r.unlinked, _ = process.Missing(texts, reference.ThisBuild().Program, process.Functions) // if they are not known, all count as linked
	}
	wrong = append(wrong, r.ineffective()...)
	if len(wrong) > 0 {
		return nil, "cannot be judged:\n  " + strings.Join(wrong, "\n  ")
	}
	return r, r.loadBaseline()
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
	limit := cmp.Or(r.Max, defaultMax)
	if r.Max == 0 && r.test.short {
		limit = shortMax
	}
	r.setEnd(limit, r.deadline().Add(-reserve))
	// The runtime adds the cost of a collection to its counters when the collection ends.
	// So one that has begun during the test's set-up is ended before the first snapshot.
	if slices.ContainsFunc(r.rules, func(rule judge.Rule) bool { return rule.Subject == "gc" || rule.When.Figure == "gc" }) {
		runtime.GC()
	}
	r.first = process.Read()
	if r.bench != nil {
		return r.benchmark()
	}
	held := r.test.cpuprofile && (r.Update || slices.ContainsFunc(r.of(sampled, counted), func(i int) bool { return r.rules[i].Kind == kinds.CPU }))
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
	if problem = r.phases(); problem == "" && r.records(kinds.Mutex) {
		problem = work.Unrecorded()
	}
	if returns := r.usual > 0 && (!r.worker.Busy || r.worker.Pause(r.grace())); returns && problem == "" {
		r.lookAtRest()
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
	r.lookAfterwards()
	r.outcomes = r.decide()
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
	if slices.ContainsFunc(r.of(left, most, levels), r.ofGoroutines) {
		r.strangers = work.Unlabelled(r.id)
	}
	if !back {
		r.resample() // with such long calls there would be few batches
		if len(r.of(levels, counted)) > 0 {
			back = r.wait()
			switch unfinished := !back && !r.worker.IsOver(); {
			case unfinished && (r.busy() || r.test.short):
				return "" // not decided
			case unfinished:
				return fmt.Sprintf("work has not returned from call 1 after %v; budgets per call need calls that return, and soon",
					time.Since(r.begun).Round(100*time.Millisecond))
			}
		}
	}
	if back {
		r.usual, r.started = time.Since(start), work.Goroutines(r.id).Count()
		r.limitGoroutines()
		r.count()
		r.takeLevels()
	}
	if r.worker.IsOver() || back && r.worker.Busy || r.hasFailed() {
		return ""
	}
	return r.repeatWork(back)
}

// repeatWork repeats work until the budgets that are judged over time are decided, and for at
// least a block: the goroutines and memory that a single call leaves may be an exception.
func (r *run) repeatWork(back bool) (problem string) {
	r.others = r.newKindsPhase()
	if back {
		r.worker.Order(0)
	}
	start := time.Now()
	goesOn := func() bool {
		if !back && r.worker.Wait(0) {
			back, r.usual = true, time.Since(r.begun)
			r.worker.Order(0)
		}
		if len(r.of(most)) > 0 {
			r.peak = work.Most(r.peak, r.id)
		}
		r.others.look(r, time.Since(start), false)
		if back && r.worker.Busy && r.worker.Wait(0) && !r.resume() {
			return false
		}
		switch {
		case r.worker.IsOver(), r.hasFailed():
			return false
		case !time.Now().Before(r.ends):
			return r.cpu != nil && r.cpu.open(r, true) > 0 && r.goOn()
		case r.cpu == nil:
		case r.cpu.blocks.Failed():
			return false
		case r.cpu.open(r, false) > 0, r.Update && r.cpu.blocks.Samples() < r.baseline && !r.cpu.useless(r):
			return true
		}
		return len(r.of(figure, state, most)) > 0 && time.Since(start) < figureTime || len(r.others.open(r)) > 0
	}
	if r.Update || len(r.of(sampled)) > 0 {
		r.cpu = r.newCPUPhase()
		ctx, cancel := context.WithDeadline(context.Background(), r.latest)
		defer cancel()
		profiler.Process().Stream(ctx, block, func(w profiler.Window) bool {
			r.cpu.add(r, w)
			return goesOn()
		})
		if r.worker.IsOver() {
			return ""
		}
		if err := r.cpu.close(r); err != nil {
			return err.Error()
		}
	} else {
		for more := true; more; more = goesOn() {
			time.Sleep(block)
		}
	}
	r.others.look(r, time.Since(start), true)
	return ""
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
