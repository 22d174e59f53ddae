package check

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/process"
)

// A fakeTB is a test that is allowed to fail.
type fakeTB struct {
	onBlock  func(*decode.Table)
	name     string
	deadline time.Time
	temp     string // for profiles of checks that fail
	baseline int64  // samples that make one, if not as many as ever

	mu      sync.Mutex
	logs    []string
	errors  []string
	failed  bool
	skipped bool
}

// newFakeTB is a test that may fail within t, and leaves nothing behind.
func newFakeTB(t testing.TB) *fakeTB { return &fakeTB{name: t.Name(), temp: t.TempDir()} }

func (f *fakeTB) Helper()      {}
func (f *fakeTB) Name() string { return f.name }

func (f *fakeTB) Logf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.logs = append(f.logs, fmt.Sprintf(format, args...))
}

func (f *fakeTB) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
	f.failed = true
}

func (f *fakeTB) FailNow() {
	f.mu.Lock()
	f.failed = true
	f.mu.Unlock()
	runtime.Goexit()
}

func (f *fakeTB) Failed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

func (f *fakeTB) Skipf(format string, args ...any) {
	f.Logf(format, args...)
	f.mu.Lock()
	f.skipped = true
	f.mu.Unlock()
	runtime.Goexit()
}

func (f *fakeTB) Skipped() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.skipped
}

func (f *fakeTB) Deadline() (time.Time, bool) { return f.deadline, !f.deadline.IsZero() }

// text is all that the test has said.
func (f *fakeTB) text() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(append(append([]string{}, f.logs...), f.errors...), "\n")
}

// on runs fn as the body of the fake test, on a goroutine of its own, and
// returns what it panicked with and whether it got to its end.
func (f *fakeTB) on(fn func()) (panicked any, returned bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if !returned {
				panicked = recover()
			}
		}()
		fn()
		returned = true
	}()
	<-done
	return panicked, returned
}

// ample is the Max of checks that are to decide: at a load of 22 on two cores
// 20 seconds brought 22 samples.
const ample = 5 * time.Minute

// checked is what became of one check.
type checked struct {
	*fakeTB
	run      *run
	problem  string
	panicked any
	returned bool
}

// verdict is that of the check as a whole.
func (c checked) verdict() string {
	switch {
	case c.run == nil || c.problem != "" || c.panicked != nil:
		return "broken"
	case c.Skipped():
		return "skipped"
	case !c.Failed():
		return "pass"
	case slices.ContainsFunc(c.run.outcomes, func(o outcome) bool { return o.Verdict == evidence.Fail }):
		return "fail"
	}
	return "open"
}

// undecided reports whether the check could not tell. On a machine that gives a goroutine no core until
// the check gives up, that is right, and another try may tell.
func (c checked) undecided() bool { return c.verdict() == "open" || c.verdict() == "skipped" }

// tryCheck runs a check that may fail.
func tryCheck(t *testing.T, c Config, budgets budget.Set, work func(context.Context)) checked {
	t.Helper()
	needProfiler(t)
	return tryCheckAs(newFakeTB(t), c, budgets, work)
}

func tryCheckAs(f *fakeTB, c Config, budgets budget.Set, work func(context.Context)) checked {
	out := checked{fakeTB: f}
	out.panicked, out.returned = f.on(func() {
		out.run, out.problem = newRun(c, f, budgets, work)
		if out.problem == "" {
			out.run.test.short = false // the tests of -short say so
			out.run.temp, out.run.onBlock = f.temp, f.onBlock
			if f.baseline > 0 {
				out.run.baseline = f.baseline
			}
			out.problem = out.run.do()
		}
	})
	return out
}

// needProfiler skips tests that cannot work under go test -cpuprofile.
func needProfiler(t testing.TB) {
	t.Helper()
	if process.TestFlag("cpuprofile") {
		t.Skip("needs the profiler, which go test -cpuprofile holds")
	}
}
