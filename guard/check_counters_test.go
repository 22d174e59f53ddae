package guard

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
)

// A counter that waits for what work holds until it is stopped neither hangs the check
// nor goes without a word; one that only takes its time is a counter.
func TestCheckCounterWaitsForWork(t *testing.T) {
	var mu sync.Mutex
	var rows atomic.Int64
	check := func(work func(context.Context), read func() float64) checked {
		return tryCheck(t, Checker{Max: 3 * time.Second, Work: map[string]func() float64{"a": func() float64 { return 1 }, "row": read}},
			budget.Must("process below 1s per row"), work)
	}
	locked := func() float64 {
		mu.Lock()
		defer mu.Unlock()
		return float64(rows.Load())
	}
	got := check(func(ctx context.Context) {
		mu.Lock()
		defer mu.Unlock()
		for ctx.Err() == nil {
			mix(0.5)
			rows.Add(1)
		}
	}, locked)
	if !strings.Contains(got.problem, `Checker.Work["row"] did not return until work was stopped`) {
		t.Errorf("a counter that waits for work: %q\n%s", got.problem, got.text())
	}
	got = check(func(context.Context) {
		mu.Lock()
		defer mu.Unlock()
		mix(0.5)
		rows.Add(1)
	}, locked)
	if got.problem != "" {
		t.Errorf("a counter that waits for a call: %s", got.problem)
	}
}
