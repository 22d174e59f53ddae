package check

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/work"
)

// batchesOf makes batches of calls that take so long, beside others that use so many
// cores all the time.
func batchesOf(n, calls int, call func() float64, others float64) []batch {
	var out []batch
	for range n {
		b := batch{units: map[string]float64{work.Call: float64(calls)}, paused: 0.01}
		for range calls {
			b.took += call()
		}
		b.used = usage{b.took + others*b.took, 100 * float64(calls), float64(calls)}
		b.idle[cpuSeconds] = others * b.paused
		out = append(out, b)
	}
	return out
}

// What is counted is decided by a few batches where it is not near, and never fails
// within its limit, however unlike calls are.
func TestJudgeBatches(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	steady := func() float64 { return 0.01 * (1 + 0.03*rng.NormFloat64()) }
	tailed := func() float64 { return 0.01 / 3 * math.Pow(rng.Float64(), -2.0/3) } // Pareto: the mean is 10 ms
	for _, tt := range []struct {
		name   string
		call   func() float64
		budget string
		n      int
		want   budget.Verdict
		say    string
	}{
		{"half", steady, "process below 20ms per call", 3, budget.Pass, "the limit is 20ms"},
		{"twice", steady, "process below 5ms per call", 3, budget.Inconclusive, "too unsteady"},
		{"twice, six", steady, "process below 5ms per call", 6, budget.Fail, "the limit is 5ms"},
		{"cores", steady, "process below 2 cores", 3, budget.Pass, "at 1 core"},
		{"cores, too many", steady, "process below 0.5 cores", 12, budget.Fail, "the process at 1 core"},
		{"bytes", steady, "process below 100B per call of allocs", 3, budget.Pass, "the process at 100B, the limit is 100B"},
		{"a byte more", steady, "process below 99B per call of allocs", 3, budget.Fail, "the process at 100B, the limit is 99B"},
		{"allocations", steady, "process below 2 per call of allocs", 3, budget.Pass, "the process at 1, the limit is 2"},
		{"no unit", steady, "process below 1s per row", 3, budget.Inconclusive, `no "row" was counted`},
		{"none", steady, "process below 3 cores", 0, budget.Inconclusive, "0 batches of calls ended in time"},
		{"one batch", steady, "process below 1s per call", 1, budget.Inconclusive, "and 2 are needed"},
		{"one batch near the limit, the last", steady, "process below 11ms per call", 1, budget.Inconclusive, "and 2 are needed"},
		{"unlike calls", tailed, "process below 1s per call", 3, budget.Pass, ""},
	} {
		got := judgedBatches(t, budget.Must(tt.budget)[0], batchesOf(tt.n, 5, tt.call, 0), strings.HasSuffix(tt.name, "the last"))
		if got.Verdict != tt.want || !strings.Contains(got.Reason, tt.say) {
			t.Errorf("%s: %v: %s", tt.name, got.Verdict, got.Reason)
		}
	}
	// What others use is never taken off. A limit that the process keeps with it is kept, and that a
	// limit is exceeded is not known. Its CPU is sampled then.
	beside := batchesOf(3, 5, steady, 0.5)
	for i := range beside {
		beside[i].used[allocBytes], beside[i].idle[allocBytes] = 500*float64(4*i+1), 5e4*beside[i].paused
	}
	for text, want := range map[string]string{
		"process below 12ms per call":           "",
		"process below 40ms per call":           "the limit is 40ms",
		"process below 400B per call of allocs": "the process at 600B, the limit is 400B, including other goroutines of the process",
		"process below 590B per call of allocs": "the process at 600B, the limit is 590B, including other goroutines",
		"process below 3KiB per call of allocs": "the process at 600B, the limit is 3KiB",
	} {
		passes := strings.HasSuffix(text, "40ms per call") || strings.HasSuffix(text, "3KiB per call of allocs")
		if got := judgedBatches(t, budget.Must(text)[0], beside, true); (got.Verdict == budget.Pass) != passes || got.Verdict == budget.Fail || !strings.Contains(got.Reason, want) {
			t.Errorf("beside others, %s: %v: %s", text, got.Verdict, got.Reason)
		}
	}
	for name, tt := range map[string]struct {
		others, limit float64 // bytes a call
		batches       int
		want          budget.Verdict
		say           string
	}{
		"beside many others, near the limit":   {100, 590, 48, budget.Inconclusive, "beside"},
		"beside many others, without them too": {100, 300, 48, budget.Inconclusive, "beside"},
		"beside a few, near the limit":         {5, 503, 24, budget.Pass, ""},
		"beside a few, with few batches":       {5, 503, 23, budget.Inconclusive, "unsteady"},
		"beside a few, above it without them":  {5, 490, 24, budget.Fail, ""},
	} {
		list := batchesOf(tt.batches, 5, func() float64 { return 0.01 }, 0)
		for i := range list {
			list[i].used[allocBytes] = 5 * (500 + tt.others)
			list[i].idle[allocBytes] = 5 * tt.others * list[i].paused / list[i].took
		}
		b := budget.Must(fmt.Sprintf("process below %vB per call of allocs", tt.limit))[0]
		if got := judgedBatches(t, b, list, false); got.Verdict != tt.want || !strings.Contains(strings.ReplaceAll(got.Reason, "including other goroutines of the process", "beside"), tt.say) {
			t.Errorf("%s: %v: %s", name, got.Verdict, got.Reason)
		}
	}
	// What the process uses in the pauses and after the last batch may be work's.
	late := batchesOf(12, 5, steady, 0.04)
	if got := judgedBatches(t, budget.Must("process below 10.05ms per call")[0], late, true); got.Value < 0.01*1.04 {
		t.Errorf("what was used in the pauses is left out: %s", got.Reason)
	}
	tailed12 := batches{list: batchesOf(12, 5, steady, 0), tail: usage{0.6, 0, 600}}
	for text, want := range map[string]budget.Verdict{
		"process below 15ms per call": budget.Inconclusive, "process below 22ms per call": budget.Pass,
		"process below 5 per call of allocs": budget.Inconclusive, "process below 11 per call of allocs": budget.Pass,
	} {
		b := budget.Must(text)[0]
		if got := bridge.CheckResult[budget.Result](b, tailed12.judge(rulesOf(t, budget.Set{b})[0], true).Finding); got.Verdict != want {
			t.Errorf("with what was used after the last batch, %s: %v: %s", text, got.Verdict, got.Reason)
		}
	}
	// A mean above the limit is too close to tell only within the zone.
	for text, want := range map[string]budget.Verdict{"process below 9.6ms per call": budget.Pass, "process below 7.5ms per call": budget.Inconclusive} {
		unsteady := batchesOf(6, 5, steady, 0)
		unsteady[0].used[cpuSeconds] *= 1.1
		unsteady[1].used[cpuSeconds] *= 0.9
		if strings.Contains(text, "7.5") {
			unsteady[0].used[cpuSeconds] *= 1.5
			unsteady[1].used[cpuSeconds] *= 0.5
		}
		if got := judgedBatches(t, budget.Must(text)[0], unsteady, true); got.Verdict != want {
			t.Errorf("unsteady, %s: %v: %s, at most %v", text, got.Verdict, got.Reason, got.High)
		}
	}
	within := budget.Must("process below 10ms per call")[0]
	over := budget.Must("process below 5ms per call")[0]
	for name, call := range map[string]func() float64{"steady": steady, "unlike calls": tailed} {
		late := 0
		for range usually(2000, 400) {
			counted := batchesOf(mostBatches, 5, call, 0)
			for n := fewBatches; n < mostBatches; n *= 2 {
				if got := judgedBatches(t, within, counted[:n], false); got.Verdict == budget.Fail {
					t.Fatalf("%s: fails at the limit after %d batches: %s", name, n, got.Reason)
				}
			}
			if judgedBatches(t, over, counted[:48], false).Verdict != budget.Fail {
				late++
			}
		}
		if name == "steady" && late > 0 {
			t.Errorf("%s: %d of them at twice the limit have not failed after 48 batches", name, late)
		}
	}
}

