package guard

import (
	"bytes"
	"fmt"
	"regexp"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/profiler"
)

// Faults injected into the process's real profiler, as a guard takes them. The
// hub's own tests are in its package.

// writes is a profile in somebody else's hands.
type writes struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *writes) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *writes) bytes() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return bytes.Clone(w.b.Bytes())
}

// contested is a guard that takes short windows of the real profiler.
func contested(t *testing.T, w *world, registry *prometheus.Registry) *Guard {
	t.Helper()
	return real(t, w, Config{
		Budgets: budget.Must("busy: no function above 1% cumulative", "gone: main.nothing absent"),
		Window:  second, Every: second, Registerer: registry,
	})
}

// wantLost waits for a window to be lost to o, and checks that everybody knows.
func wantLost(t *testing.T, w *world, g *Guard, registry *prometheus.Registry, o profiler.Outcome, reason string) {
	t.Helper()
	outcome(t, g, o)
	eventually(t, "an event that says so", func() bool { return slices.Contains(w.told(), string(EventLost)) })
	s := g.Status()
	if s.Window.Outcome == o.String() && !strings.Contains(s.Window.Reason, reason) {
		t.Errorf("the reason is %q, want it to say %q", s.Window.Reason, reason)
	}
	for _, b := range s.Budgets {
		if s.Windows["ok"] == 0 && (b.Result.Verdict != budget.Inconclusive || b.Verdicts["pass"] != 0 || b.State != StateNoData) {
			t.Errorf("%s: %v, %s after lost windows alone", b.Name, b.Result.Verdict, b.State)
		}
	}
	text := scrape(t, registry, "text/plain")
	if !regexp.MustCompile(fmt.Sprintf(`profguard_windows_total\{outcome=%q\} [1-9]`, o.String())).MatchString(text) {
		t.Errorf("the metric does not count it:\n%s", text)
	}
	if n := strings.Count(strings.Join(w.told(), "\n"), string(EventLost)); n != 1 {
		t.Errorf("it was told %d times", n)
	}
}

// wantWhole ends somebody else's profile and checks that it covers a time.
func wantWhole(t *testing.T, theirs *writes, since time.Time) {
	t.Helper()
	if n := len(theirs.bytes()); n != 0 {
		t.Errorf("their profile was ended: %d bytes before their stop", n)
	}
	covered := time.Since(since)
	pprof.StopCPUProfile()
	p, err := profile.ParseData(theirs.bytes())
	if err != nil {
		t.Fatal(err)
	}
	if got := time.Duration(p.DurationNanos); got < covered*7/10 || len(p.Sample) == 0 {
		t.Errorf("their profile covers %v with %d stacks, want %v", got, len(p.Sample), covered)
	}
}

func TestFault_01_SlotTaken(t *testing.T) {
	noLeaks(t)
	needProfiler(t)
	theirs, since := new(writes), time.Now()
	if err := pprof.StartCPUProfile(theirs); err != nil {
		t.Fatal(err)
	}
	w, registry := newWorld(), prometheus.NewRegistry()
	g := contested(t, w, registry)
	wantLost(t, w, g, registry, profiler.Busy, "other code is using the profiler")
	burnCPU(300 * time.Millisecond)
	wantWhole(t, theirs, since)
	g.Stop()
}

func TestFault_02_Stolen(t *testing.T) {
	noLeaks(t)
	w, registry := newWorld(), prometheus.NewRegistry()
	g := contested(t, w, registry)
	eventually(t, "a profile", profiling)
	pprof.StopCPUProfile()
	wantLost(t, w, g, registry, profiler.Stolen, "pprof.StopCPUProfile")
	g.Stop()
	eventually(t, "the profiler is free", free)
}

func TestFault_03_ThiefRestarts(t *testing.T) {
	noLeaks(t)
	w, registry := newWorld(), prometheus.NewRegistry()
	g := contested(t, w, registry)
	eventually(t, "a profile", profiling)
	theirs := new(writes)
	pprof.StopCPUProfile()
	since := time.Now()
	if err := pprof.StartCPUProfile(theirs); err != nil {
		t.Fatal(err)
	}
	wantLost(t, w, g, registry, profiler.Stolen, "pprof.StopCPUProfile")
	burnCPU(300 * time.Millisecond)
	g.Stop() // must not end it either
	wantWhole(t, theirs, since)
}

