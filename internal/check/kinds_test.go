package check

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/work"
)

// kept is where the work of these tests leaves what it allocates.
type keeper struct {
	mu   sync.Mutex
	kept [][]byte
}

func (k *keeper) allocate(n int) {
	b := make([]byte, n)
	k.mu.Lock()
	k.kept = append(k.kept[:0], b)
	k.mu.Unlock()
}

func (k *keeper) pile(n int) {
	k.mu.Lock()
	k.kept = append(k.kept, make([]byte, n))
	k.mu.Unlock()
}

func (k *keeper) drop() {
	k.mu.Lock()
	k.kept = nil
	k.mu.Unlock()
}

// leak has the go statement, and awaitOver waits, which reports are not to blame.
//
//go:noinline
func leak(over chan struct{}) {
	go func() { awaitOver(over) }()
}

//go:noinline
func awaitOver(over chan struct{}) { <-over }

// For every kind, work that is over its budget and a twin that is within.
func TestCheckKinds(t *testing.T) {
	t.Parallel()
	var k keeper
	var hot sync.Mutex
	rest := func() { time.Sleep(3 * time.Millisecond) } // which neither allocates nor counts as blocked
	calm := func(context.Context) {                     // does nothing of what the budgets are about
		_ = burnInnocent(mixRounds / 5)
		rest()
	}
	asleep := func(ctx context.Context) { pause(ctx, time.Millisecond) }
	contend := func(context.Context) {
		var wg sync.WaitGroup
		hot.Lock()
		for range 2 {
			wg.Go(func() {
				hot.Lock()
				defer hot.Unlock()
			})
		}
		_ = burnInnocent(mixRounds / 5)
		hot.Unlock()
		wg.Wait()
		rest()
	}
	leaked, steady, some := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var left atomic.Int64
	stood := make(chan struct{}) // goroutines of other tests, which no check counts
	defer close(stood)
	for range 150 {
		go func() { <-stood }()
	}
	for _, tt := range []struct {
		name, budget string
		work, twin   func(context.Context)
		say          string
		over         chan struct{} // ends what work leaves behind
	}{
		{"bytes per call", "process below 1000B per call of allocs",
			func(context.Context) { k.allocate(1 << 17); rest() }, func(context.Context) { k.allocate(512); rest() }, "check.(*keeper).allocate  ", nil},
		{"allocations per call", "process below 2 per call of allocs",
			func(context.Context) { k.allocate(64); k.allocate(64); k.allocate(64); rest() }, func(context.Context) { k.allocate(64); rest() }, "the process at 3", nil},
		{"share of allocations", "check.(*keeper).allocate below 30% of allocs",
			func(context.Context) { k.allocate(1 << 20) }, nil, "keeper).allocate", nil},
		{"leak", "no goroutine leaked",
			func(ctx context.Context) { leak(leaked); asleep(ctx) }, func(ctx context.Context) { go func() { <-ctx.Done() }(); asleep(ctx) }, "  1. github.com/profguard/profguard/internal/check.leak.func1  ", leaked},
		{"goroutines steady", "goroutines steady",
			func(ctx context.Context) { leak(steady); asleep(ctx) }, asleep, "check.leak.func1  100.00%", steady},
		{"heap steady", "heap steady",
			// As much as is sampled for sure, however few calls there are time for.
			func(ctx context.Context) { k.pile(1 << 19); pause(ctx, 10*time.Millisecond) }, func(ctx context.Context) { k.allocate(1 << 19); pause(ctx, 10*time.Millisecond) }, "check.(*keeper).pile", nil},
		{"gc", "gc below 1%",
			func(context.Context) { runtime.GC(); rest() }, func(ctx context.Context) { mixAndRest(ctx, 0.5) }, "gc at ", nil},
		{"mutex", "check.TestCheckKinds below 1us per call of mutex", contend, calm, "of mutex", nil},
		{"block", "check.TestCheckKinds below 1us per call of block", contend, calm, "of block", nil},
		{"goroutines", "goroutines below 200", func(ctx context.Context) {
			for range 300 {
				go func() { <-ctx.Done() }()
			}
			<-ctx.Done()
		}, asleep, "the limit is 200", nil},
		// Most of them are there at the end only.
		{"goroutines, some a call", "goroutines below 300", func(ctx context.Context) {
			for range 50 {
				if left.Add(1) <= 400 { // of which 300 take seven calls, for which there is time
					leak(some)
				}
			}
			asleep(ctx)
		}, asleep, "the limit is 300", some},
		{"goroutine profile", "no function above 50 of goroutine", func(ctx context.Context) {
			for range 100 {
				go func() { <-ctx.Done() }()
			}
			<-ctx.Done()
		}, asleep, "of goroutine", nil},
		{"heap", "heap below 40MiB",
			func(ctx context.Context) {
				for range 4 {
					k.pile(1 << 24)
				}
				<-ctx.Done()
			}, asleep, "heap at ", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if !apart(t) {
				return
			}
			if tt.over == leaked {
				on(t, idle) // on a busy machine goroutines have eight seconds to end
			}
			got := tryCheckAs(newFakeTB(t), Config{Max: 8 * time.Second}, budget.Must(tt.budget), tt.work)
			if got.verdict() != "fail" || !strings.Contains(got.text(), tt.say) {
				t.Errorf("%s, want fail, saying %q:\n%s %s", got.verdict(), tt.say, got.problem, got.text())
			}
			k.drop()
			if tt.over != nil {
				close(tt.over)
			}
			for before := math.MaxInt; runtime.NumGoroutine() < before; time.Sleep(5 * time.Millisecond) {
				before = runtime.NumGoroutine()
			}
			if tt.twin == nil {
				return
			}
			got = tryCheckAs(newFakeTB(t), Config{Max: 8 * time.Second}, budget.Must(tt.budget), tt.twin)
			if got.verdict() != "pass" {
				t.Errorf("twin: %s, want pass:\n%s %s", got.verdict(), got.problem, got.text())
			}
		})
	}
}

