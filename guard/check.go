package guard

import (
	"context"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/check"
)

// TB is the part of testing.TB that [Check] needs. It keeps package testing out of programs that
// import guard.
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

// Check fails the test if work exceeds a budget.
//
//	func TestCheckout(t *testing.T) {
//		guard.Check(t, budget.Must(
//			"no function above 20% cumulative",
//			"process below 5ms per call",
//			"portlist absent",
//		), func(ctx context.Context) {
//			serveOneCheckout(ctx)
//		})
//	}
//
// It calls work again and again, one call after the other, on a goroutine of its own, until
// every budget is decided or one has failed, but not longer than [Checker.Max]. Then it
// lets the last call return, and cancels ctx. If no call has returned by itself, it cancels
// ctx at once. docs/test.md says what to do with each result, and has the limits.
//
// # What fails, passes and is skipped
//
// A test fails on proof that a limit is exceeded. It also fails on a mistake in the test that would
// be one on any machine: a unit without a counter, a pattern that matches no function (unless
// it is to be absent), a scope that is never entered, work that hardly uses CPU although the
// machine is idle, work that replaces the check's label, work that leaves goroutines running or
// more and more of them waiting.
//
// A test passes on proof that the measured value is less than 1.25 times its limit. For a limit on
// a share above two thirds, it must be below the middle between the limit and 100%. When the time
// is up, work that is a little above a limit passes, too, because a test must not fail now and then.
// The log does not call such a budget kept: "1 too close to the limit to tell".
// "absent" passes on any number of samples, and the log says what they prove.
//
// A busy machine never fails a test. If it leaves a check of CPU undecided, the check goes on
// for up to four times Max, within the test's deadline. Then the test is skipped, with the
// figures. With [Checker.Strict] it fails, and so does a test with any other undecided budget.
//
// # What is measured
//
// Counters of the kernel and the runtime judge the CPU of the process and its allocations, mostly
// within a second. They count everything from the first call until the goroutines of the calls
// have ended, with garbage collection. The use of other goroutines, such as those of parallel tests,
// is not subtracted, so it can only keep a budget from passing: then CPU is sampled, and a test of
// allocations is skipped. CPU is also sampled if the first call takes longer than a second.
//
// CPU samples carry a pprof label of this check. Goroutines inherit it from the goroutine that
// starts them, so checks in parallel tests only see their own work. These do not have it: goroutines
// that were started before the check or by another one, such as those of a server; finalizers;
// threads of C code; and work that sets labels of another context than ctx. If samples without the
// label would change a verdict, the test is skipped.
//
// The first call warms up and is not measured, unless it takes longer than a second. The unit
// "call" in budgets "per call" is one call of work. A named function given as work is charged
// with its own body only, and the functions that it calls are judged in full. If work is a
// function literal, the literal and the functions that it calls are charged with their own body
// only. Budgets on "main" mean the tested package, because go test makes the main package of a test.
// Work that takes less time than the call of it is too small for shares: repeat it inside work.
//
// Among the other kinds of profile, only that of goroutines carries labels. Allocs, heap, mutex
// and block of functions, and the figures heap, rss and gc, are those of the whole process while
// work runs: don't run such tests in parallel. Checks with budgets on mutex or
// block take turns, because they make the runtime record all events. "no goroutine leaked"
// counts the goroutines with this check's label that are left in the end. "goroutines below
// ..." looks at their number every 100 ms and takes the largest. "goroutines steady" and "heap
// steady" compare ten or more measurements, each after the same number of calls. If the number of
// goroutines without the label grows with the calls, budgets on goroutines are undecided.
//
// # Benchmarks, -short, -cpuprofile, -fuzz
//
// t may be a *testing.B. Check then runs the benchmark's own b.Loop, reports measured values
// as metrics, and fails on proof. It only takes budgets on CPU. If -benchtime is too short
// for a budget, that is logged and the benchmark passes. The same holds under -short, with
// which a check takes at most 5 seconds, and 20 on a busy machine. Mistakes in the test fail
// either way. go test -cpuprofile holds the profiler, so Check with a budget on CPU calls work
// once and skips the test, and runs a benchmark without judging it (with Update it fails).
// Under go test -fuzz it calls work once for each input and judges nothing. A guard in the same
// process shares the profiler.
//
// If work panics, Check panics with the same text and work's stack. If work ends its
// goroutine (t.FailNow, t.SkipNow), Check ends the test the same way.
func Check(t TB, set budget.Set, work func(context.Context)) {
	t.Helper()
	Checker{}.Check(t, set, work)
}

// A Checker is [Check] with other settings. It is a plain value, and Check uses the zero value.
type Checker struct {
	// Max is the longest time of a check. It is four times as long on a busy machine. The test's
	// deadline limits it as well. Default: 30s (5s under -short).
	Max time.Duration

	// Work has counters for budgets "per" a unit of work, by that unit. The unit "call" is always there.
	//
	//	Work: map[string]func() float64{"row": func() float64 { return float64(rows.Load()) }}
	//
	// They are read while work runs, so they must not wait for a lock that work holds, and
	// must never decrease.
	Work map[string]func() float64

	// BaselineFile is the profile that "grows" budgets compare with, usually testdata/NAME.pprof. A check
	// with Update writes it. Default: none.
	//
	// The file has the number of calls in it. For growth in points any other CPU profile will do.
	BaselineFile string

	// Update writes BaselineFile instead of judging "grows" budgets.
	//
	// Declare a flag for it, so that go test -run TestCheckout -update refreshes the baseline:
	//
	//	var update = flag.Bool("update", false, "refresh testdata")
	//
	//	guard.Checker{BaselineFile: "testdata/checkout.pprof", Update: *update}.Check(t, ...)
	Update bool

	// Strict fails the test unless each budget is kept. Use it on machines where tests run alone.
	//
	// It fails, too, if a busy machine, parallel tests, -short, -benchtime or -cpuprofile have left a
	// budget undecided, or if one is too close to its limit to tell. Even then nothing is judged under go
	// test -fuzz.
	Strict bool
}

// Check is [Check] with c's settings.
func (c Checker) Check(t TB, set budget.Set, work func(context.Context)) {
	t.Helper()
	check.Run(t, check.Config(c), set, work)
}
