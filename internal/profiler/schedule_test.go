package profiler

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const ms = time.Millisecond

// capture is one subscriber of a schedule and what is expected for it.
type capture struct {
	at, want time.Duration

	slices  int
	elapsed time.Duration // time sampled
	end     time.Duration // when Capture returns
}

func TestSchedule(t *testing.T) {
	tests := []struct {
		name     string
		stopCost time.Duration
		subs     []capture
		starts   []time.Duration
	}{{
		name:   "alone",
		subs:   []capture{{want: 1000 * ms, slices: 1, elapsed: 1000 * ms, end: 1000 * ms}},
		starts: []time.Duration{0},
	}, {
		name: "who waits for the same cut begins together",
		subs: []capture{
			{want: 1000 * ms, slices: 3, elapsed: 1000 * ms, end: 1000 * ms},
			{at: 10 * ms, want: 500 * ms, slices: 1, elapsed: 500 * ms, end: 550 * ms},
			{at: 20 * ms, want: 500 * ms, slices: 1, elapsed: 500 * ms, end: 550 * ms},
		},
		starts: []time.Duration{0, 50 * ms, 550 * ms},
	}, {
		name: "overlap: cut when the second comes, and when the first has all",
		subs: []capture{
			{want: 1000 * ms, slices: 2, elapsed: 1000 * ms, end: 1000 * ms},
			{at: 400 * ms, want: 1000 * ms, slices: 2, elapsed: 1000 * ms, end: 1400 * ms},
		},
		starts: []time.Duration{0, 400 * ms, 1000 * ms},
	}, {
		name:     "the time of the cuts is not sampled, and not owed",
		stopCost: 10 * ms,
		subs: []capture{
			{want: 1000 * ms, slices: 2, elapsed: 1000 * ms, end: 1020 * ms},
			{at: 400 * ms, want: 1000 * ms, slices: 2, elapsed: 1000 * ms, end: 1430 * ms},
		},
		starts: []time.Duration{0, 410 * ms, 1020 * ms},
	}, {
		name: "who comes early in a slice waits until it is 50 ms old",
		subs: []capture{
			{want: 1000 * ms, slices: 3, elapsed: 1000 * ms, end: 1000 * ms},
			{at: 10 * ms, want: 500 * ms, slices: 1, elapsed: 500 * ms, end: 550 * ms},
		},
		starts: []time.Duration{0, 50 * ms, 550 * ms},
	}, {
		name: "who comes within 100 ms of an end waits for it",
		subs: []capture{
			{want: 1000 * ms, slices: 1, elapsed: 1000 * ms, end: 1000 * ms},
			{at: 901 * ms, want: 500 * ms, slices: 1, elapsed: 500 * ms, end: 1500 * ms},
		},
		starts: []time.Duration{0, 1000 * ms},
	}, {
		name: "no slice is shorter than 50 ms",
		subs: []capture{
			{want: 1000 * ms, slices: 4, elapsed: 1000 * ms, end: 1000 * ms},
			{at: 10 * ms, want: 500 * ms, slices: 1, elapsed: 500 * ms, end: 550 * ms},
			{at: 20 * ms, want: 520 * ms, slices: 2, elapsed: 550 * ms, end: 600 * ms},
		},
		starts: []time.Duration{0, 50 * ms, 550 * ms, 600 * ms},
	}, {
		name: "inner window",
		subs: []capture{
			{want: 1000 * ms, slices: 3, elapsed: 1000 * ms, end: 1000 * ms},
			{at: 300 * ms, want: 200 * ms, slices: 1, elapsed: 200 * ms, end: 500 * ms},
		},
		starts: []time.Duration{0, 300 * ms, 500 * ms},
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakeProfiler{stopCost: test.stopCost}
				h, _ := fakeHub(f)
				epoch := time.Now()
				var wg sync.WaitGroup
				for i, c := range test.subs {
					wg.Go(func() {
						time.Sleep(c.at)
						w, err := h.Capture(t.Context(), c.want)
						if err != nil {
							t.Errorf("subscriber %d: %v", i, err)
							return
						}
						if end := time.Since(epoch); w.Slices != c.slices || w.Elapsed != c.elapsed || end != c.end {
							t.Errorf("subscriber %d: %d slices, %v sampled, returned at %v; want %d, %v, %v",
								i, w.Slices, w.Elapsed, end, c.slices, c.elapsed, c.end)
						}
						if w.CPU != c.elapsed {
							t.Errorf("subscriber %d: CPU %v, want %v", i, w.CPU, c.elapsed)
						}
						// Exactly the slices that it was there for: a sample each 10 ms.
						samples, _ := sampled(parse(t, w.Bytes()))
						if want := int64(c.elapsed / (10 * ms)); samples != want {
							t.Errorf("subscriber %d: %d samples, want %d", i, samples, want)
						}
						if w := checked(t, w); w.Outcome != OK {
							t.Errorf("subscriber %d: Check: %v: %s", i, w.Outcome, w.Reason)
						}
					})
				}
				wg.Wait()
				var starts []time.Duration
				for _, s := range f.starts {
					starts = append(starts, s.Sub(epoch))
				}
				if !slices.Equal(starts, test.starts) {
					t.Errorf("starts at %v, want %v", starts, test.starts)
				}
				if f.stops != len(f.starts) || f.errs != nil {
					t.Errorf("%d starts, %d stops, errors %v", len(f.starts), f.stops, f.errs)
				}
			})
		})
	}
}

