package profiler

import (
	"context"
	"sync"
	"testing"
	"time"
)

// Three overlapping subscribers beside two busy goroutines: the samples of each
// stand for the CPU that the process used in its own window, as if it had been
// alone.
func TestOverlapReal(t *testing.T) {
	h, s := realHub(t)
	spin(t, 1)
	wants := []time.Duration{600 * ms, 400 * ms, 200 * ms}
	windows := make([]Window, len(wants))
	var wg sync.WaitGroup
	for i, want := range wants {
		wg.Go(func() {
			windows[i], _ = h.Capture(context.Background(), want)
		})
		<-s.started // the next one comes during the slice that this one caused
	}
	wg.Wait()
	for i, w := range windows {
		if w.Outcome != OK && w.Outcome != Overrun {
			t.Errorf("window %d: %v: %s", i, w.Outcome, w.Reason)
			continue
		}
		if w.Elapsed < wants[i] {
			t.Errorf("window %d: %v, want at least %v", i, w.Elapsed, wants[i])
		}
		samples, cpu := sampled(parse(t, w.Bytes()))
		t.Logf("window %d: %d slices, %v, %d samples for %v, CPU %v", i, w.Slices, w.Elapsed, samples, cpu, w.CPU)
		if !near(cpu, w.CPU) {
			t.Errorf("window %d: %d samples stand for %v, but %v were used", i, samples, cpu, w.CPU)
		}
		if w := checked(t, w); w.Outcome != OK && w.Outcome != Overrun {
			t.Errorf("window %d: Check: %v: %s", i, w.Outcome, w.Reason)
		}
	}
	if windows[0].Slices < 3 {
		t.Errorf("the first window has %d slices; the test has not tested sharing", windows[0].Slices)
	}
}

// Streams on the real profiler: blocks beside each other, none lost.
func TestStreamReal(t *testing.T) {
	h, s := realHub(t)
	spin(t, 1)
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() {
			var cpu, used time.Duration
			n := 0
			h.Stream(context.Background(), 100*ms, func(w Window) bool {
				if w.Outcome != OK || w.Elapsed < 100*ms {
					t.Errorf("stream %d, block %d: %v, %v: %s", i, n, w.Elapsed, w.Outcome, w.Reason)
					return false
				}
				_, c := sampled(parse(t, w.Bytes()))
				cpu, used = cpu+c, used+w.CPU
				n++
				return n < 6
			})
			t.Logf("stream %d: sampled %v of %v", i, cpu, used)
			if !near(cpu, used) {
				t.Errorf("stream %d: sampled %v of %v", i, cpu, used)
			}
		})
	}
	wg.Wait()
	starts, stops := s.count()
	if starts != stops {
		t.Errorf("%d starts, %d stops", starts, stops)
	}
	wantFree(t)
}
