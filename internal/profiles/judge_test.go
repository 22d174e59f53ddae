package profiles

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/process"
)

// judged is the result of one budget on a profile.
func judged(t *testing.T, text string, p Profile) budget.Result {
	t.Helper()
	set := budget.Must(text)
	facts := budget.Facts{Kind: set[0].Kind, Elapsed: p.Elapsed}
	if facts.Kind == kinds.Mutex {
		facts.MutexFraction = int(p.Rate)
	}
	results, err := set.JudgeReader(bytes.NewReader(p.Bytes()), facts)
	if err != nil {
		t.Fatal(err)
	}
	return results[0]
}

// wantFail checks that the budget fails, and leads to a function of the tests' load:
// of contention the offender itself is the lock or the channel.
func wantFail(t *testing.T, r budget.Result, function string) {
	t.Helper()
	if r.Verdict != budget.Fail {
		t.Fatalf("verdict is %v, want fail:\n%v", r.Verdict, r)
	}
	for _, o := range r.Offenders {
		for _, f := range append([]budget.Frame{o.Frame, o.Blame}, o.Callers...) {
			if strings.HasSuffix(f.Function, "profiles."+function) {
				return
			}
		}
	}
	t.Errorf("%s is not blamed:\n%v", function, r)
}

func wantPass(t *testing.T, r budget.Result) {
	t.Helper()
	if r.Verdict != budget.Pass {
		t.Fatalf("verdict is %v, want pass:\n%v", r.Verdict, r)
	}
}

func TestJudgeHeap(t *testing.T) {
	const rule = "no function above 64MiB of heap"
	taker := newTaker(t, runtimeSource{})
	publish()
	wantPass(t, judged(t, rule, take(t, taker, kinds.Heap)))

	var held [][]byte
	serve(func() { held = hold(1500, 64<<10) }) // 94 MiB
	publish()
	wantFail(t, judged(t, rule, take(t, taker, kinds.Heap)), "hold")
	runtime.KeepAlive(held)
}

func TestJudgeGoroutines(t *testing.T) {
	const rule = "no function above 500 of goroutine"
	taker := newTaker(t, runtimeSource{})
	park(t, 300, wait)
	wantPass(t, judged(t, rule, take(t, taker, kinds.Goroutine)))
	park(t, 300, wait)
	wantFail(t, judged(t, rule, take(t, taker, kinds.Goroutine)), "wait")
}

func TestJudgeAllocs(t *testing.T) {
	const rule = "no function above 64MiB of allocs"
	taker := newTaker(t, runtimeSource{})
	window := func(n int) budget.Result {
		publish()
		begin(t, taker, kinds.Allocs)
		serve(func() { allocate(n, 10_000) })
		publish()
		return judged(t, rule, take(t, taker, kinds.Allocs))
	}
	wantFail(t, window(10_000), "allocate") // 95 MiB
	wantPass(t, window(1000))               // what the window before allocated is not in it
}

func TestJudgeMutex(t *testing.T) {
	const rule = "no function above 100 of mutex"
	defer runtime.SetMutexProfileFraction(runtime.SetMutexProfileFraction(1))
	taker := newTaker(t, runtimeSource{})
	contend(500)
	begin(t, taker, kinds.Mutex)
	contend(500)
	p := take(t, taker, kinds.Mutex)
	wantFail(t, judged(t, rule, p), "quarrel")
	// How long goroutines waited is the scheduler's doing, and a few long waits may
	// be too little to fail by. But it is no pass.
	if r := judged(t, "no function above 0.000001 cores of mutex", p); r.Verdict == budget.Pass {
		t.Errorf("a function with all of the delay passes:\n%v", r)
	}
	// The clean twin: the same totals, and a window without contention.
	if r := judged(t, rule, take(t, taker, kinds.Mutex)); r.Verdict == budget.Fail {
		t.Errorf("a quiet window fails:\n%v", r)
	}
}

// The runtime counts how long goroutines wait for locks, whatever the profile has of it. New
// goroutines begin to count anywhere, so an eighth of their waits counts as all.
func TestWaited(t *testing.T) {
	defer runtime.SetMutexProfileFraction(runtime.SetMutexProfileFraction(1000))
	taker := newTaker(t, runtimeSource{})
	contend(1)
	begin(t, taker, kinds.Mutex)
	var mu sync.Mutex
	var waiting sync.WaitGroup
	for range 50 {
		mu.Lock()
		for range 4 {
			waiting.Go(func() { quarrel(&mu, 1) })
		}
		time.Sleep(2 * time.Millisecond)
		mu.Unlock()
		waiting.Wait()
	}
	// Four goroutines wait for 2 ms, fifty times: 400 ms, of which an eighth is sure.
	if p := take(t, taker, kinds.Mutex); p.Waited < 10*time.Millisecond {
		t.Errorf("goroutines waited for %v, want 50ms or more", p.Waited)
	}
}

