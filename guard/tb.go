package guard

import (
	"context"
	"flag"
	"time"
)

// TB is what [Check] needs of a test. *testing.T, *testing.B and *testing.F have
// it; that it is an interface keeps package testing out of programs that import
// guard for production.
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

// What else a test may have is asked for where it is used.
type (
	tbContext interface{ Context() context.Context }

	tbDeadline interface {
		Deadline() (deadline time.Time, ok bool)
	}

	tbArtifacts interface{ ArtifactDir() string }

	tbBenchmark interface {
		Loop() bool
		ReportMetric(n float64, unit string)
	}
)

// testFlag returns the value of one of go test's flags, by its name in the test
// binary. Asking package flag rather than testing is what keeps testing unlinked.
func testFlag(name string) string {
	f := flag.Lookup("test." + name)
	if f == nil {
		return ""
	}
	return f.Value.String()
}

// A testRun says how go test was called, as far as Check goes by it.
type testRun struct {
	short      bool // -short
	fuzzing    bool // the engine is running: -fuzz, in the parent or a worker
	cpuprofile bool // testing holds the profiler
	mutex      bool // -mutexprofile: the rate is the person's
	block      bool // -blockprofile: likewise
	artifacts  bool // -artifacts: what is saved there stays
}

func currentTestRun(held bool) testRun {
	return testRun{
		short:      testFlag("short") == "true",
		fuzzing:    testFlag("fuzz") != "" || testFlag("fuzzworker") == "true",
		cpuprofile: held,
		mutex:      testFlag("mutexprofile") != "",
		block:      testFlag("blockprofile") != "",
		artifacts:  testFlag("artifacts") == "true",
	}
}
