// Package check judges budgets in a test. It is what guard.Check and guard.Checker do.
//
// The steps of a check: plan.go decides how each budget is judged. Package work calls the test's
// work on a goroutine of its own, with a label. counts.go judges counters per call, steady.go
// what must not grow from call to call, cpu.go CPU samples in blocks of 100 ms until all
// budgets are decided, kinds.go other profiles, and after.go what is left in the end.
// unlabelled.go finds work that is done without the label, and unfinished.go what is not done when
// work returns. report.go writes the result.
//
// load.go distinguishes a busy machine from work that sleeps: no budget fails because of a
// busy machine. Without samples for the CPU that was used, no budget passes.
package check

import (
	"cmp"
	"context"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/profiler"
)

// TB is the part of a testing.TB that a check needs; see guard.TB.
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

// A tbBenchmark is a TB that is a benchmark.
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
	Strict       bool
}

const (
	// On a core, a share decides about a limit of 20% in defaultMax if it is less than 0.95 or
	// more than 1.5 times that, and in shortMax (of -short) if less than 0.5 or more than 2.4.
	defaultMax, shortMax = 30 * time.Second, 5 * time.Second
	// reserve is the time before the test's deadline in which work returns, the profile is
	// saved and the message is written.
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

func (r *run) setEnd() {
	limit := cmp.Or(r.Max, defaultMax)
	if r.Max == 0 && r.test.short {
		limit = shortMax
	}
	left := r.deadline().Add(-reserve).Sub(r.begun)
	r.ends, r.latest = r.begun.Add(min(limit, left)), r.begun.Add(min(busyTimes*limit, left))
}

// deadline is the test's deadline, or a year from now if it has none.
func (r *run) deadline() time.Time {
	if d, has := r.t.(interface{ Deadline() (time.Time, bool) }); has {
		if at, ok := d.Deadline(); ok {
			return at
		}
	}
	return r.begun.AddDate(1, 0, 0)
}

func (r *run) parent() context.Context {
	if c, ok := r.t.(interface{ Context() context.Context }); ok {
		return c.Context()
	}
	return context.Background()
}

// A testRun says what is tested, and holds the flags of go test that matter to a check.
type testRun struct {
	module string // of the tested package
	path   string // the import path of the tested package, "" when unknown

	short      bool // -short
	fuzzing    bool // the engine is running: -fuzz, in the parent or a worker
	cpuprofile bool // testing holds the profiler
	mutex      bool // -mutexprofile: the user has set the rate
	block      bool // -blockprofile: likewise
	race       bool // -race
}

func currentTestRun() testRun {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return testRun{
		module:     info.Main.Path,
		path:       strings.TrimSuffix(info.Path, ".test"), // that of a package main does not end so before Go 1.27
		short:      process.TestFlag("short"),
		fuzzing:    process.TestFlag("fuzz") || process.TestFlag("fuzzworker"),
		cpuprofile: profiler.HeldByTest(),
		mutex:      process.TestFlag("mutexprofile"),
		block:      process.TestFlag("blockprofile"),
		race:       slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}),
	}
}