// A budget that counting does not decide leaves half of the time to those that are sampled.
func TestCheckCountsForHalfOfTheTime(t *testing.T) {
	if !apart(t) {
		return
	}
	needProfiler(t)
	n := 0
	var got checked
	for tries := 3; tries == 3 || got.undecided() && tries > 0; tries-- {
		got = tryCheck(t, Config{Max: 6 * time.Second}, budget.Must("process below 1000 per call of allocs", "no function above 20% cumulative"), func(ctx context.Context) {
			n++
			for range 200 + n%2*1600 {
				leaf = new(int)
			}
			for start := time.Now(); time.Since(start) < 100*time.Millisecond; {
				mixAndRest(ctx, 0.95)
			}
		})
	}
	if got.verdict() == "skipped" {
		t.Skipf("the machine is busy: %s", got.text())
	}
	if got.verdict() != "fail" || !strings.Contains(got.text(), "check.burnGuilty at") {
		t.Errorf("%s:\n%s %s", got.verdict(), got.problem, got.text())
	}
}

var leaf *int

// Batches take about as long when calls become slower, or were slow only at first.
func TestRepaced(t *testing.T) {
	for name, cost := range map[string]func(n int64) float64{
		"slower": func(n int64) float64 { return 1e-6 * float64(n) },
		"faster": func(n int64) float64 { return 1/float64(n) + 1e-5 },
	} {
		calls, n, last := int64(100), int64(0), 0.0
		for range 40 {
			last = 0
			for range calls {
				n++
				last += cost(n)
			}
			calls = repaced(calls, last)
		}
		if last < batchTime.Seconds()/3 || last > 3*batchTime.Seconds() {
			t.Errorf("%s: the last batch took %v s", name, last)
		}
	}
}

