package guard

import (
	"context"
	"fmt"
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
