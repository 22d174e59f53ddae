package check

import (
	"context"
	"runtime/debug"
	"slices"
	"strings"
	"time"

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

// A harness is the test that a check is part of.
type harness struct {
	t     TB
	bench tbBenchmark // t, if it is one
	test  testRun
}

// deadline is the test's deadline, or a year from now if it has none.
func (h *harness) deadline() time.Time {
	if d, has := h.t.(interface{ Deadline() (time.Time, bool) }); has {
		if at, ok := d.Deadline(); ok {
			return at
		}
	}
	return time.Now().AddDate(1, 0, 0)
}

func (h *harness) parent() context.Context {
	if c, ok := h.t.(interface{ Context() context.Context }); ok {
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
	mutexes    bool // -mutexprofile: the user has set the rate
	blocking   bool // -blockprofile: likewise
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
		mutexes:    process.TestFlag("mutexprofile"),
		blocking:   process.TestFlag("blockprofile"),
		race:       slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}),
	}
}

// Config are the settings of a check, as guard.Checker documents them.
type Config struct {
	Max          time.Duration
	Work         map[string]func() float64
	BaselineFile string
	Update       bool
	Strict       bool
}
