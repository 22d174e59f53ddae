package profiler

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Faults that need a profiler or a machine that misbehaves to order.

func TestFault_05_43_44_LostWindows(t *testing.T) {
	tests := []struct {
		name    string
		fake    *fakeProfiler
		during  func(f *fakeProfiler, c *fakeClocks) // half way into the window
		outcome Outcome
		reason  string
		stops   int
	}{{
		name: "clean twin", fake: &fakeProfiler{}, outcome: OK, stops: 1,
	}, {
		name:    "1: slot taken",
		fake:    &fakeProfiler{foreign: true},
		outcome: Busy, reason: "to see who",
	}, {
		name:    "2: stolen",
		fake:    &fakeProfiler{},
		during:  func(f *fakeProfiler, _ *fakeClocks) { f.steal(false) },
		outcome: Stolen, reason: "StopCPUProfile", stops: 1,
	}, {
		name:    "3: thief restarts",
		fake:    &fakeProfiler{},
		during:  func(f *fakeProfiler, _ *fakeClocks) { f.steal(true) },
		outcome: Stolen, reason: "StopCPUProfile",
	}, {
		name:    "3: thief restarts late, when the hub has just looked",
		fake:    &fakeProfiler{thief: true},
		during:  func(f *fakeProfiler, _ *fakeClocks) { f.steal(false) },
		outcome: Stolen, reason: "StopCPUProfile", stops: 1,
	}, {
		name:    "3: thief takes the start by which the hub looks, too",
		fake:    &fakeProfiler{robber: true},
		during:  func(f *fakeProfiler, _ *fakeClocks) { f.steal(false) },
		outcome: Stolen, reason: "StopCPUProfile",
	}, {
		name: "3: thief restarts after a while",
		fake: &fakeProfiler{},
		during: func(f *fakeProfiler, _ *fakeClocks) {
			f.steal(false)
			time.Sleep(settleWait / 2)
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.foreign = f.w == nil; !f.foreign {
				f.errs = append(f.errs, errors.New("the thief found a profile of the hub"))
			}
		},
		outcome: Stolen, reason: "StopCPUProfile",
	}, {
		name:    "6: rate zeroed",
		fake:    &fakeProfiler{},
		during:  func(f *fakeProfiler, _ *fakeClocks) { f.steal(false) },
		outcome: Stolen, reason: "SetCPUProfileRate(0)", stops: 1,
	}, {
		name:    "43: suspended",
		fake:    &fakeProfiler{},
		during:  func(_ *fakeProfiler, c *fakeClocks) { c.suspend(time.Second) },
		outcome: Suspended, reason: "for 1s", stops: 1,
	}, {
		name:    "43: preempted between two clocks, clean twin",
		fake:    &fakeProfiler{},
		during:  func(_ *fakeProfiler, c *fakeClocks) { c.suspend(50 * ms) },
		outcome: OK, stops: 1,
	}, {
		name: "44: overrun",
		fake: &fakeProfiler{},
		during: func(_ *fakeProfiler, c *fakeClocks) {
			c.mu.Lock()
			c.stall = 11 * time.Second
			c.mu.Unlock()
		},
		outcome: Overrun, reason: "21s instead of 10s", stops: 1,
	}, {
		name: "44: a stall within 10%, clean twin",
		fake: &fakeProfiler{},
		during: func(_ *fakeProfiler, c *fakeClocks) {
			c.mu.Lock()
			c.stall = time.Second
			c.mu.Unlock()
		},
		outcome: OK, stops: 1,
	}, {
		name:    "too large",
		fake:    &fakeProfiler{padding: maxProfile},
		outcome: TooLarge, reason: "8 MiB", stops: 1,
	}, {
		name:    "5: foreign rate",
		fake:    &fakeProfiler{period: 4 * ms},
		outcome: Rate, reason: "4ms, not 10ms", stops: 1,
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := test.fake
				h, c := fakeHub(f)
				var wg sync.WaitGroup
				wg.Go(func() {
					time.Sleep(5 * time.Second)
					if test.during != nil {
						test.during(f, c)
					}
				})
				w, _ := h.Capture(t.Context(), 10*time.Second)
				w = checked(t, w)
				if w.Outcome != test.outcome || !strings.Contains(w.Reason, test.reason) {
					t.Errorf("got %v: %q, want %v: %q", w.Outcome, w.Reason, test.outcome, test.reason)
				}
				if (w.Reason == "") != (w.Outcome == OK) {
					t.Errorf("%v with reason %q", w.Outcome, w.Reason)
				}
				wg.Wait()
				synctest.Wait()
				if f.stops != test.stops || f.errs != nil {
					t.Errorf("%d stops, want %d; errors %v", f.stops, test.stops, f.errs)
				}
			})
		})
	}
}

