// Package check judges budgets in a test. It is what guard.Check and guard.Checker do.
//
// The way of a check:
//
//   - plan.go decides how each budget is judged: counted, sampled, or by what is left
//     when work is over. What is wrong with the budgets themselves ends the check here.
//   - package work calls it on a goroutine of its own, with a label.
//   - counts.go judges what is counted per call (CPU of the process, allocations), and
//     steady.go what is to stay as it is from call to call.
//   - cpu.go samples CPU in blocks of 100 ms until all is decided, kinds.go the other
//     profiles. unlabelled.go finds work that is done without the label.
//   - after.go judges what is left when work is over.
//   - report.go says what came of it, and fails, skips or passes the test.
//
// load.go tells a busy machine from work that sleeps: no budget fails for the former. It
// also tells whether samples came for the CPU that was used: without them none passes.
package check

import (
	"cmp"
	"context"
	"runtime/debug"
	"slices"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/profiler"
)

// TB is what a check needs of a test; see guard.TB.
type TB interface {
	Helper()
	Name() string
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	FailNow()
	Failed() bool
	Skipf(format string, args ...any)
	Skipped() bool
}

// A tbBenchmark is a test that is a benchmark. What else a test may have is asked for where
// it is used.
type tbBenchmark interface {
	Loop() bool
	ReportMetric(n float64, unit string)
}

// Config are the settings of a check, as guard.Checker documents them.
type Config struct {
	Max          time.Duration
	Work         map[string]func() float64
	BaselineFile string
	Update       bool
}

const (
	// defaultMax lets a share of 0.95 of a limit of 5% pass, and one of 1.5 times
	// the limit fail, on half a core.
	defaultMax = 30 * time.Second
	// shortMax passes half the limit and fails twice the limit on one core.
	shortMax = 5 * time.Second
	// reserve is what is left of the test's deadline for work to return, for the
	// profile to be saved and the message to be written.
	reserve = time.Second
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

// setEnd finds out how long the check may take.
func (r *run) setEnd() {
	limit := cmp.Or(r.Max, defaultMax)
	if r.Max == 0 && r.test.short {
		limit = shortMax
	}
	left := r.deadline().Add(-reserve).Sub(r.begun)
	r.ends, r.latest = r.begun.Add(min(limit, left)), r.begun.Add(min(busyTimes*limit, left))
}

// atDeadline reports whether the check ends because of the test's deadline.
func (r *run) atDeadline() bool { return !r.ends.Before(r.deadline().Add(-reserve)) }

// deadline is the test's, or a time that does not come.
func (r *run) deadline() time.Time {
	if d, has := r.t.(interface{ Deadline() (time.Time, bool) }); has {
		if at, ok := d.Deadline(); ok {
			return at
		}
	}
	return r.begun.AddDate(1, 0, 0)
}

// parent is the context that work's is made of.
func (r *run) parent() context.Context {
	if c, ok := r.t.(interface{ Context() context.Context }); ok {
		return c.Context()
	}
	return context.Background()
}

// A testRun says how go test was called, as far as a check goes by it.
type testRun struct {
	short      bool // -short
	fuzzing    bool // the engine is running: -fuzz, in the parent or a worker
	cpuprofile bool // testing holds the profiler
	mutex      bool // -mutexprofile: the rate is the person's
	block      bool // -blockprofile: likewise
	artifacts  bool // -artifacts: what is saved there stays
	race       bool // -race
}

func currentTestRun() testRun {
	info, ok := debug.ReadBuildInfo()
	return testRun{
		short:      process.TestFlag("short") == "true",
		fuzzing:    process.TestFlag("fuzz") != "" || process.TestFlag("fuzzworker") == "true",
		cpuprofile: profiler.HeldByTest(),
		mutex:      process.TestFlag("mutexprofile") != "",
		block:      process.TestFlag("blockprofile") != "",
		artifacts:  process.TestFlag("artifacts") == "true",
		race:       ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}),
	}
}
