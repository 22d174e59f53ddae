package guard

import (
	"context"
	"testing"
	"time"

	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/profiler"
)

func TestTrim(t *testing.T) {
	const millisecond = time.Millisecond
	for _, test := range []struct {
		name  string
		now   process.Snapshot
		every time.Duration
		cost  time.Duration // of giving memory back once
		want  int           // times in the first window, and in the second
		again int
	}{
		{"small", process.Snapshot{RSS: 15 << 20}, time.Minute, millisecond, 3, 3},
		{"small, and a heap that takes long to collect", process.Snapshot{RSS: 26 << 20}, time.Minute, 22 * millisecond, 3, 0},
		{"large", process.Snapshot{RSS: 64 << 20}, time.Minute, millisecond, 0, 0},
		{"unknown", process.Snapshot{}, time.Minute, millisecond, 0, 0},
		{"small, windows all the time", process.Snapshot{RSS: 15 << 20}, 10 * time.Second, millisecond, 0, 0},
		{"small, collection switched off", process.Snapshot{RSS: 15 << 20, GCOff: true}, time.Minute, millisecond, 0, 0},
	} {
		released := 0
		l := &looper{Guard: &Guard{cfg: Config{Every: test.every}, seams: seams{
			release: func() time.Duration { released++; return test.cost },
			capture: func(context.Context, time.Duration) (profiler.Window, error) { return profiler.Window{}, nil },
			lean: func(_ context.Context, _ time.Duration, relieve func()) (profiler.Window, error) {
				relieve()
				return profiler.Window{}, nil
			},
		}}}
		for window, want := range []int{test.want, test.again} {
			released = 0
			l.last = test.now
			l.trim(l.last)
			l.capture(context.Background(), &panel{groups: []*group{{kind: kindCPU}}})
			l.trim(l.last)
			if released != want {
				t.Errorf("%s: window %d: gave memory back %d times, want %d", test.name, window, released, want)
			}
			if cost := l.trimming(); cost != time.Duration(want)*test.cost {
				t.Errorf("%s: window %d: it cost %v, want %v", test.name, window, cost, time.Duration(want)*test.cost)
			}
		}
	}
}

// TestTrimIsAccountedFor: what trimming takes is a part of the guard's cost.
func TestTrimIsAccountedFor(t *testing.T) {
	for _, cost := range []time.Duration{0, 100 * time.Millisecond} {
		bubble(t, func(t *testing.T, w *world) {
			l := w.still(t, Config{Every: minute, Window: 10 * second})
			l.seams.release = func() time.Duration { return cost }
			l.seams.lean = func(ctx context.Context, d time.Duration, relieve func()) (profiler.Window, error) {
				relieve()
				return w.capture(ctx, d)
			}
			l.window(t.Context(), false)
			// Once before the window and once in it; what comes after it is the next one's.
			if got := l.Status().CPU; got < 2*cost || cost == 0 && got >= 200*time.Millisecond {
				t.Errorf("giving memory back takes %v, and the window has cost %v", cost, got)
			}
		})
	}
}

// TestFreeMemory: what it costs to collect a heap of small objects is seen.
func TestFreeMemory(t *testing.T) {
	type node struct{ next *node }
	var list *node
	for range 1 << 20 {
		list = &node{list}
	}
	// Following a list of that length takes some milliseconds on any machine.
	if cost := freeMemory(); cost < time.Millisecond || list == nil {
		t.Errorf("collecting a million objects is said to take %v", cost)
	}
}
