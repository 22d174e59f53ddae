package profiler

import (
	"bytes"
	"context"
	"math"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/internal/process"
)

// Faults injected into the process's real profiler.

type result struct {
	w   Window
	err error
}

// begin starts a capture and returns when its profile is running.
func begin(t *testing.T, h *Hub, s *spy, d time.Duration) <-chan result {
	t.Helper()
	out := make(chan result, 1)
	go func() {
		w, err := h.Capture(context.Background(), d)
		out <- result{w, err}
	}()
	select {
	case <-s.started:
	case r := <-out:
		t.Fatalf("capture ended before it began: %v: %s", r.w.Outcome, r.w.Reason)
	}
	return out
}

// long is a window that the faults always end early: no test waits for it, unless the
// fault goes unnoticed.
const long = 30 * time.Second

// wantFree fails the test if the profiler cannot be had.
func wantFree(t *testing.T) {
	t.Helper()
	if err := pprof.StartCPUProfile(new(bytes.Buffer)); err != nil {
		t.Errorf("the profiler should be free: %v", err)
		return
	}
	pprof.StopCPUProfile()
}

// stopWhole ends somebody else's profile, which must have been going on, and
// checks that it holds the CPU time that was burnt meanwhile.
func stopWhole(t *testing.T, theirs *recorder, used time.Duration) {
	t.Helper()
	if !theirs.seal() {
		t.Error("their profile was stopped")
	}
	pprof.StopCPUProfile()
	data, _ := theirs.content()
	samples, cpu := sampled(parse(t, data))
	if !near(cpu, used) {
		t.Errorf("%d samples for %v of CPU, but %v were used", samples, cpu, used)
	}
}

// near reports whether sampled CPU time agrees with the CPU time used: to 40%, as
// fresh profiles miss some of it, and five standard deviations of the number of
// samples, which is small when the machine has no time for the test.
func near(sampled, used time.Duration) bool {
	got, want := float64(sampled)/float64(period), float64(used)/float64(period)
	return math.Abs(got-want) <= 0.4*want+5*math.Sqrt(want)+3
}

func TestCaptureReal(t *testing.T) {
	h, s := realHub(t)
	spin(t, 1)
	before := process.ProcessCPU()
	var w Window
	// A machine that is overloaded may stretch a window; it has three tries.
	for range 3 {
		w, _ = h.Capture(t.Context(), 500*ms)
		if w = checked(t, w); w.Outcome == OK {
			break
		}
	}
	if w.Outcome != OK {
		t.Fatalf("%v: %s", w.Outcome, w.Reason)
	}
	if w.Slices != 1 || w.Elapsed < 500*ms || w.CPU <= 0 || w.CPU > process.ProcessCPU()-before {
		t.Errorf("%d slices, %v, CPU %v", w.Slices, w.Elapsed, w.CPU)
	}
	p := parse(t, w.Bytes())
	var names []string
	for _, f := range p.Function {
		names = append(names, f.Name)
	}
	if !strings.Contains(strings.Join(names, "\n"), "profiler.spin.func1") {
		t.Errorf("the busy function is not in the profile, but only %v", names)
	}
	if starts, stops := s.count(); starts != stops {
		t.Errorf("%d starts, %d stops", starts, stops)
	}
	wantFree(t)
}

// The profiler is free when a window is handed out, so a client that does not
// read holds nothing up. There is nothing to wait for in between.
func TestFault_59_ReleasedBeforeHandedOut(t *testing.T) {
	h, _ := realHub(t)
	if w, err := h.Capture(t.Context(), 100*ms); w.IsEmpty() {
		t.Fatal(err)
	}
	wantFree(t)
}

func TestFault_60_LeaveInMidWindow(t *testing.T) {
	h, s := realHub(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-s.started
		cancel()
	}()
	w, err := h.Capture(ctx, long)
	if w.Outcome != Canceled || err == nil || !w.IsEmpty() {
		t.Fatalf("%v, %v, %d bytes", w.Outcome, err, len(w.Bytes()))
	}
	h.mu.Lock()
	released := h.running == nil
	h.mu.Unlock()
	if released { // an overloaded machine may take longer than anybody waits
		wantFree(t)
	}
}

func TestFault_01_SlotTaken(t *testing.T) {
	h, s := realHub(t)
	theirs := newRecorder()
	if err := pprof.StartCPUProfile(theirs); err != nil {
		t.Fatal(err)
	}
	before := process.ProcessCPU()
	for range 3 {
		// A short window: a hub that waited for its end in vain shows by the outcome
		// and not by the time that the test may take.
		w, err := h.Capture(t.Context(), 100*ms)
		if w.Outcome != Busy || err == nil || !strings.Contains(w.Reason, "already in use") {
			t.Errorf("%v: %v", w.Outcome, err)
		}
	}
	burn(300 * ms)
	used := process.ProcessCPU() - before
	stopWhole(t, theirs, used)
	if starts, stops := s.count(); starts != 3 || stops != 0 {
		t.Errorf("%d starts, %d stops", starts, stops)
	}
}

