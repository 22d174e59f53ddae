package guard

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
)

// A failingTB is a test that may fail.
type failingTB struct {
	testing.TB
	failed bool
	said   []string
}

func (f *failingTB) Logf(format string, args ...any) {
	f.said = append(f.said, fmt.Sprintf(format, args...))
}
func (f *failingTB) Errorf(format string, args ...any) { f.failed = true; f.Logf(format, args...) }
func (f *failingTB) FailNow()                          { f.failed = true; runtime.Goexit() }
func (f *failingTB) Skipf(format string, args ...any)  { f.Logf(format, args...); runtime.Goexit() }

// A guard and a check in one process share the profiler.
func TestCheckBesideGuard(t *testing.T) {
	needProfiler(t)
	g, err := Start(Config{
		Budgets:    budget.Must("guard.turn below 99%"),
		Registerer: prometheus.NewRegistry(),
		Every:      time.Second,
		Window:     time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Stop()
	tb, done := &failingTB{TB: t}, make(chan struct{})
	go func() {
		defer close(done)
		Checker{Max: 2 * time.Minute}.Check(tb, budget.Must("guard.turn below 30% cumulative"), func(context.Context) {
			if turn(1_000_000) == 0 {
				panic("the sum is an odd number")
			}
		})
	}()
	<-done
	if text := strings.Join(tb.said, "\n"); !tb.failed || !strings.Contains(text, "guard.turn at ") {
		t.Errorf("failed %t:\n%s", tb.failed, text)
	}
}

//go:noinline
func turn(rounds int) (x uint64) {
	x = 1
	for range rounds {
		x = x*6364136223846793005 + 1442695040888963406 | 1
	}
	return x
}

// TestCheckLines: what a check says is said at the line of the test that calls it.
func TestCheckLines(t *testing.T) {
	needProfiler(t)
	if os.Getenv("PROFGUARD_CHECK_LINES") == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCheckLines$", "-test.v")
		cmd.Env = append(os.Environ(), "PROFGUARD_CHECK_LINES=1", "TMPDIR="+t.TempDir())
		out, _ := cmd.CombinedOutput() // it is to fail
		for _, said := range []string{"1 kept (", "1 exceeded (", "cannot be judged:", "work has skipped the test"} {
			if n := regexp.MustCompile(`(?m)^ +check_test\.go:\d+: guard\.Check: .*`+regexp.QuoteMeta(said)).FindAll(out, -1); len(n) != 2 {
				t.Errorf("%q is said %d times at a line of this file, want 2:\n%s", said, len(n), out)
			}
		}
		return
	}
	work := func(context.Context) {
		if turn(1_000_000) == 0 {
			t.Error("turn returned 0")
		}
	}
	for name, check := range map[string]func(testing.TB, budget.Set, func(context.Context)){
		"Check": func(t testing.TB, set budget.Set, work func(context.Context)) { t.Helper(); Check(t, set, work) },
		"Checker": func(t testing.TB, set budget.Set, work func(context.Context)) {
			t.Helper()
			Checker{}.Check(t, set, work)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Run("kept", func(t *testing.T) { check(t, budget.Must("process below 10s per call"), work) })
			t.Run("exceeded", func(t *testing.T) { check(t, budget.Must("process below 1ns per call"), work) })
			t.Run("mistake", func(t *testing.T) { check(t, budget.Must("process below 1s per row"), work) })
			t.Run("skipped", func(t *testing.T) {
				check(t, budget.Must("process below 10s per call"), func(context.Context) { t.SkipNow() })
			})
		})
	}
}