// Check's own garbage is no proof against work that only sleeps.
func TestCheckGCOfSleep(t *testing.T) {
	if !apart(t) {
		return
	}
	got := tryCheck(t, Config{Max: 3 * time.Second}, budget.Must("gc below 0.001%", "process below 1s per call"), func(context.Context) {
		time.Sleep(10 * time.Millisecond)
	})
	if r := got.run.reported(0); r.Verdict == budget.Fail {
		t.Errorf("%s", r)
	}
}

// What -mutexprofile and -blockprofile have set is left alone.
func TestRecords(t *testing.T) {
	r := &run{budgets: budgets{rules: rulesOf(t, budget.Must("no function above 1ms per call of mutex"))}}
	r.ways, _ = waysOf(make(budget.Set, 1), r.rules, Config{})
	if !r.records("mutex") || r.records("block") {
		t.Errorf("records mutex %t, block %t", r.records("mutex"), r.records("block"))
	}
	if r.test.mutexes = true; r.records("mutex") {
		t.Error("records mutex beside -mutexprofile")
	}
}

// Work that changes the rate of the mutex profile has no events in it, and that is no pass.
func TestMutexRateChanged(t *testing.T) {
	if !apart(t) {
		return
	}
	for _, fraction := range []int{0, 1 << 20} {
		got := tryCheck(t, Config{Max: 3 * time.Second}, budget.Must("check.TestMutexRateChanged below 1us per call of mutex"), func(context.Context) {
			runtime.SetMutexProfileFraction(fraction)
			time.Sleep(time.Millisecond)
		})
		if want := fmt.Sprintf("runtime.SetMutexProfileFraction(%d) was called", fraction); !strings.Contains(got.problem, want) {
			t.Errorf("%s, want a problem that says %q: %q\n%s", got.verdict(), want, got.problem, got.text())
		}
	}
}

