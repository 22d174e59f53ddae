package guard

import (
	"testing"
	"time"

	"github.com/profguard/profguard/internal/process"
)

func TestTrim(t *testing.T) {
	const millisecond = time.Millisecond
	for _, test := range []struct {
		name  string
		now   process.Snapshot
		every time.Duration
		cost  time.Duration // of giving memory back once
		want  int           // times after the first window, and after the second
		again int
	}{
		{"small", process.Snapshot{RSS: 15 << 20}, time.Minute, millisecond, 1, 1},
		{"small, and a heap that takes long to collect", process.Snapshot{RSS: 26 << 20}, time.Minute, 61 * millisecond, 1, 0},
		{"large", process.Snapshot{RSS: 64 << 20}, time.Minute, millisecond, 0, 0},
		{"unknown", process.Snapshot{}, time.Minute, millisecond, 0, 0},
		{"small, windows all the time", process.Snapshot{RSS: 15 << 20}, 10 * time.Second, millisecond, 0, 0},
		{"small, collection switched off", process.Snapshot{RSS: 15 << 20, GCOff: true}, time.Minute, millisecond, 0, 0},
	} {
		released := 0
		l := &looper{Guard: &Guard{cfg: Config{Every: test.every}, seams: seams{
			release: func() time.Duration { released++; return test.cost },
		}}}
		for window, want := range []int{test.want, test.again} {
			released = 0
			if l.trim(test.now); released != want {
				t.Errorf("%s: window %d: gave memory back %d times, want %d", test.name, window, released, want)
			}
		}
	}
}

// TestTrimIsAccountedFor: what trimming takes is a part of the guard's cost, after the
// next window.
func TestTrimIsAccountedFor(t *testing.T) {
	for _, cost := range []time.Duration{0, 50 * time.Millisecond, 200 * time.Millisecond} {
		bubble(t, func(t *testing.T, w *world) {
			l := w.still(t, Config{Every: minute, Window: 10 * second})
			l.seams.release = func() time.Duration { return cost }
			for range 4 {
				l.window(t.Context(), false)
			}
			want := 3 * cost
			if cost > 60*time.Millisecond {
				want = cost // too much, and so it was the last time
			}
			if got := l.Status().CPU; got < want || got >= want+100*time.Millisecond {
				t.Errorf("giving memory back takes %v, and four windows have cost %v", cost, got)
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
