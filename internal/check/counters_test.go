package check

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
		return tryCheck(t, Config{Max: 3 * time.Second, Work: map[string]func() float64{"a": func() float64 { return 1 }, "row": read}},
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
	if !strings.Contains(got.problem, `Checker.Work["row"] took too long, and work was stopped`) {
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

// A benchmark's counters are read where its loop runs, and there is no work to stop.
func TestCheckCountersOfABenchmark(t *testing.T) {
	r := run{worker: new(worker), Config: Config{Work: map[string]func() float64{"row": func() float64 { return 7 }}}}
	var c counters
	if got := c.read(&r); got["row"] != 7 {
		t.Errorf("read %v", got)
	}
}

// The last call of work ends well, unless it waits for the end of its context.
func TestCheckLetsTheLastCallReturn(t *testing.T) {
	canceled := 0
	got := tryCheck(t, Config{Max: ample}, budget.Must("check.burnGuilty below 50%"), func(ctx context.Context) {
		mix(0)
		select {
		case <-ctx.Done():
			canceled++ // after which nothing is read before the check has ended
		case <-time.After(10 * time.Millisecond):
		}
	})
	if got.verdict() != "pass" || canceled > 0 {
		t.Errorf("%s, %d calls were cut short:\n%s", got.verdict(), canceled, got.text())
	}
	began := time.Now()
	w := startWorker(t.Context(), "x", func(ctx context.Context) { <-ctx.Done() })
	w.order(1)
	if !w.stop(0, patience) {
		t.Errorf("a call that waits for its context has not returned after %v", time.Since(began))
	}
}