func TestRests(t *testing.T) {
	call := func() float64 { return 0.01 }
	for others, want := range map[float64]bool{0: true, 0.04: true, 0.5: false} {
		b := batches{list: batchesOf(5, 5, call, others)}
		if got := b.rests(cpuSeconds); got != want {
			t.Errorf("%v cores of others: %t", others, got)
		}
	}
}

// The CPU of the process is decided after a few calls, and who uses it is named.
func TestCheckCounts(t *testing.T) {
	if !apart(t) {
		return
	}
	needProfiler(t)
	work := func(ctx context.Context) { mixAndRest(ctx, 0.9) }
	got := tryCheck(t, Config{Max: ample}, budget.Must("process below 1s per call", "process below 4 cores"), work)
	if got.verdict() != "pass" || got.run.cpu != nil {
		t.Errorf("%s:\n%s %s", got.verdict(), got.problem, got.text())
	}
	got = tryCheck(t, Config{Max: ample}, budget.Must("process below 20us per call"), work)
	counted := strings.Contains(got.text(), "the limit is 20us") || got.run.busy() // it is sampled then
	if got.verdict() != "fail" || !strings.Contains(got.text(), "check.burnGuilty") || !counted {
		t.Errorf("%s:\n%s %s", got.verdict(), got.problem, got.text())
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // a block needs a sample, and no core of its own
	stop := make(chan struct{})
	defer close(stop)
	go func() { // somebody else's work
		for {
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
				mix(0)
				mix(0)
			}
		}
	}()
	on(t, crowded) // where that work may get no core in the pauses
	got = tryCheck(t, Config{Max: ample}, budget.Must("process below 20us per call", "process below 100s per call"), work)
	if got.verdict() != "fail" || got.run.cpu == nil {
		t.Errorf("beside others, %s:\n%s %s", got.verdict(), got.problem, got.text())
	}
}

// Where a call of work does not return, the offenders of a budget that was exceeded before are
// not looked for with more calls, which would wait for that one.
func TestCheckCountsBesideAHangingCall(t *testing.T) {
	if !apart(t) {
		return
	}
	on(t, idle)
	calls := 0
	ended := make(chan checked, 1)
	go func() {
		ended <- tryCheckAs(newFakeTB(t), Config{Max: 2 * time.Second}, budget.Must("process below 2 per call of allocs", "process below 1000 per call of allocs"), func(ctx context.Context) {
			for range 200 + calls%2*1600 { // by which the second budget is not decided
				leaf = new(int)
			}
			if time.Sleep(time.Millisecond); calls > 400 {
				<-ctx.Done()
			}
			calls++
		})
	}()
	select {
	case got := <-ended:
		if got.verdict() != "broken" && got.verdict() != "fail" || !strings.Contains(got.problem+got.text(), "process below 2 per call of allocs") {
			t.Errorf("%s:\n%s %s", got.verdict(), got.problem, got.text())
		}
	case <-time.After(time.Minute):
		t.Error("the check has not ended after a minute")
	}
}

// judgedBatches is the judgement on batches, in words.
func judgedBatches(t *testing.T, b budget.Budget, list []batch, last bool) budget.Result {
	t.Helper()
	counted := batches{list: list}
	return bridge.CheckResult[budget.Result](b, counted.judge(rulesOf(t, budget.Set{b})[0], last).Finding)
}
