package work_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/profguard/profguard/internal/kinds"
	. "github.com/profguard/profguard/internal/work"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what takes milliseconds on a machine
// that is not overloaded.
const patience = 20 * time.Second

// A worker makes the calls that it is told to, and ends.
func TestWorker(t *testing.T) {
	w := New(t.Context(), "x", func(context.Context) {})
	w.Start()
	w.Order(3)
	if !w.Wait(patience) || w.Calls.Load() != 3 {
		t.Errorf("%d calls, want 3", w.Calls.Load())
	}
	w.Order(0)
	for w.Calls.Load() < 10 {
		time.Sleep(time.Millisecond)
	}
	if w.Wait(0) || !w.Pause(patience) {
		t.Error("it stops by itself, or does not pause")
	}
	if !w.Stop(patience, 0) || !w.IsOver() {
		t.Error("it has not ended")
	}
}

// A call that waits for its context returns when that is canceled.
func TestWorkerCancels(t *testing.T) {
	began := time.Now()
	w := New(t.Context(), "x", func(ctx context.Context) { <-ctx.Done() })
	w.Start()
	w.Order(1)
	if w.Wait(time.Millisecond) || !w.Stop(0, patience) {
		t.Errorf("a call that waits for its context has returned before, or not after %v", time.Since(began))
	}
}

// How work ended its goroutine is known.
func TestWorkerEnds(t *testing.T) {
	cause := errors.New("disk on fire")
	for _, tt := range []struct {
		name   string
		work   func(context.Context)
		exited bool
		says   string
	}{
		{"panic", func(context.Context) { panic(cause) }, false, "disk on fire"},
		{"panic with a text", func(context.Context) { panic("water") }, false, "water"},
		{"Goexit", func(context.Context) { runtime.Goexit() }, true, ""},
	} {
		w := New(t.Context(), "x", tt.work)
		w.Start()
		w.Order(1)
		for !w.IsOver() {
			time.Sleep(time.Millisecond)
		}
		panicked, exited := w.Panicked, w.Exited
		if exited != tt.exited || (panicked != nil) == tt.exited {
			t.Errorf("%s: panicked %v, exited %t", tt.name, panicked, exited)
		}
		if panicked != nil && (!strings.Contains(panicked.Error(), tt.says) || !strings.Contains(panicked.Error(), "worker_test.go")) {
			t.Errorf("%s: %v", tt.name, panicked)
		}
		if tt.name == "panic" && !errors.Is(panicked, cause) {
			t.Errorf("%v is not what work panicked with", panicked)
		}
		w.Stop(0, 0)
	}
}

// The goroutines that work starts are its own, and the one that calls it is not.
func TestGoroutines(t *testing.T) {
	release := make(chan struct{})
	go func() { <-release }() // somebody else's
	w := New(t.Context(), "ours", func(context.Context) {
		for range 2 {
			go func() { <-release }()
		}
	})
	w.Start()
	w.Order(2)
	if !w.Wait(patience) {
		t.Fatal("the calls have not returned")
	}
	p := Goroutines("ours")
	if p.Count() != 4 {
		t.Errorf("%d goroutines, want 4", p.Count())
	}
	for s := range p.Each() {
		if len(s.Labels) > 0 {
			t.Errorf("a label is left: %v", s.Labels)
		}
	}
	if n := Take(kinds.Goroutine).Count(); n < 6 {
		t.Errorf("%d goroutines of the process", n)
	}
	close(release)
	w.Stop(patience, 0)
}
