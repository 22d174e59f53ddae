package check

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/work"
)

// heavy is what a call of fire and forget costs: 0.3 ms, and 64 KiB.
//
//go:noinline
func heavy() {
	_ = burnGuilty(mixRounds / 3)
	big.Store(&[1 << 16]byte{})
}

var big atomic.Pointer[[1 << 16]byte]

type handle struct{ _ [64]byte }

// Work that starts goroutines and returns costs what these do. Its budgets are counted with that,
// or undecided, and never kept. So are those of work that is done by finalizers and cleanups.
func TestFault_76_84_FireAndForget(t *testing.T) {
	const cpu, allocs, sampled = "process below 100us per call", "process below 20KiB per call of allocs", "check.heavy below 100us per call"
	const light = "process below 10ms per call" // also with the race detector, on a busy machine
	queue, stop := make(chan func(), 1<<13), make(chan struct{})
	pool := func() {
		for {
			select {
			case <-stop:
				return
			case f := <-queue:
				f()
			}
		}
	}
	defer close(stop)
	var over atomic.Bool // or else finalizers run on after the test
	defer over.Store(true)
	late := func() {
		if !over.Load() {
			heavy()
		}
	}
	first := true
	for _, tt := range []struct {
		name, budget string
		work         func(context.Context)
		want, says   string
	}{
		{"go", cpu, func(context.Context) { go heavy() }, "fail", "the limit is 100"},
		{"go, of allocations", allocs, func(context.Context) { go heavy() }, "fail", "check.heavy"},
		{"go, sampled", sampled, func(context.Context) { go heavy() }, "", checkPackage + ".heavy"},
		{"go, for later", light, func(context.Context) {
			go func() { <-stop }()
			time.Sleep(time.Millisecond)
		}, "open", "goroutines of work that began with " + checkPackage + ".TestFault_76_84_FireAndForget.func"},
		{"a pool", allocs, func(context.Context) {
			if first {
				first = false
				go pool()
			}
			queue <- heavy
		}, "", ""},
		{"a pool from before", allocs, func(context.Context) { queue <- heavy }, "", ""},
		{"a finalizer", cpu, func(context.Context) {
			runtime.SetFinalizer(new(handle), func(*handle) { late() })
			time.Sleep(100 * time.Microsecond)
		}, "", ""},
		{"a cleanup", allocs, func(context.Context) {
			runtime.AddCleanup(new(handle), func(int) { late() }, 1)
			time.Sleep(100 * time.Microsecond)
		}, "", ""},
		// The clean twins.
		{"a goroutine that ends", "process below 100ms per call", func(context.Context) { go heavy() }, "pass", "the limit is 100ms"},
		{"one that waits for work", light, func(context.Context) {
			if first {
				first = false
				go func() { <-stop }()
			}
			time.Sleep(time.Millisecond)
		}, "pass", "the limit is 10ms"},
		{"a light finalizer", light, func(context.Context) {
			runtime.SetFinalizer(new(handle), func(*handle) {})
			time.Sleep(100 * time.Microsecond)
		}, "pass", "the limit is 10ms"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if testing.Short() && strings.HasPrefix(tt.name, "a pool") {
				t.Skip("calls block while the queue is full")
			}
			if !apart(t) {
				return
			}
			on(t, idle)
			if strings.HasSuffix(tt.name, "from before") {
				go pool()
			}
			got := tryCheck(t, Config{Max: 5 * time.Second}, budget.Must(tt.budget), tt.work)
			unused := func() bool { return strings.Contains(got.text(), "no window of the profiler could be used") }
			few := func() bool { return tt.budget == sampled && strings.Contains(got.text(), "too few CPU samples") }
			for tries := 2; (tt.want == "fail" && got.undecided() || unused() || few()) && tries > 0; tries-- {
				got = tryCheck(t, Config{Max: 20 * time.Second}, budget.Must(tt.budget), tt.work)
			}
			if unused() {
				t.Skipf("the machine is busy: %s", got.text())
			}
			if v := got.verdict(); v != tt.want && (tt.want != "" || v == "pass") || !strings.Contains(got.text(), tt.says) {
				t.Errorf("%s, want %s, saying %q:\n%s %s", v, tt.want, tt.says, got.problem, got.text())
			}
		})
	}
}