// Merging must not hide that one of the slices has a foreign rate.
func TestFault_05_ForeignRateInOneSlice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeProfiler{}
		h, _ := fakeHub(f)
		var wg sync.WaitGroup
		wg.Go(func() {
			time.Sleep(time.Second)
			f.mu.Lock()
			f.period = 2 * ms
			f.mu.Unlock()
			h.Capture(t.Context(), 5*time.Second)
		})
		w, err := h.Capture(t.Context(), 2*time.Second)
		if w.Outcome != Rate || w.Slices != 2 || err == nil {
			t.Errorf("%v, %d slices, %v", w.Outcome, w.Slices, err)
		}
		wg.Wait()
	})
}

// A profile of ours that somebody has left dead is ended, and nobody else's is.
func TestFault_06_Freed(t *testing.T) {
	tests := []struct {
		name    string
		foreign bool // somebody else profiles after the theft
		jammed  bool
		blind   bool
		outcome Outcome
		stops   int
	}{
		{"jammed", false, true, false, OK, 2},
		{"jammed, where nobody can tell", false, true, true, Busy, 0},
		{"clean twin: somebody else's profile", true, false, false, Busy, 0},
		{"clean twin: free", false, false, false, OK, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakeProfiler{blind: test.blind}
				h, _ := fakeHub(f)
				f.jammed = true // by others: it is not ours to free
				if w, _ := h.Capture(t.Context(), 10*time.Second); w.Outcome != Busy || f.stops != 0 {
					t.Errorf("jammed by others: %v, %d stops", w.Outcome, f.stops)
				}
				f.jammed = false
				var wg sync.WaitGroup
				wg.Go(func() {
					time.Sleep(5 * time.Second)
					f.steal(test.foreign)
					f.mu.Lock()
					f.jammed = test.jammed
					f.mu.Unlock()
				})
				if w, _ := h.Capture(t.Context(), 10*time.Second); w.Outcome != Stolen {
					t.Errorf("first %v: %s", w.Outcome, w.Reason)
				}
				wg.Wait()
				if w, _ := h.Capture(t.Context(), 10*time.Second); w.Outcome != test.outcome {
					t.Errorf("then %v: %s", w.Outcome, w.Reason)
				}
				if f.stops != test.stops || f.errs != nil {
					t.Errorf("%d stops, want %d; errors %v", f.stops, test.stops, f.errs)
				}
			})
		})
	}
}

// A hanging start costs its window and those that are asked for meanwhile, and one goroutine
// until it returns; it is not tried again meanwhile, and a late success is undone.
func TestFault_04_StartHangsSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeProfiler{hang: make(chan struct{})}
		h, _ := fakeHub(f)
		for range 3 {
			epoch := time.Now()
			w, _ := h.Capture(t.Context(), 10*time.Second)
			if d, most := time.Since(epoch), 20*time.Second+overtime+leaveWait; w.Outcome != Hung || d > most {
				t.Errorf("while it hangs: %v after %v, want at most %v", w.Outcome, d, most)
			}
		}
		close(f.hang)
		synctest.Wait()
		if len(f.starts) != 1 || f.stops != 1 || f.w != nil {
			t.Errorf("%d starts, %d stops, still running: %t; want the one late start to be stopped", len(f.starts), f.stops, f.w != nil)
		}
		if _, err := h.Capture(t.Context(), time.Second); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// A stream that was busy with its callback when a start hung must not cause
// another when it comes back.
func TestFault_04_NoSecondStartByAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeProfiler{}
		h, _ := fakeHub(f)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			h.Stream(ctx, 100*ms, func(w Window) bool {
				time.Sleep(3 * time.Second)
				return true
			})
		})
		time.Sleep(time.Second) // its queue is full by now
		synctest.Wait()
		before := len(f.starts)
		f.hang = make(chan struct{})
		if w, _ := h.Capture(t.Context(), time.Second); w.Outcome != Hung {
			t.Errorf("%v", w.Outcome)
		}
		time.Sleep(time.Minute)
		cancel()
		wg.Wait()
		close(f.hang)
		synctest.Wait()
		if n := len(f.starts) - before; n != 1 {
			t.Errorf("%d starts were tried, want 1", n)
		}
	})
}

// A start that hangs for seconds and then works makes no good window: its subscriber has
// counted work since before the start.
func TestFault_04_SlowStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeProfiler{hang: make(chan struct{})}
		h, _ := fakeHub(f)
		time.AfterFunc(4*time.Second, func() { close(f.hang) })
		if w, _ := h.Capture(t.Context(), 10*time.Second); w.Outcome != Hung {
			t.Errorf("%v, want %v", w.Outcome, Hung)
		}
		synctest.Wait()
		if f.w != nil {
			t.Error("the late start still runs")
		}
		if _, err := h.Capture(t.Context(), time.Second); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}
