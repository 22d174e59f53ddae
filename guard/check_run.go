package guard

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/figures"
	"github.com/profguard/profguard/internal/hub"
)

// A checkRun is one check under way.
type checkRun struct {
	Checker
	t         TB
	test      testRun
	set       budget.Set
	plan      plan
	fn        func(context.Context)
	id        string // the value of the label
	temp      string // where profiles are saved without -artifacts; "" is the system's
	module    string
	ends      time.Time // the verdict must be in
	begun     time.Time
	base      baselineFile
	baseline  int64 // samples that make one
	link      linkage
	worker    *checkWorker
	reader    *figures.Reader
	first     figures.Snapshot
	results   []budget.Result // by budget
	vacuous   map[int]bool    // by budget: no amount of time would decide it
	undecided map[int]bool    // by budget: it passed because time was up
	notes     []string        // said with the results

	judged map[string]*profile.Profile // by kind, other than CPU: for saving

	counters *checkCounters

	cpu     *cpuPhase
	peak    goroutinePeak
	late    bool          // time was up during a call
	resting bool          // the worker was told to pause while it had no end to its order
	usual   time.Duration // what a call takes; 0 while no call is known to have returned
}

// newCheckRun prepares a check, or says what is wrong with it.
func newCheckRun(c Checker, t TB, budgets budget.Set, work func(context.Context)) (*checkRun, string) {
	r := &checkRun{
		Checker: c, t: t, set: budgets, fn: work,
		test:      currentTestRun(hub.HeldByTest()),
		id:        fmt.Sprintf("%s#%08x", t.Name(), rand.Uint32()),
		begun:     time.Now(),
		results:   make([]budget.Result, len(budgets)),
		judged:    map[string]*profile.Profile{},
		vacuous:   map[int]bool{},
		undecided: map[int]bool{},
		baseline:  baselineSamples,
		counters:  new(checkCounters),
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		r.module = info.Main.Path
	}
	switch {
	case work == nil:
		return nil, "expected a function to call, found nil"
	case len(budgets) == 0:
		return nil, "expected budgets, found none: name at least one, as in budget.Must(\"no function above 20% cumulative\")"
	case c.Max < 0:
		return nil, fmt.Sprintf("expected a Max above zero, found %v; zero means %v", c.Max, defaultMax)
	}
	if err := budgets.Validate(); err != nil {
		return nil, err.Error()
	}
	budgets, r.notes = mainAsTested(budgets, testedMain())
	r.set = budgets
	var wrong []string
	r.plan, wrong = planOf(budgets, c)
	r.link = linkageOf(budgets)
	wrong = append(wrong, r.link.vacuous...)
	if len(wrong) > 0 {
		return nil, "cannot be judged:\n  " + strings.Join(wrong, "\n  ")
	}
	if problem := r.setEnd(); problem != "" {
		return nil, problem
	}
	if !c.Update {
		if problem := r.base.load(c.BaselineFile, r.plan.grows, r.plan.units); problem != "" {
			return nil, problem
		}
		r.notes = append(r.notes, r.base.notes...)
	}
	return r, ""
}

// setEnd finds out how long the check may take.
func (r *checkRun) setEnd() (problem string) {
	limit := r.Max
	switch {
	case limit == 0 && r.test.short:
		limit = shortMax
	case limit == 0:
		limit = defaultMax
	}
	r.ends = r.begun.Add(limit)
	if at, ok := r.deadline(); ok && at.Add(-reserve).Before(r.ends) {
		r.ends = at.Add(-reserve)
		if left := time.Until(r.ends); left < leastMax && len(r.plan.cpu) > 0 {
			return fmt.Sprintf("the test's deadline leaves %v, and a verdict on CPU takes %v at least: raise -timeout",
				max(0, left).Round(10*time.Millisecond), leastMax)
		}
	}
	return ""
}

// deadline is the test's, if it has one.
func (r *checkRun) deadline() (at time.Time, ok bool) {
	if d, has := r.t.(tbDeadline); has {
		return d.Deadline()
	}
	return time.Time{}, false
}