func TestJudgeBlock(t *testing.T) {
	const rule = "no function above 500 of block"
	runtime.SetBlockProfileRate(1)
	defer runtime.SetBlockProfileRate(0)
	taker := newTaker(t, runtimeSource{})
	pingpong(2000)
	begin(t, taker, kinds.Block)
	pingpong(2000)
	wantFail(t, judged(t, rule, take(t, taker, kinds.Block)), "play")
	runtime.SetBlockProfileRate(0)
	begin(t, taker, kinds.Block)
	pingpong(100)
	if r := judged(t, rule, take(t, taker, kinds.Block)); r.Verdict == budget.Fail {
		t.Errorf("a quiet window fails:\n%v", r)
	}
}

// Counts of contention that are exact, so that a clean window passes.
func TestJudgeContentions(t *testing.T) {
	t.Parallel()
	profileOf := func(share func(i int) int64) []record {
		var rs []record
		for i := range 10 {
			n := share(i)
			rs = append(rs, record{fmt.Sprintf("example.com/p.f%d", i), 0, []int64{n, n * int64(time.Millisecond)}})
		}
		return rs
	}
	even := profileOf(func(int) int64 { return 100_000 })
	twice := profileOf(func(int) int64 { return 200_000 })
	uneven := profileOf(func(i int) int64 { return 200_000 + 900_000*int64(max(0, i-8)) })
	for _, kind := range []string{kinds.Mutex, kinds.Block} {
		f := newFake()
		f.stacks[kinds.Block] = 1
		taker := newTaker(t, f)
		rule := "no function above 200000 flat of " + kind
		f.profiles[kind] = contentionProfile(even...)
		begin(t, taker, kind)
		f.profiles[kind] = contentionProfile(twice...)
		wantPass(t, judged(t, rule, take(t, taker, kind)))
		f.profiles[kind] = contentionProfile(uneven...)
		if r := judged(t, rule, take(t, taker, kind)); r.Verdict != budget.Fail || math.Abs(r.Value-900_000) > 1 {
			t.Errorf("%s: verdict %v at %v, want fail at 900000:\n%v", kind, r.Verdict, r.Value, r)
		}
	}
}

// A leak is found where the runtime has the profile (since Go 1.27; with Go 1.26:
// GOEXPERIMENT=goroutineleakprofile go test), and elsewhere it is said that not.
func TestJudgeLeak(t *testing.T) {
	taker := newTaker(t, runtimeSource{})
	if !taker.src.has(kinds.GoroutineLeak) {
		_, err := taker.Take(kinds.GoroutineLeak)
		wantRefused(t, err, unavailable)
		return
	}
	wantPass(t, judged(t, "no goroutine leaked", take(t, taker, kinds.GoroutineLeak)))
	go lost()
	// It has to get as far as its channel.
	var r budget.Result
	for range 1000 {
		if r = judged(t, "no goroutine leaked", take(t, taker, kinds.GoroutineLeak)); r.Verdict == budget.Fail {
			break
		}
		runtime.Gosched()
	}
	if r.Verdict != budget.Fail {
		t.Errorf("verdict is %v, want fail:\n%v", r.Verdict, r)
	}
}

// The collection that a profile of leaks runs is not the program's.
func TestLeakCollection(t *testing.T) {
	taker := newTaker(t, runtimeSource{})
	if !taker.src.has(kinds.GoroutineLeak) {
		t.Skip("SKIPPED: this runtime has no profile of leaks: Go 1.27 has")
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64))
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // none comes by itself
	runtime.GC()
	held := hold(100_000, 64)
	before := process.Read()
	p := take(t, taker, kinds.GoroutineLeak)
	f := process.Between(before, process.Read())
	runtime.KeepAlive(held)
	if p.Cost <= 0 || !f.GCKnown || f.GC != 0 {
		t.Errorf("the collection took %v, gc is %v (known: %t); want some, and 0", p.Cost, f.GC, f.GCKnown)
	}
}

// lost waits for a channel that nobody else has: it never ends, which TestMain
// knows.
//
//go:noinline
func lost() { <-make(chan struct{}) }