// That there is no contention takes two seconds of work, also where it must be absent. Where a
// condition does not hold, or is not known to, nothing was judged.
func TestNoContention(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // so that gc is not known
	r := &run{subject: subject{worker: work.New(t.Context(), "ours", nil), first: process.Read()}}
	r.set = budget.Must("check.burnGuilty below 1ms per call of mutex", "check.burnGuilty absent of mutex",
		"check.burnGuilty below 1ms per call of mutex when process above 900 cores", "check.burnGuilty below 1ms per call of mutex when gc below 50%")
	r.rules = rulesOf(t, r.set)
	r.ways, _ = waysOf(r.set, r.rules, Config{})
	r.judged = map[string]*decode.Table{}
	k := r.newKindsPhase()
	r.others = k
	r.worker.Calls.Add(12)
	k.look(r, firstLook, false)
	if n := len(k.open(r)); n != 4 {
		t.Errorf("%d of 4 budgets are open at the first look", n)
	}
	k.look(r, 2*time.Second, false)
	r.outcomes = r.decide()
	for i := 2; i < 4; i++ {
		if o := r.reported(i); o.Verdict != budget.Inconclusive {
			t.Errorf("its condition does not hold: %s", o.Result)
		}
	}
	for i := range 2 {
		o := r.reported(i)
		if o.Verdict != budget.Pass || o.Reason != "there was none" {
			t.Errorf("after two seconds: %s", o.Result)
		}
	}
}

// A baseline is written, read again, and tells growth from none.
func TestCheckBaseline(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a baseline and two checks")
	}
	if !apart(t) {
		return
	}
	file := filepath.Join(t.TempDir(), "testdata", "mix.pprof")
	set := budget.Must("check.burnGuilty grows below 40 points", "process grows below 300% per call", "check.burnGuilty below 99%")
	work := func(share float64) func(context.Context) {
		return func(ctx context.Context) { mixAndRest(ctx, share) }
	}
	needProfiler(t)
	on(t, idle) // no check goes on for longer than its Max
	writing := newFakeTB(t)
	writing.baseline = 60
	got := tryCheckAs(writing, Config{Max: ample, BaselineFile: file, Update: true}, set[:2], work(0.05))
	if got.verdict() != "pass" {
		t.Fatalf("writing: %s:\n%s %s", got.verdict(), got.problem, got.text())
	}
	if !strings.Contains(got.text(), "nothing to judge (0 budgets") || !strings.Contains(got.text(), "growth was not judged") {
		t.Errorf("of a whole baseline: %s", got.text())
	}
	got = tryCheck(t, Config{Max: ample, BaselineFile: file}, set, work(0.05))
	if got.verdict() != "pass" {
		t.Errorf("the same work: %s:\n%s %s", got.verdict(), got.problem, got.text())
	}
	got = tryCheck(t, Config{Max: ample, BaselineFile: file}, budget.Must("check.burnGuilty grows below 5 points"), work(0.9))
	if got.verdict() != "fail" || !strings.Contains(got.text(), "burnGuilty costs ") || !strings.Contains(got.text(), "refresh the baseline") {
		t.Errorf("grown: %s:\n%s %s", got.verdict(), got.problem, got.text())
	}
}

// A condition that does not hold leaves a budget on what is counted without a verdict. One that
// holds does not matter.
func TestCheckConditionOfAllocs(t *testing.T) {
	if !apart(t) {
		return
	}
	on(t, idle)
	k := new(keeper)
	for _, tt := range []struct{ name, budget, want, say string }{
		{"idle", "process below 1B per call of allocs when process above 900 cores", "open", "idle: "},
		{"over", "process below 2 per call of allocs when process below 900 cores", "fail", "the limit is 2"},
		{"kept", "process below 20 per call of allocs when process below 900 cores", "pass", ""},
	} {
		got := tryCheckAs(newFakeTB(t), Config{Max: 8 * time.Second}, budget.Must(tt.budget), func(ctx context.Context) {
			for range 3 {
				k.allocate(64)
			}
			pause(ctx, time.Millisecond)
		})
		if got.verdict() != tt.want || !strings.Contains(got.text(), tt.say) {
			t.Errorf("%s: %s, want %s, saying %q:\n%s %s", tt.name, got.verdict(), tt.want, tt.say, got.problem, got.text())
		}
	}
}
