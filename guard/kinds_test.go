package guard

import (
	"bytes"
	"log/slog"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/charge"
)

var sinkOfBytes atomic.Pointer[[]byte]

// allocateMuch is the planted offender of the allocs budgets; it makes the
// collections that publish them, too.
//
//go:noinline
func allocateMuch() {
	b := make([]byte, 64<<10)
	sinkOfBytes.Store(&b)
}

// holdLock makes others wait for it.
//
//go:noinline
func holdLock(mu *sync.Mutex, stop <-chan struct{}) {
	for {
		mu.Lock()
		time.Sleep(time.Millisecond)
		mu.Unlock()
		select {
		case <-stop:
			return
		default:
		}
	}
}

//go:noinline
func waitHere(stop <-chan struct{}) { <-stop }

// TestKindsAreWatched starts a guard with budgets of every kind on a process with
// an offender for each, and a clean twin beside each budget that fails.
func TestKindsAreWatched(t *testing.T) {
	// The host's own setting is used: every contention is observed, so that seconds
	// suffice for what takes minutes at the guard's own one in ten.
	defer runtime.SetMutexProfileFraction(runtime.SetMutexProfileFraction(1))
	stop := make(chan struct{})
	var workers sync.WaitGroup
	defer workers.Wait()
	defer close(stop)

	kept := make([]byte, 0)
	for range 64 { // live heap, in one place
		kept = append(kept, make([]byte, 1<<20)...)
	}
	defer runtime.KeepAlive(kept)
	var mu sync.Mutex
	var requests atomic.Int64
	for range 3 {
		workers.Go(func() { holdLock(&mu, stop) })
	}
	for range 300 {
		workers.Go(func() { waitHere(stop) })
	}
	workers.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				for range 10 {
					allocateMuch()
					requests.Add(1)
				}
				time.Sleep(time.Millisecond)
			}
		}
	})

	g, err := Start(Config{
		Registerer: prometheus.NewRegistry(),
		Every:      time.Second, Window: time.Second,
		Work: map[string]func() float64{"request": func() float64 { return float64(requests.Load()) }},
		Budgets: budget.Must(
			"heap-bad: no function above 16MiB of heap",
			"heap-good: no function above 1GiB of heap",
			"allocs-bad: guard.allocateMuch below 20% of allocs",
			"allocs-good: guard.holdLock below 20% of allocs",
			"per-bad: guard.allocateMuch below 16KiB per request of allocs",
			"per-good: guard.allocateMuch below 1MiB per request of allocs",
			"goroutine-bad: no function above 200 of goroutine",
			"goroutine-good: no function above 20000 of goroutine",
			"mutex-bad: guard.holdLock below 0.2 cores of mutex",
			"mutex-good: guard.allocateMuch below 0.2 cores of mutex",
		),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Stop()

	want := func(name string) string {
		if strings.HasSuffix(name, "-bad") {
			return "fail"
		}
		return "pass"
	}
	deadline := time.Now().Add(3 * patience)
	for {
		missing := []BudgetStatus{}
		for _, b := range g.Status().Budgets {
			if b.Verdicts[want(b.Name)] == 0 {
				missing = append(missing, b)
			}
			// An offender may not show in the first window: its share of what the
			// process did before is small. An innocent must never fail.
			if want(b.Name) == "pass" && b.Verdicts["fail"] > 0 {
				t.Fatalf("%s: %s", b.Name, b.Result)
			}
		}
		if len(missing) == 0 {
			return
		}
		if time.Now().After(deadline) {
			for _, b := range missing {
				t.Errorf("%s: no %s in %v: %s", b.Name, want(b.Name), b.Verdicts, b.Result.Reason)
			}
			return
		}
		<-time.After(50 * time.Millisecond)
	}
}

// The guard's own goroutines are nobody's offenders, unless the budget says that
// nothing is exempt.
func TestOwnGoroutinesAreNotAccused(t *testing.T) {
	noLeaks(t)
	needProfiler(t)
	stop := make(chan struct{})
	var workers sync.WaitGroup
	defer workers.Wait()
	defer close(stop)
	for range 2 {
		workers.Go(func() { waitHere(stop) })
	}
	g, err := Start(Config{
		Registerer: prometheus.NewRegistry(), Logger: slog.New(slog.DiscardHandler), Every: time.Second, Window: time.Second,
		OnEvent: func(Event) {}, DumpDir: t.TempDir() + "/dumps",
		Work: map[string]func() float64{"hung": func() float64 { waitHere(stop); return 0 }},
		Budgets: budget.Must(
			"exempt: no function above 1 of goroutine except guard.waitHere, /TestOwn/, testing, sync",
			"planted: no function above 1 of goroutine except testing",
			"all: no function above 1 of goroutine except none",
			"cpu: no function above 99%",
		),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stopWhole(t, g)
	eventually(t, "windows", func() bool { return g.Status().Budgets[2].Verdicts["fail"] > 1 })
	b := g.Status().Budgets
	if r := b[0].Result; r.Verdict != budget.Pass {
		t.Errorf("the guard names itself: %s", r)
	}
	if r := b[1].Result; r.Verdict != budget.Fail || !strings.HasSuffix(r.Offenders[0].Function, "guard.waitHere") {
		t.Errorf("the planted offender is not found: %s", r)
	}
	if r := b[2].Result; r.Value < b[1].Result.Value+3 {
		t.Errorf("with nothing exempt there are no more of them: %s", r)
	}
	// And in the middle of a window.
	eventually(t, "a profile", profiling)
	var text bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&text, 0); err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(text.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	own := 0
	for _, f := range p.Function {
		if !strings.HasPrefix(f.Name, "github.com/profguard/profguard/") || strings.HasSuffix(f.Filename, "_test.go") {
			continue
		}
		own++
		if !charge.IsOurs(f.Name) {
			t.Errorf("%s is named", f.Name)
		}
	}
	if own < 5 {
		t.Errorf("only %d functions of the guard were seen: the test proves little", own)
	}
}
