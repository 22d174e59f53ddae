package guard

import (
	"context"
	"time"

	"github.com/profguard/profguard/budget"
)

// Check fails the test unless work keeps within the budgets.
//
//	func TestCheckout(t *testing.T) {
//		guard.Check(t, budget.Must(
//			"no function above 20% cumulative",
//			"encoding/json below 40us per call",
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
// the limit 6 seconds to fail.
//
// A failure is proof that the limit is exceeded, and not a comparison: a function
// just below its limit does not fail now and then. A pass is proof that what was
// measured is less than 1.25 times its limit, or, when time is up, that one and a half
// times the limit would have been caught. So work that is little above a limit passes
// as well, for a test that fails now and then is worse; but it is not counted as
// kept: "0 budgets kept, 1 too close to its limit to tell", says the log. See package
// budget about verdicts. A budget about which nothing can be said fails the test
// too, with what to do about it.
//
// It judges what work does, with the goroutines that work starts; if goroutines that
// stood before turn out to do it, such as a server's, the test fails and says so.
//
// # What is measured
//
// CPU samples carry a pprof label of this check, which goroutines inherit from
// the one that starts them, so checks in parallel tests see what their own work
// does and nothing else. The label does not reach goroutines that stood before,
// and is lost where work sets labels on another context than ctx. A server that
// the test started earlier is such a case: let work call its handler, or start the
// server inside work, for many requests a call. Where such goroutines are busy, and a
// CPU budget is not surely kept with them, Check lets work run and rest in turns,
// decided by coin: what rests with work is work's, and the budget then fails the test
// as one that could not be judged. Goroutines of tests in parallel are busy in either case and don't
// count. Where work cannot be made to rest (in a benchmark, or in a call that
// lasts as long as ctx does), or time is up, a note in the log says what may be.
//
// The first call warms up and is not counted. A call of work is the unit in
// budgets "per call". work is scaffolding when it is a function literal, and so
// is the function that it calls: a literal that calls one function is judged by
// what that function spends its time on. A named function given as work is an
// entry point itself. See package budget about scaffolding. Where a literal calls
// several functions and one of them is over a limit, a note says that none of
// them is judged itself.
//
// Package main is called by its import path in its own test. Budgets on main, as the
// service has them, are taken for that, and a note says so.
//
// Check's own loop around work is left out. Work that takes less than calling it is
// too small to have shares: loop inside it.
//
// Under -race, the race detector's own samples are left out, so that shares are near
// to what they are without it. Amounts are not: code that is watched takes several
// times as long and allocates more. Leave budgets on time, cores, bytes and
// allocations to a file that begins with //go:build !race; where one fails under
// -race, a note says so.
//
// Other kinds of profile carry no labels. Allocations "process below ... of
// allocs per call" are counted exactly, and so that other tests do not make it
// fail, by the quietest batches of calls; functions' shares of allocs, heap,
// mutex and block, and the figures heap, rss and gc are the process's own while
// work runs. Don't run such tests in parallel. "no goroutine leaked" counts the
// goroutines with this check's label that are left when work is over, and
// "goroutines below ..." those that there were at the most, seen every 100 ms.
// "goroutines steady" and "heap steady" look at ten floors after so many calls
// each, and name who has what has grown. While budgets of mutex or block are checked, all such events of the
// process are recorded.
//
// # Tests of all sorts
//
// t may be a *testing.B: Check then runs the benchmark's own b.Loop, reports
// what it measured as metrics, and fails on what is beyond doubt (it takes budgets
// on CPU only: those of allocs and other kinds belong into a test); what -benchtime
// is too short for is logged as not decided, and passes. A second of a core is enough
// for most of what is at 3.5 times its limit, 5 seconds are better. Under -short it
// takes 5 seconds at most, and what is not decided by then is logged and passes.
// What no time would decide fails either way.
// go test -cpuprofile holds the profiler, so Check calls work once and skips the
// test. go test -fuzz calls work once for each input, without judging. A guard in
// the same process shares the profiler with Check.
//
// If work panics, Check panics with the same text and work's stack; if work ends
// its goroutine (t.FailNow, t.SkipNow), Check ends the test the same way.
func Check(t TB, budgets budget.Set, work func(context.Context)) {
	t.Helper()
	Checker{}.Check(t, budgets, work)
}

// A Checker is [Check] with other settings. It is a plain value; its zero value
// is what Check uses.
type Checker struct {
	// Max bounds the time that a check may take, 30 seconds by default (5 under
	// -short). The test's deadline bounds it as well.
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

const (
	// defaultMax lets a share of 0.95 of a limit of 5% pass, and one of 1.5 times
	// the limit fail, on half a core.
	defaultMax = 30 * time.Second
	// shortMax passes half the limit and fails twice the limit on one core.
	shortMax = 5 * time.Second
	// reserve is what is left of the test's deadline for work to return, for the
	// profile to be saved and the message to be written.
	reserve = time.Second
	// leastMax is the least time in which anything can be said: 12 blocks, as
	// many to confirm.
	leastMax = 3 * time.Second
)

// Check is [Check] with c's settings.
func (c Checker) Check(t TB, budgets budget.Set, work func(context.Context)) {
	t.Helper()
	r, problem := newCheckRun(c, t, budgets, work)
	if problem == "" {
		problem = r.run()
	}
	if problem != "" {
		t.Errorf("guard.Check: %s", problem)
		t.FailNow()
	}
}