func TestFault_02_Stolen(t *testing.T) {
	h, s := realHub(t)
	out := begin(t, h, s, long)
	pprof.StopCPUProfile()
	if r := <-out; r.w.Outcome != Stolen || r.w.Reason != reasonStolen {
		t.Errorf("%v: %s", r.w.Outcome, r.w.Reason)
	}
	wantFree(t)
}

func TestFault_03_ThiefRestarts(t *testing.T) {
	h, s := realHub(t)
	spin(t, 1)
	out := begin(t, h, s, long)
	joiner := make(chan result, 1)
	go func() {
		w, err := h.Capture(context.Background(), long)
		joiner <- result{w, err}
	}()
	<-s.started // the joiner's cut; the stolen slice has two members

	theirs := newRecorder()
	pprof.StopCPUProfile()
	if err := pprof.StartCPUProfile(theirs); err != nil {
		t.Fatalf("the thief's start: %v", err)
	}
	before := process.ProcessCPU()
	for _, r := range []result{<-out, <-joiner} {
		if r.w.Outcome != Stolen || r.w.Reason != reasonStolen {
			t.Errorf("%v: %s", r.w.Outcome, r.w.Reason)
		}
	}
	// Whatever the hub is asked to do now, the thief's profile goes on.
	if w, _ := h.Capture(t.Context(), 100*ms); w.Outcome != Busy {
		t.Errorf("beside the thief: %v", w.Outcome)
	}
	burn(300 * ms)
	used := process.ProcessCPU() - before
	stopWhole(t, theirs, used)
	if _, stops := s.count(); stops != 1 {
		t.Errorf("%d stops, want 1, for the joiner", stops)
	}
}

func TestFault_05_ForeignRateBefore(t *testing.T) {
	h, s := realHub(t)
	runtime.SetCPUProfileRate(250)
	w, _ := h.Capture(t.Context(), 300*ms)
	if _, known := ticking(); known {
		// The rate is somebody's, and stays so.
		if w.Outcome != Busy || !strings.Contains(w.Reason, "SetCPUProfileRate") {
			t.Errorf("%v: %s", w.Outcome, w.Reason)
		}
		if yes, _ := ticking(); !yes {
			t.Error("the rate that somebody else has set has been taken away")
		}
		if starts, stops := s.count(); starts != 1 || stops != 0 {
			t.Errorf("%d starts, %d stops", starts, stops)
		}
		runtime.SetCPUProfileRate(0)
	} else if w = checked(t, w); w.Outcome != Rate || !strings.Contains(w.Reason, "4ms, not 10ms") {
		t.Errorf("%v: %s", w.Outcome, w.Reason)
	}
	// It has ended, there by whom it belonged to, here with the window.
	if w, _ = h.Capture(t.Context(), 300*ms); checked(t, w).Outcome == Rate || w.Outcome == Busy {
		t.Errorf("the next window: %v: %s", w.Outcome, w.Reason)
	}
}

func TestFault_05_ForeignRateDuring(t *testing.T) {
	h, s := realHub(t)
	t.Log("the runtime prints a warning now")
	out := begin(t, h, s, 300*ms)
	runtime.SetCPUProfileRate(500) // has no effect while a profile is running
	r := <-out
	if w := checked(t, r.w); w.Outcome != OK && w.Outcome != Overrun {
		t.Errorf("%v: %s", w.Outcome, w.Reason)
	}
	if p := parse(t, r.w.Bytes()); p.Period != period {
		t.Errorf("period %d", p.Period)
	}
}

// The rate set to zero leaves the profiler dead, and booked to us. The hub frees it, or
// nobody in the process could profile any more.
func TestFault_06_RateZeroed(t *testing.T) {
	h, s := realHub(t)
	if _, known := ticking(); !known {
		t.Skip("SKIPPED, THE FAULT IS NOT TESTED: nobody can tell on this system")
	}
	out := begin(t, h, s, long)
	runtime.SetCPUProfileRate(0)
	if r := <-out; r.w.Outcome != Stolen || r.w.Reason != reasonStolen {
		t.Errorf("%v: %s", r.w.Outcome, r.w.Reason)
	}
	if _, stops := s.count(); stops != 1 {
		t.Errorf("%d stops, want 1", stops)
	}
	wantFree(t)
}

// The planted offender for ticking and its clean twin.
func TestTicking(t *testing.T) {
	realHub(t) // skips where the profiler cannot be had
	for _, want := range []bool{false, true, false} {
		if yes, known := ticking(); known && yes != want {
			t.Errorf("somebody profiles: %t, want %t", yes, want)
		}
		if want {
			pprof.StopCPUProfile()
		} else if err := pprof.StartCPUProfile(new(bytes.Buffer)); err != nil {
			t.Fatal(err)
		}
	}
	pprof.StopCPUProfile()
}
