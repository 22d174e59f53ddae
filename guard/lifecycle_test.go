package guard

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/profiler"
)

func TestFault_51_ManyStartsAndStops(t *testing.T) {
	noLeaks(t)
	const workers = 5
	rounds := 50
	if *long {
		rounds = 1000
	}
	w := newWorld()
	w.stretch = -1
	w.take = func(int) profiler.Window { return lost(profiler.Busy) }
	var beside, started atomic.Int64
	var last atomic.Pointer[Guard]
	s := w.seams()
	random := s.Random
	s.Random = func() float64 { // which a loop begins with
		if g := theGuard(); g != nil {
			if before := last.Swap(g); before != nil && before != g {
				select {
				case <-before.done:
				default:
					beside.Add(1)
				}
			}
		}
		return random()
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range rounds {
				g, err := start(w.quiet(Config{Budgets: simple}), "a test", s)
				if err != nil {
					if !strings.Contains(err.Error(), "guard") {
						t.Errorf("start: %v", err)
					}
					continue
				}
				started.Add(1)
				g.Stop()
				g.Stop()
				<-loopEnds(g) // Stop does not wait for long
			}
		})
	}
	wg.Wait()
	if n := beside.Load(); n > 0 {
		t.Errorf("%d loops began beside another", n)
	}
	if started.Load() < int64(rounds/10) {
		t.Errorf("%d guards ran", started.Load())
	}
}

func TestFault_52_StopAgain(t *testing.T) {
	noLeaks(t)
	var none *Guard
	none.Stop()
	none.Stop()
	var zero Guard
	zero.Stop()
	for _, g := range []*Guard{none, &zero} {
		if s := g.Status(); s.State != "stopped" {
			t.Errorf("state %s", s.State)
		}
	}
	w := newWorld()
	g := w.start(t, Config{Budgets: simple})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(g.Stop)
	}
	wg.Wait()
	g.Stop()
	if s := g.Status(); s.State != "stopped" {
		t.Errorf("state %s", s.State)
	}
	// The next one may start.
	w.start(t, Config{Budgets: simple}).Stop()
}

func TestFault_09_SecondStart(t *testing.T) {
	noLeaks(t)
	needProfiler(t)
	w := newWorld()
	first, err := Start(w.quiet(Config{Budgets: simple}))
	if err != nil {
		t.Fatal(err)
	}
	defer first.Stop()
	second, err := Start(w.quiet(Config{Budgets: simple}))
	if second != nil || !errors.Is(err, ErrRunning) || !strings.Contains(err.Error(), "lifecycle_test.go:") || !strings.Contains(err.Error(), "SetBudgets") {
		t.Errorf("%v, %v", second, err)
	}
	first.Stop()
	third, err := Start(w.quiet(Config{Budgets: simple}))
	if err != nil {
		t.Fatal(err)
	}
	third.Stop()
}

// real starts a guard on the process's profiler, whose first window starts at
// once.
func real(t *testing.T, w *world, cfg Config) *Guard {
	t.Helper()
	needProfiler(t)
	s := w.seams()
	s.Source = source(func(c ctx, d time.Duration) (profiler.Window, error) {
		w.mu.Lock()
		w.starts = append(w.starts, w.since())
		w.mu.Unlock()
		return profiler.Process().Capture(c, d)
	})
	g, err := start(w.quiet(cfg), "a test", s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Stop)
	return g
}

func TestFault_53_StopInMidWindow(t *testing.T) {
	noLeaks(t)
	var took time.Duration
	// The bound is real: a stop that misses it has two more tries, because the
	// machine may stand still for as long.
	for range 3 {
		w := newWorld()
		g := real(t, w, Config{Budgets: simple})
		eventually(t, "a profile", profiling)
		before := time.Now()
		g.Stop()
		if took = time.Since(before); took <= stopPromise {
			eventually(t, "the profiler is free", free)
			return
		}
	}
	t.Errorf("Stop took %v in mid-window, three times", took)
}

func TestFault_54_ProfilerReleased(t *testing.T) {
	noLeaks(t)
	g := real(t, newWorld(), Config{Budgets: simple})
	eventually(t, "a profile", profiling)
	g.Stop()
	eventually(t, "the profiler is free", free)
	if s := g.Status(); windows(g) != 0 {
		t.Errorf("a window that Stop ended counts: %v", s.Windows)
	}
}

// The mutex fraction is taken back if it is still what the guard has set, and only
// then; the block rate, which nobody can read, is never touched.
func TestFault_54_RatesRestored(t *testing.T) {
	noLeaks(t)
	defer runtime.SetMutexProfileFraction(runtime.SetMutexProfileFraction(0))
	defer runtime.SetBlockProfileRate(0)
	fraction := func() int { return runtime.SetMutexProfileFraction(-1) }
	for _, tt := range []struct {
		name         string
		before, then int // what the host sets, before Start and while the guard runs
		during, want int
	}{
		{"ours", 0, -1, 10, 0},
		{"somebody has changed it since", 0, 7, 10, 7},
		{"the host's own", 5, -1, 5, 5},
		{"somebody has turned it off", 0, 0, 10, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			runtime.SetMutexProfileFraction(tt.before)
			runtime.SetBlockProfileRate(1)
			w := newWorld()
			w.stretch = -1
			g := w.start(t, Config{Budgets: budget.Must("x: fmt.Println below 0.2 cores of mutex", "y: fmt.Println below 0.2 cores of block"), Window: second, Every: second})
			eventually(t, "the fraction", func() bool { return fraction() == tt.during })
			if tt.then >= 0 {
				eventually(t, "a window", func() bool { return g.Status().Budgets[0].Verdicts["inconclusive"] > 0 })
				runtime.SetMutexProfileFraction(tt.then)
			}
			g.Stop()
			<-loopEnds(g)
			if got := fraction(); got != tt.want {
				t.Errorf("after Stop the mutex fraction is %d, want %d", got, tt.want)
			}
			before := pprof.Lookup("block").Count()
			blockOnce()
			if after := pprof.Lookup("block").Count(); after == before && before == 0 {
				t.Error("after Stop the block rate that the host has set is gone")
			}
		})
	}
}