// run does the check and reports it. A problem is something that keeps it from
// having results.
func (r *checkRun) run() (problem string) {
	r.t.Helper()
	if b, ok := r.t.(tbBenchmark); ok {
		return r.benchmark(b)
	}
	parent := context.Background()
	if c, ok := r.t.(tbContext); ok {
		parent = c.Context()
	}
	held := r.test.cpuprofile && len(r.plan.cpu) > 0
	if held || r.test.fuzzing {
		return r.once(parent, held)
	}
	r.reader = figures.NewReader()
	defer r.reader.Close()
	r.beginFigures()

	restore := r.recordContention()
	defer restore()

	r.worker = startWorker(parent, r.id, r.fn)
	stopped := false
	defer func() { // also when something below panics
		if !stopped {
			r.worker.stop(0, 0)
		}
	}()
	problem = r.phases()
	if hangs := r.counters.problem(); hangs != "" {
		problem = hangs
	}
	stopped = true
	returned := r.worker.stop(r.grace(), r.patience())
	if r.worker.isOver() {
		r.worker.surface(r.t)
	}
	if problem == "" && !returned {
		problem = fmt.Sprintf("work has not returned %v after its context was canceled: return when ctx is done", r.patience())
	}
	if problem != "" {
		return problem
	}
	r.afterwards()
	if r.cpu != nil {
		if problem := r.cpu.results(r); problem != "" {
			return problem
		}
	}
	if r.Update {
		if problem := r.writeBaseline(); problem != "" {
			return problem
		}
	}
	r.report()
	return ""
}

// grace is how long the last call may take to return before its context is canceled:
// twice what calls take, and nothing where they are not known to return by themselves.
func (r *checkRun) grace() time.Duration {
	if r.usual == 0 {
		return 0
	}
	want := min(2*r.usual+time.Second, 5*time.Second)
	if at, ok := r.deadline(); ok {
		want = min(want, max(0, time.Until(at)-reserve))
	}
	return want
}

// patience is how long work may take to return after its context was canceled.
func (r *checkRun) patience() time.Duration {
	// Twice what its calls take, and enough for a collection on a loaded machine.
	want := 2*r.usual + 5*time.Second
	if at, ok := r.deadline(); ok {
		want = min(want, max(time.Until(at)-reserve/2, reserve/2))
	}
	return want
}

// firstWait is how long the first call may take before the check goes on and
// measures it: a call that lasts as long as its context does is one, too.
const firstWait = time.Second

// restTime is how long work runs for budgets on what it leaves behind alone.
const restTime = 100 * time.Millisecond

// phases runs work in the ways that the budgets need.
func (r *checkRun) phases() (problem string) {
	start := time.Now()
	r.worker.order(1)
	back := r.worker.wait(min(firstWait, time.Until(r.ends)))
	if back {
		r.usual = time.Since(start)
	}
	if r.worker.isOver() {
		return ""
	}
	counted := len(r.plan.counts) + len(r.plan.steady)
	if counted > 0 {
		if !back {
			back = r.worker.wait(time.Until(r.ends))
			r.usual = time.Since(start)
		}
		if !back {
			if r.worker.isOver() {
				return ""
			}
			return r.blocked()
		}
		r.countAllocs()
		r.settleFloors()
	}
	if r.worker.isOver() || r.late || r.failed() {
		return ""
	}
	if len(r.plan.cpu)+len(r.plan.profiles)+len(r.plan.figures) > 0 {
		return r.freely(back)
	}
	if back && counted == 0 {
		r.calls(r.pace(restTime)) // what one call leaves behind may be an exception
	}
	return ""
}

// blocked says that a call does not return.
func (r *checkRun) blocked() string {
	return fmt.Sprintf("work has not returned from call %d after %v; what is counted per call needs calls that return, and soon",
		r.worker.calls.Load()+1, time.Since(r.begun).Round(100*time.Millisecond))
}

// failed reports whether a budget has failed already.
func (r *checkRun) failed() bool {
	return slices.ContainsFunc(r.results, func(res budget.Result) bool { return res.Verdict == budget.Fail })
}

// once calls work one time, where judging is out of the question.
func (r *checkRun) once(parent context.Context, held bool) (problem string) {
	r.t.Helper()
	r.worker = startWorker(parent, r.id, r.fn)
	r.worker.order(1)
	back := r.worker.wait(time.Until(r.ends))
	returned := r.worker.stop(0, r.patience())
	if r.worker.isOver() {
		r.worker.surface(r.t)
	}
	if !back && !returned {
		return r.blocked()
	}
	if held {
		r.t.Skipf("guard.Check: go test -cpuprofile holds the profiler, so that nothing was judged; work was called once. " +
			"Run the test without -cpuprofile, or judge the profile that it writes (budget.Set.JudgeReader)")
	}
	r.t.Logf("guard.Check: go test -fuzz is running, so that nothing was judged; work was called once")
	return ""
}