// A goroutine without the label that runs on may work for the check. What it will do matters to
// amounts per call, and not to shares.
func TestUnfinishedBesideSamples(t *testing.T) {
	for text, want := range map[string]evidence.Verdict{"check.burnGuilty below 1s per call": evidence.Inconclusive, "check.burnGuilty below 90%": evidence.Pass} {
		rules, err := bridge.Rules(budget.Must(text))
		if err != nil {
			t.Fatal(err)
		}
		r := &run{harness: harness{t: newFakeTB(t)}, clock: clock{begun: time.Now(), ends: time.Now()}, subject: subject{id: "ours"}, budgets: budgets{rules: rules, ways: []way{sampled}}, facts: facts{cpu: &cpuPhase{}}}
		r.worker = work.New(t.Context(), r.id, func(context.Context) {})
		r.worker.Start()
		stop, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			for {
				select {
				case <-stop:
					return
				default:
					_ = burnGuilty(mixRounds / 10)
				}
			}
		}()
		r.lookAtRest()
		if o := r.doubted(0, outcome{Finding: judge.Finding{Verdict: evidence.Pass}}); o.Verdict != want {
			t.Errorf("%s: %v", text, o.Verdict)
		}
		close(stop)
		<-ended
		r.worker.Stop(0, time.Minute)
	}
}

// A goroutine that runs is found while it does, if it is work's or may work for it. One that waits is
// not.
func TestUnfinished(t *testing.T) {
	if !apart(t) {
		return
	}
	for _, tt := range []struct {
		name            string
		labelled, spins bool
		want            cause
	}{
		{"work's", true, true, mistake}, {"another one", false, true, unknown}, {"that waits", true, false, noTime},
	} {
		stop, ended := make(chan struct{}), make(chan struct{})
		spin := func() {
			defer close(ended)
			for tt.spins {
				select {
				case <-stop:
					return
				default:
					_ = burnGuilty(mixRounds / 10)
				}
			}
			<-stop
		}
		r := &run{harness: harness{t: newFakeTB(t)}, clock: clock{begun: time.Now()}, subject: subject{id: "ours"}}
		r.worker = work.New(t.Context(), r.id, func(context.Context) {
			if tt.labelled {
				go spin()
			}
		})
		if !tt.labelled {
			go spin()
		}
		r.worker.Start()
		r.worker.Order(1)
		r.worker.Wait(time.Minute)
		x := r.unfinished(block, othersRate, false)
		if tt.spins != (x.left != nil) || tt.spins && (x.cause != tt.want || x.left.Number != 1 || x.left.Calls != 1 || !strings.HasPrefix(x.left.Root, checkPackage+".TestUnfinished.func")) {
			t.Errorf("%s: %+v, cause %d", tt.name, x.left, x.cause)
		}
		close(stop)
		<-ended
		if x := r.unfinished(block, othersRate, false); x.left != nil {
			t.Errorf("%s, ended: %+v", tt.name, x.left)
		}
		r.worker.Stop(0, time.Minute)
	}
}

// Between two readings the check itself computes, and on a busy machine it may wait for a core for
// long. What work does meanwhile counts, and what the check does then does not.
func TestFault_92_BetweenReadings(t *testing.T) {
	if !apart(t) {
		return
	}
	for _, tt := range []struct {
		name string
		work func()
		uses bool
	}{{"work", makeMany, true}, {"the check", func() {}, false}} {
		r := &run{harness: harness{t: newFakeTB(t)}, clock: clock{begun: time.Now(), ends: time.Now().Add(time.Minute), latest: time.Now().Add(time.Minute)}, subject: subject{id: "ours"}}
		r.worker = work.New(t.Context(), r.id, func(context.Context) { time.Sleep(time.Millisecond) })
		r.worker.Start()
		before := r.usage()
		process.Force(1)
		work.AtWork(r.id)
		r.collect = r.usage().since(before)
		r.look = r.collect
		b := batches{each: 1, end: r.usage()}
		tt.work()
		x, ok := r.batch(&b)
		if !ok {
			t.Fatal("no batch")
		}
		if b.list = append(b.list, x); (b.tail[allocBytes] > 1<<20) != tt.uses {
			t.Errorf("%s: %v between batches", tt.name, b.tail)
		}
		b.tail = usage{}
		tt.work()
		r.drain(&b)
		if (b.tail[allocBytes] > 1<<20) != tt.uses {
			t.Errorf("%s: %v at the end", tt.name, b.tail)
		}
		r.worker.Stop(0, time.Minute)
	}
}

func makeMany() {
	for range 100 {
		big.Store(&[1 << 16]byte{})
	}
}
