package profiler

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestStreamsShareTheirBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeProfiler{stopCost: 2 * ms}
		h, _ := fakeHub(f)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 11 * ms)
				n := 0
				h.Stream(t.Context(), 100*ms, func(w Window) bool {
					if w.Outcome != OK || w.Slices != 1 || w.Elapsed != 100*ms {
						t.Errorf("stream %d, block %d: %v, %d slices, %v", i, n, w.Outcome, w.Slices, w.Elapsed)
					}
					n++
					return n < 20
				})
			})
		}
		wg.Wait()
		// All begin in the first two blocks, and each takes twenty.
		if n := len(f.starts); n > 22 {
			t.Errorf("%d slices for eight streams in step, want 21 or so", n)
		}
		if f.w != nil || f.errs != nil {
			t.Errorf("still running: %t, errors %v", f.w != nil, f.errs)
		}
	})
}

func TestStreamBesideCapture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeProfiler{stopCost: ms}
		h, _ := fakeHub(f)
		var wg sync.WaitGroup
		wg.Go(func() {
			w, err := h.Capture(t.Context(), 5*time.Second)
			if err != nil {
				t.Error(err)
			}
			if w.Slices < 20 { // or there is little to merge
				t.Errorf("%d slices", w.Slices)
			}
			samples, _ := sampled(parse(t, w.Bytes()))
			// Each slice may round a sample away.
			if want := int64(w.Elapsed / (10 * ms)); samples > want || samples < want-int64(w.Slices) {
				t.Errorf("%d samples in %v", samples, w.Elapsed)
			}
			if w := checked(t, w); w.Outcome != OK {
				t.Errorf("Check: %v: %s", w.Outcome, w.Reason)
			}
		})
		wg.Go(func() {
			var last time.Time
			n := 0
			h.Stream(t.Context(), 100*ms, func(w Window) bool {
				if w.Elapsed < 100*ms || w.Elapsed > 150*ms || !w.Start.After(last) {
					t.Errorf("block %d: %v from %v", n, w.Elapsed, w.Start)
				}
				last = w.Start.Add(w.Elapsed)
				n++
				return n < 60
			})
		})
		wg.Wait()
	})
}

// A stream whose callback lags costs itself blocks, and the others nothing.
func TestStreamSlowCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeProfiler{}
		h, _ := fakeHub(f)
		n := 0
		var wg sync.WaitGroup
		wg.Go(func() {
			h.Stream(t.Context(), 100*ms, func(w Window) bool {
				if w.Outcome != OK {
					t.Errorf("block %d: %v: %s", n, w.Outcome, w.Reason)
				}
				time.Sleep(10 * time.Second)
				n++
				return n < 10
			})
		})
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if f.mu.Lock(); len(f.starts) > 1 || f.w != nil {
			t.Errorf("%d slices for a callback that has returned from none, running: %t", len(f.starts), f.w != nil)
		}
		f.mu.Unlock()
		if _, err := h.Capture(t.Context(), time.Second); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
}

func TestStreamRetriesAfterALostBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeProfiler{startErr: func(i int) error {
			if i == 1 || i == 2 {
				return errInUse
			}
			return nil
		}}
		h, _ := fakeHub(f)
		epoch := time.Now()
		type block struct {
			at      time.Duration
			outcome Outcome
		}
		var got []block
		h.Stream(t.Context(), 100*ms, func(w Window) bool {
			got = append(got, block{time.Since(epoch), w.Outcome})
			return len(got) < 4
		})
		want := []block{{100 * ms, OK}, {100 * ms, Busy}, {1100 * ms, Busy}, {2200 * ms, OK}}
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestStreamEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeProfiler{stopCost: 30 * ms}
		h, _ := fakeHub(f)
		ctx, cancel := context.WithTimeout(t.Context(), 1234*ms)
		defer cancel()
		n := 0
		h.Stream(ctx, 100*ms, func(Window) bool { n++; return true })
		if ctx.Err() == nil || n != 9 {
			t.Errorf("it ended after %d blocks", n)
		}
		if f.w != nil {
			t.Error("the profiler was not released")
		}
	})
}

// A context that ends while a stream waits for another try ends the wait.
func TestStreamEndsInAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := fakeHub(&fakeProfiler{startErr: func(int) error { return errInUse }})
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 300*ms)
		defer cancel()
		h.Stream(ctx, 100*ms, func(Window) bool { return true })
		if d := time.Since(began); d < 300*ms || d > 550*ms {
			t.Errorf("Stream ended after %v; its context ended after 300ms", d)
		}
	})
}
