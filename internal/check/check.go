// Package check judges budgets in a test. It is what guard.Check and guard.Checker do.
//
// The steps of a check:
//
//   - plan.go decides how each budget is judged: by counters, by samples, or by the
//     goroutines and memory that are left in the end. A budget that a test cannot judge
//     ends the check here.
//   - package work calls the test's work on a goroutine of its own, with a label.
//   - counts.go judges counters per call (CPU of the process, allocations), and steady.go
//     goroutines and memory that must not grow from call to call.
//   - cpu.go samples CPU in blocks of 100 ms until all budgets are decided, kinds.go the
//     other profiles. unlabelled.go finds work that is done without the label.
//   - after.go judges the goroutines and the memory that are left in the end.
//   - report.go writes the result, and fails, skips or passes the test.
//
// load.go distinguishes a busy machine from work that sleeps: no budget fails because of a
// busy machine. It also checks that there are samples for the CPU that was used: without
// them no budget passes.
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

// A tbBenchmark is a TB that is a benchmark. Other optional methods of a TB are looked up
// where they are used.
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
	// defaultMax is enough, on a core and with a limit of 20%, for a share of 0.95 times the
	// limit to pass, and for one of 1.5 times the limit to fail.
	defaultMax = 30 * time.Second
	// shortMax is enough, on a core and with a limit of 20%, for half the limit to pass and
	// 2.4 times the limit to fail.
	shortMax = 5 * time.Second
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

// setEnd sets the time at which the check ends.
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

// parent is the parent of work's context.
func (r *run) parent() context.Context {
	if c, ok := r.t.(interface{ Context() context.Context }); ok {
		return c.Context()
	}
	return context.Background()
}

// A testRun says what is tested, and holds the flags of go test that matter to a check.
type testRun struct {
	module string // of the tested package
	main   string // the import path of the tested package if it is a package main, or ""

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
	path := info.Path
	if strings.HasSuffix(path, ".test") { // that of a package main does not end so
		path = ""
	}
	return testRun{
		module: info.Main.Path, main: path,
		short:      process.TestFlag("short"),
		fuzzing:    process.TestFlag("fuzz") || process.TestFlag("fuzzworker"),
		cpuprofile: profiler.HeldByTest(),
		mutex:      process.TestFlag("mutexprofile"),
		block:      process.TestFlag("blockprofile"),
		race:       slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}),
	}
}