func TestFault_05_ForeignRate(t *testing.T) {
	noLeaks(t)
	needProfiler(t)
	t.Log("the runtime prints a warning now")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(stop)
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				burn(10 * time.Millisecond)
			}
		}
	})
	if runtime.GOOS == "linux" {
		// There the guard sees it, and leaves the rate to whoever has set it.
		w, registry := newWorld(), prometheus.NewRegistry()
		runtime.SetCPUProfileRate(250)
		g := contested(t, w, registry)
		wantLost(t, w, g, registry, profiler.Busy, "runtime.SetCPUProfileRate")
		g.Stop()
		runtime.SetCPUProfileRate(0)
		return
	}
	// On an overloaded machine the window may overrun, and the guard backs off for
	// a minute: there are three tries.
	for range 3 {
		runtime.SetCPUProfileRate(250)
		w, registry := newWorld(), prometheus.NewRegistry()
		g := contested(t, w, registry)
		eventually(t, "a window", func() bool { return windows(g) > 0 })
		if hasOutcome(g, profiler.Overrun) {
			g.Stop()
			continue
		}
		wantLost(t, w, g, registry, profiler.Rate, "runtime.SetCPUProfileRate")
		// The foreign rate has ended with the window.
		eventually(t, "another window", func() bool { return hasOutcome(g, profiler.OK) || hasOutcome(g, profiler.Overrun) })
		if hasOutcome(g, profiler.OK) {
			eventually(t, "an event that says so", func() bool { return slices.Contains(w.told(), string(EventRegained)) })
			return
		}
		g.Stop()
	}
	t.Skip("SKIPPED, THE FAULT IS NOT TESTED: the machine is overloaded")
}

func TestFault_06_RateZeroed(t *testing.T) {
	noLeaks(t)
	w, registry := newWorld(), prometheus.NewRegistry()
	g := contested(t, w, registry)
	eventually(t, "a profile", profiling)
	runtime.SetCPUProfileRate(0)
	wantLost(t, w, g, registry, profiler.Stolen, "SetCPUProfileRate(0)")
	g.Stop()
	eventually(t, "the profiler is free", free)
}

// deafClient is a writer that takes nothing until it is closed, as a client that does
// not read.
type deafClient chan struct{}

func (s deafClient) Write(p []byte) (int, error) {
	<-s
	return len(p), nil
}

// Somebody's stop hangs, with runtime/pprof's lock, and so does our start: it is
// parked, never a second is tried, and the guard goes on with what needs no
// profiler, and stops in time.
func TestFault_04_StartHangs(t *testing.T) {
	noLeaks(t)
	needProfiler(t)
	client := make(deafClient)
	if err := pprof.StartCPUProfile(client); err != nil {
		t.Fatal(err)
	}
	var theirs sync.WaitGroup
	theirs.Go(pprof.StopCPUProfile)
	// What the profile is stuck in, there is no way to see but by its stack.
	eventually(t, "their stop hangs", func() bool { return parked("guard.deafClient.Write") == 1 })
	w, registry := newWorld(), prometheus.NewRegistry()
	g := real(t, w, Config{
		Budgets: budget.Must("busy: no function above 1% cumulative", "crowd: goroutines below 5 for 1 windows"),
		Window:  second, Every: second, Registerer: registry,
	})
	outcome(t, g, profiler.Hung)
	eventually(t, "windows without the profiler", func() bool { return g.Status().Budgets[1].Verdicts["fail"] > 1 })
	if s := g.Status(); s.Window.Outcome != "hung" || !strings.Contains(s.Window.Reason, "/debug/pprof/profile") ||
		s.Budgets[0].Verdicts["inconclusive"] != 1 || s.Budgets[0].Verdicts["pass"] != 0 || s.Budgets[1].State != StateFiring {
		t.Errorf("%s: %s; verdicts %v, the figure is %s", s.Window.Outcome, s.Window.Reason, s.Budgets[0].Verdicts, s.Budgets[1].State)
	}
	// Another guard, and another: their windows must not hang a start each.
	for range 2 {
		g.Stop()
		g = real(t, newWorld(), Config{Budgets: simple, Window: second, Every: second})
		outcome(t, g, profiler.Hung)
	}
	if n := parked("runtime/pprof.StartCPUProfile"); n != 1 {
		t.Errorf("%d starts hang, want one", n)
	}
	g.Stop()
	close(client)
	theirs.Wait()
	eventually(t, "the parked start is undone", func() bool { return parked("runtime/pprof.StartCPUProfile") == 0 && !profiling() })
	eventually(t, "the profiler is free", free)
}

// parked counts the goroutines that are in a function.
func parked(function string) int {
	records := make([]runtime.StackRecord, 1000)
	n, _ := runtime.GoroutineProfile(records)
	in := 0
	for _, r := range records[:min(n, len(records))] {
		frames := runtime.CallersFrames(r.Stack())
		for more := true; more; {
			var f runtime.Frame
			if f, more = frames.Next(); strings.HasSuffix(f.Function, function) {
				in++
				break
			}
		}
	}
	return in
}

// What else the hub may say. Its own tests bring it about for real.
func TestLostInOtherWays(t *testing.T) {
	for _, o := range []profiler.Outcome{profiler.Hung, profiler.Starved, profiler.Lost, profiler.Short, profiler.TooLarge, profiler.Broken} {
		t.Run(o.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.take = func(n int) profiler.Window {
					if n < 2 {
						return lost(o)
					}
					return cpuWindow(good)
				}
				g := w.start(t, Config{Budgets: simple, Window: 10 * second, Every: 10 * second})
				pass(8 * minute)
				g.Stop()
				b := g.Status().Budgets[0]
				if got := g.Status().Windows[o.String()]; got != 2 || b.Verdicts["inconclusive"] != 2 {
					t.Errorf("%d windows, verdicts %v", got, b.Verdicts)
				}
				wantEvents(t, w, EventLost, EventRegained)
			})
		})
	}
}