// Fifty requests that drop in over a second share their slices: no more than 20
// cuts a second, and everybody gets a whole window.
func TestFault_58_CrowdSharesOneProfiler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeProfiler{stopCost: 2 * ms}
		h, _ := fakeHub(f)
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				at := time.Duration(i*37%50) * 20 * ms
				time.Sleep(at)
				joined := time.Now()
				w, err := h.Capture(t.Context(), time.Second)
				if err != nil {
					t.Errorf("request %d: %v", i, err)
				}
				if wait := w.Start.Sub(joined); wait > joinWait+f.stopCost {
					t.Errorf("request %d waited %v for its first slice", i, wait)
				}
				if w.Elapsed < time.Second || w.Elapsed > 1050*ms {
					t.Errorf("request %d: %v sampled", i, w.Elapsed)
				}
			})
		}
		wg.Wait()
		for i := 20; i < len(f.starts); i++ {
			if d := f.starts[i].Sub(f.starts[i-20]); d < time.Second {
				t.Errorf("starts %d to %d within %v", i-20, i, d)
			}
		}
		if f.errs != nil {
			t.Error(f.errs)
		}
	})
}

// Who leaves returns at once, and the profiler is free by then, unless somebody
// else needs it.
func TestFault_53_60_Leave(t *testing.T) {
	tests := []struct {
		name     string
		stopCost time.Duration
		hang     bool
		others   bool
		free     bool
		max      time.Duration
	}{
		{name: "alone", stopCost: 80 * ms, free: true, max: 80 * ms},
		{name: "beside others", stopCost: 80 * ms, others: true, max: 0},
		{name: "while a stop takes for ever", stopCost: 10 * time.Second, max: leaveWait},
		{name: "while a start hangs", hang: true, free: true, max: leaveWait},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakeProfiler{stopCost: test.stopCost}
				if test.hang {
					f.hang = make(chan struct{})
				}
				h, _ := fakeHub(f)
				var wg sync.WaitGroup
				if test.others {
					wg.Go(func() { h.Capture(t.Context(), 20*time.Second) })
				}
				ctx, cancel := context.WithCancel(t.Context())
				var left time.Time
				wg.Go(func() {
					time.Sleep(500 * ms)
					left = time.Now()
					cancel()
				})
				w, err := h.Capture(ctx, 10*time.Second)
				if d := time.Since(left); d > test.max || d > 250*ms {
					t.Errorf("left after %v, want %v", d, test.max)
				}
				if w.Outcome != Canceled || !w.IsEmpty() || err == nil {
					t.Errorf("%v, %d bytes, %v", w.Outcome, len(w.Bytes()), err)
				}
				f.mu.Lock()
				free := f.w == nil
				f.mu.Unlock()
				if free != test.free {
					t.Errorf("profiler free: %t, want %t", free, test.free)
				}
				if test.hang {
					close(f.hang)
				}
				wg.Wait()
				time.Sleep(20 * time.Second)
				synctest.Wait()
				if f.w != nil || f.errs != nil {
					t.Errorf("profiler left running: %t, errors %v", f.w != nil, f.errs)
				}
			})
		})
	}
}

// Coming and going without end is paced, too.
func TestStartsArePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeProfiler{}
		h, _ := fakeHub(f)
		epoch := time.Now()
		for range 100 {
			if _, err := h.Capture(t.Context(), ms); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(epoch); d < 99*minSlice {
			t.Errorf("100 starts in %v", d)
		}
	})
}

// A context that has ended before costs no profile, and the profiler is asked for
// nothing.
func TestEndedContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeProfiler{}
		h, _ := fakeHub(f)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if w, err := h.Capture(ctx, time.Second); w.Outcome != Canceled || err == nil {
			t.Errorf("Capture: %v, %v", w.Outcome, err)
		}
		h.Stream(ctx, time.Second, func(w Window) bool { t.Errorf("Stream yields %v", w.Outcome); return false })
		if n := len(f.starts); n != 0 {
			t.Errorf("the profiler was started %d times", n)
		}
		if _, err := h.Capture(t.Context(), time.Second); err != nil || len(f.starts) == 0 {
			t.Errorf("clean twin: %v, %d starts", err, len(f.starts))
		}
	})
}
