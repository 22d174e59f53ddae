package guard

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/profiler"
)

// fedProfile is what an agent has taken from start on: main.work has so many percent.
func fedProfile(start time.Time, took time.Duration, percent int) []byte {
	seconds := int(took.Seconds())
	p := folded.Must(fmt.Sprintf("cpu %ds\nmain.main;main.serve;main.work %d\nmain.main;main.serve;fmt.Println %d\n", seconds, percent*seconds, (100-percent)*seconds))
	p.TimeNanos = start.UnixNano()
	return packed(p)
}

// agent feeds a guard with windows of a length, until ctx ends. percent is that of main.work.
func agent(ctx context.Context, t *testing.T, g *Guard, length time.Duration, percent func(start time.Time) int) {
	for {
		start := time.Now()
		select {
		case <-ctx.Done():
			return
		case <-time.After(length):
		}
		if err := g.Feed(fedProfile(start, length, percent(start)), start, time.Now()); err != nil {
			t.Error(err)
		}
	}
}

// firesAfter is how long a fault takes until its alert, beside an agent whose windows have a length, or
// without one. It begins so long after a full minute.
func firesAfter(t *testing.T, length, phase time.Duration) (after time.Duration) {
	bubble(t, func(t *testing.T, w *world) {
		planted := time.Now().Add(10*minute + phase)
		percent := func(start time.Time) int {
			if start.Before(planted) {
				return 1
			}
			return 60
		}
		w.take = func(int) profiler.Window {
			n := percent(time.Now())
			return cpuWindow(fmt.Sprintf("cpu 10s\nmain.main;main.serve;main.work %d\nmain.main;main.serve;fmt.Println %d\n", 10*n, 10*(100-n)))
		}
		w.random = func() float64 { return 0.5 }
		fired := make(chan time.Time, 1)
		g := w.start(t, Config{Budgets: budget.Must("hot: main.work below 20%"), OnEvent: func(e Event) {
			if e.Name == EventFiring {
				select {
				case fired <- time.Now():
				default:
				}
			}
		}})
		ctx, cancel := context.WithCancel(t.Context())
		if length > 0 {
			go agent(ctx, t, g, length, percent)
		}
		select {
		case at := <-fired:
			after = at.Sub(planted)
		case <-time.After(30 * minute):
			t.Error("it does not fire")
		}
		cancel()
		g.Stop()
	})
	return after
}

// Beside an agent a fault fires within the same time as without one, but for the length of the
// agent's windows: what is in one is known when it ends.
func TestFeedFires(t *testing.T) {
	worst := map[time.Duration]time.Duration{}
	for _, length := range []time.Duration{0, 10 * second, 15 * second, 30 * second, minute} {
		sum, phases := time.Duration(0), 0
		for phase := time.Duration(0); phase < minute; phase += 7 * second {
			after := firesAfter(t, length, phase)
			worst[length], sum, phases = max(worst[length], after), sum+after, phases+1
		}
		t.Logf("windows of %v: after %v on average, %v at the most", length, (sum / time.Duration(phases)).Round(second), worst[length].Round(second))
		if worst[length] > worst[0]+length {
			t.Errorf("with windows of %v it fires after %v, without an agent after %v", length, worst[length], worst[0])
		}
	}
}

// Before an agent that was announced has sent its first profile the guard takes none, and tells of no
// window that the agent has cost it, nor that the work of the first one is not known. That of a later
// one that does not follow the one before is told.
func TestFeedAnnounced(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.random = func() float64 { return 0.9 }
		w.take = func(int) profiler.Window { return lost(profiler.Busy) } // as the agent has the profiler
		g := w.start(t, Config{Budgets: budget.Must("hot: main.work below 1s per row"), Work: map[string]func() float64{"row": func() float64 { return w.since().Seconds() }}})
		g.ExpectFeed()
		feed := func(length time.Duration) {
			start := time.Now()
			pass(length)
			if err := g.Feed(fedProfile(start, length, 1), start, time.Now()); err != nil {
				t.Error(err)
			}
			pass(second)
		}
		pass(50 * second)
		feed(minute)
		feed(minute)
		if told := w.told(); len(told) > 0 || len(w.starts) > 0 || g.Status().Windows["ok"] != 2 {
			t.Errorf("told %v, %d own windows, %v", told, len(w.starts), g.Status().Windows)
		}
		pass(30 * second)
		feed(minute)
		if told := w.told(); len(told) != 1 || !strings.Contains(g.Status().Reason, "nothing was counted at its start") {
			t.Errorf("told %v, reason %q", told, g.Status().Reason)
		}
	})
	bubble(t, func(t *testing.T, w *world) { // it never comes
		g := w.start(t, Config{Budgets: budget.Must("hot: main.work below 20%")})
		g.ExpectFeed()
		pass(10 * minute)
		if n := g.Status().Windows["ok"]; n < 5 {
			t.Errorf("%d windows", n)
		}
	})
	(*Guard)(nil).ExpectFeed() // does nothing
}

// Profiles may come at any time, in any number and form: before the first window, all at once, while
// the guard stops, and after that.
func TestFeedHostile(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.random = func() float64 { return 0.9 }
		g := w.start(t, Config{Budgets: budget.Must("hot: main.work below 20%")})
		start := time.Now()
		pass(2 * second)
		if err := g.Feed(fedProfile(start, 2*second, 60), start, time.Now()); err != nil { // it is judged beside this
			t.Errorf("before the first window: %v", err)
		}
		pass(second)
		if n := g.Status().Windows["ok"]; n != 1 {
			t.Errorf("%d windows", n)
		}
		start = time.Now()
		pass(10 * second)
		data := fedProfile(start, 10*second, 60)
		var taken atomic.Int32
		var running sync.WaitGroup
		for range 1000 {
			running.Go(func() {
				if g.Feed(data, start, time.Now()) == nil {
					taken.Add(1)
				}
			})
		}
		running.Wait()
		if taken.Load() != 1 {
			t.Errorf("one profile, fed a thousand times, was taken %d times", taken.Load())
		}
		pass(10 * minute)
		for _, bad := range [][]byte{nil, []byte("<html>"), data[:len(data)/2], append(append([]byte{}, data...), data...), make([]byte, 64<<20)} {
			if err := g.Feed(bad, time.Now().Add(-10*second), time.Now()); err == nil || !strings.HasPrefix(err.Error(), "feed a profile: ") {
				t.Errorf("%d bytes: %v", len(bad), err)
			}
		}
		if why := g.Status().Reason; !strings.Contains(why, "a profile that was fed is not judged") {
			t.Errorf("reason %q", why)
		}
		for range 100 { // beside Stop
			running.Go(func() { g.Feed(data, time.Now().Add(-10*second), time.Now()) })
		}
		g.Stop()
		running.Wait()
		if err := g.Feed(data, start, start.Add(10*second)); err == nil || !strings.Contains(err.Error(), "no guard runs") {
			t.Errorf("after Stop: %v", err)
		}
		n := 0
		for _, name := range w.told() {
			if name == string(EventDegraded) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("events %v", w.told())
		}
	})
}
