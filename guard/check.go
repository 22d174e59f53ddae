package guard

import (
	"context"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/check"
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

// Check fails the test unless work keeps within the budgets.
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
// It calls work again and again, one call after the other, on a goroutine of its
// own, until every budget is decided or one has failed, and no longer than
// [Checker.Max]. Then it lets the last call return, and cancels ctx; a call that goes on
// until ctx is done is told at once. Half the limit takes about 2 seconds to pass, twice
// the limit 6 seconds to fail, 98% against 20% one second. What is near its limit takes
// all the time there is; after ten seconds the log says what is not decided.
//
// # What fails, passes and is skipped
//
// A failure is proof that the limit is exceeded, or a mistake in the test that would be
// one on any machine: a unit that nobody counts, a pattern that matches nothing, a scope
// that is never entered, work that hardly computes although nothing keeps it from it,
// work that is done by goroutines without the check's label.
//
// A pass is proof that what was measured is less than 1.25 times its limit, or, when
// time is up, that one and a half times the limit would have been caught. Work that is
// little above a limit passes as well, for a test that fails now and then is worse; but
// it is not counted as kept: "0 budgets kept, 1 too close to the limit to tell", says
// the log. "absent" passes on the samples that there were, and says what they prove.
//
// A busy machine never fails a test. What it leaves undecided goes on for up to four
// times Max, within the test's deadline, and is then skipped, with the figures.
//
// # What is measured
//
// Budgets on the CPU of the process and on its allocations are counted by the kernel and
// the runtime, and decided after a few calls. While other goroutines of the process are
// at work, tests in parallel say, CPU is sampled instead.
//
// CPU samples carry a pprof label of this check, which goroutines inherit from the one
// that starts them, so checks in parallel tests see what their own work does and nothing
// else. The label does not reach goroutines that stood before, and is lost where work
// sets labels on another context than ctx. A server that the test started earlier is such
// a case: let work call its handler, or start the server inside work, for many requests a
// call. Where a budget is not kept with the samples of such goroutines, the test fails if
// they are work's, and is skipped if that cannot be told.
//
// The first call warms up and is not counted. A call of work is the unit in budgets "per
// call". A function literal given as work is not judged itself, and the function that it
// calls is judged by what that spends its time on; of a literal that calls several none
// is judged itself. A named function given as work is an entry point. Package main is
// called by its import path in its own test; budgets on main are taken for that.
//
// Requests and recorders that a test makes with httptest.NewRequest and NewRecorder are
// left out. Work that takes less than calling it is too small to have shares: loop inside it.
// Under -race shares are near to what they are without it, and amounts are not: leave
// budgets on time, cores, bytes and allocations to a file that begins with
// //go:build !race.
//
// Other kinds of profile carry no labels. Functions' shares of allocs, heap, mutex and
// block, and the figures heap, rss and gc are the process's own while work runs: don't
// run such tests in parallel. Checks with budgets on mutex or block take turns, as all
// events are recorded for them. "no goroutine leaked" counts the goroutines with this
// check's label that are left when work is over, and "goroutines below ..." those that
// there were at the most, seen every 100 ms. "goroutines steady" and "heap steady" look
// at ten floors after so many calls each.
//
// # Tests of all sorts
//
// t may be a *testing.B: Check then runs the benchmark's own b.Loop, reports what it
// measured as metrics, and fails on what is beyond doubt, of budgets on CPU only. What
// -benchtime is too short for is logged as not decided, and passes, and so it is under
// -short, which takes 5 seconds, and at most 20 on a busy machine. Mistakes fail either way. go test -cpuprofile
// holds the profiler, so Check calls work once and skips the test. go test -fuzz calls
// work once for each input, without judging. A guard in the same process shares the
// profiler with Check.
//
// If work panics, Check panics with the same text and work's stack; if work ends
// its goroutine (t.FailNow, t.SkipNow), Check ends the test the same way.
//
// docs/check.md has the errors and times that were measured, and the limits.
func Check(t TB, budgets budget.Set, work func(context.Context)) {
	t.Helper()
	Checker{}.Check(t, budgets, work)
}

// A Checker is [Check] with other settings. It is a plain value; its zero value
// is what Check uses.
type Checker struct {
	// Max bounds the time that a check may take, 30 seconds by default (5 under
	// -short). On a busy machine it is up to four times as long. The test's deadline
	// bounds it as well.
	Max time.Duration

	// Work are more counters for budgets "per" something:
	// {"row": func() float64 { return float64(rows.Load()) }}.
	// They are read while work runs, so they must not wait for what work holds, and
	// must only ever grow. "call" is there already.
	Work map[string]func() float64

	// BaselineFile is the profile that "grows" budgets compare with: one that a
	// check with Update has written, usually testdata/NAME.pprof, which keeps how
	// many calls it stands for; any other CPU profile does for growth in points.
	BaselineFile string

	// Update writes BaselineFile instead of judging "grows" budgets. Declare a
	// flag for it, so that
	//
	//	go test -run TestCheckout -update
	//
	// refreshes the baseline:
	//
	//	var update = flag.Bool("update", false, "refresh testdata")
	//
	//	guard.Checker{BaselineFile: "testdata/checkout.pprof", Update: *update}.Check(t, ...)
	Update bool
}

// Check is [Check] with c's settings.
func (c Checker) Check(t TB, budgets budget.Set, work func(context.Context)) {
	t.Helper()
	check.Run(t, check.Config(c), budgets, work)
}