// blockOnce blocks for a moment.
func blockOnce() {
	c := make(chan bool)
	go func() {
		runtime.Gosched()
		c <- true
	}()
	<-c
}

func TestFault_56_ExecInAWindow(t *testing.T) {
	if testing.Short() {
		t.Skip("a process that waits for its windows")
	}
	noLeaks(t)
	g := real(t, newWorld(), Config{Budgets: simple})
	eventually(t, "a profile", profiling)
	for range 3 {
		if out, err := child(t, "burn"); err != nil || !strings.Contains(out, "alive") {
			t.Errorf("a child of a process in a window: %v, %s", err, out)
		}
	}
	g.Stop()
}

func TestFault_56_SyscallExecAfterStop(t *testing.T) {
	t.Parallel() // in processes of its own
	if testing.Short() {
		t.Skip("a process that waits for its windows")
	}
	needProfiler(t)
	if out, err := child(t, "exec"); err != nil || !strings.Contains(out, "alive") {
		t.Errorf("the program after syscall.Exec: %v, %s", err, out)
	}
}

func TestFault_57_ExitInMidDump(t *testing.T) {
	t.Parallel() // in processes of its own
	if testing.Short() {
		t.Skip("up to a hundred processes, one after the other")
	}
	needProfiler(t)
	dir := t.TempDir()
	cut := 0
	for i := 0; i < 8 || cut == 0 && i < 100; i++ {
		// At first at once, then later and later in the writing, at last after it. A
		// busy machine may give the process no time in the middle: then at once again.
		late := time.Duration(i*i*i) * 300 * time.Microsecond
		if i >= 8 {
			late = 0
		}
		out, err := child(t, "exit", dumpVar+"="+dir, lateVar+"="+late.String())
		if err != nil {
			t.Fatalf("%v, %s", err, out)
		}
		temps, err := filepath.Glob(filepath.Join(dir, "profguard", "*", "*.tmp"))
		if err != nil {
			t.Fatal(err)
		}
		cut += len(temps) // the next Open reaps them
		wholeDumps(t, dir)
	}
	if cut == 0 {
		t.Error("no process ended in the middle of a dump: the test proves nothing")
	}
	store, err := dumps.Open(dir, dumps.Keep{}, func(dumps.Outcome) {})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(t.Context())
	if temps, _ := filepath.Glob(filepath.Join(dir, "profguard", "*", "*.tmp")); len(temps) > 0 {
		t.Errorf("the next process leaves what was cut: %q", temps)
	}
}

func TestFault_08_GoTestCPUProfile(t *testing.T) {
	t.Parallel() // in processes of its own
	file := t.TempDir() + "/cpu.pb.gz"
	cmd := exec.Command(os.Args[0], "-test.run=^TestHeldByTest$", "-test.v", "-test.cpuprofile="+file)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "busy: go test -cpuprofile holds the profiler") {
		t.Errorf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	// It is whole: the work before the guard, beside it and after it is in it.
	for _, where := range []string{"guard.burnBefore", "guard.burnBeside", "guard.burnAfter"} {
		if !slices.ContainsFunc(p.Function, func(f *profile.Function) bool { return strings.HasSuffix(f.Name, where) }) {
			t.Errorf("the profile that was asked for knows nothing of %s", where)
		}
	}
}

// Places to be seen at.

//go:noinline
func burnBefore() { burnCPU(200 * time.Millisecond) }

//go:noinline
func burnBeside() { burnCPU(200 * time.Millisecond) }

//go:noinline
func burnAfter() { burnCPU(200 * time.Millisecond) }

// TestHeldByTest is run by TestFault_08 with -test.cpuprofile.
func TestHeldByTest(t *testing.T) {
	if !profiler.HeldByTest() {
		t.Skip("only with -cpuprofile")
	}
	burnBefore()
	w := newWorld()
	g, err := Start(w.quiet(Config{Budgets: simple, Every: 10 * second, Window: second}))
	if err != nil {
		t.Fatal(err)
	}
	burnBeside()
	eventually(t, "a window", func() bool { return windows(g) > 0 })
	g.Stop()
	burnAfter()
	s := g.Status()
	if b := s.Budgets[0]; s.Window.Outcome != "busy" || windows(g) != 1 || b.Verdicts["pass"] != 0 || b.Result.Verdict != budget.Inconclusive {
		t.Errorf("windows %v, verdicts %v: %s", s.Windows, b.Verdicts, b.Result.Reason)
	}
	t.Logf("%s: %s", s.Window.Outcome, s.Window.Reason)
}
