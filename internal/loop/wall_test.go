package loop

import (
	"context"
	"testing"
	"time"
	"unsafe"

	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/profiler"
)

// setWall is t as it would be if somebody had set the wall clock forward by d
// meanwhile: the monotonic reading, which no function of package time can keep
// apart from it, stays. The 30 lowest bits of a Time's first word are
// nanoseconds, the next 33 seconds.
func setWall(t time.Time, d time.Duration) time.Time {
	wall := (*uint64)(unsafe.Pointer(&t))
	*wall += uint64(int64(d/time.Second)) << 30
	return t
}

func TestSetWall(t *testing.T) {
	now := time.Now()
	for _, d := range []time.Duration{24 * time.Hour, -24 * time.Hour} {
		set := setWall(now, d)
		if got := set.Sub(now); got != 0 {
			t.Errorf("the monotonic clock moved by %v", got)
		}
		if got := set.Round(0).Sub(now.Round(0)); got != d {
			t.Errorf("the wall clock moved by %v, want %v", got, d)
		}
	}
}

// A bubble's times have no monotonic reading, so this test makes its own, and
// steps through the windows by hand.
func TestFault_42_WallClockJumps(t *testing.T) {
	const day = 24 * time.Hour
	tests := []struct {
		name  string
		shift func(since time.Duration) time.Duration
	}{
		{"clean", func(time.Duration) time.Duration { return 0 }},
		{"forward", func(at time.Duration) time.Duration {
			if at > 90*second {
				return day
			}
			return 0
		}},
		{"back", func(at time.Duration) time.Duration {
			if at > 90*second {
				return -day
			}
			return 0
		}},
		{"back and forth, in mid-window too", func(at time.Duration) time.Duration { return (at/(5*second)%2*2 - 1) * day }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var since time.Duration
			var m *Measurement
			started := time.Now()
			now := func() time.Time { return setWall(started.Add(since), tt.shift(since)) }
			s := newStill(t, func(c *Config) {
				c.Started = started
				c.Process.Random = func() float64 { return 0.5 } // no jitter
				c.Process.Snap = func() process.Snapshot { return process.Snapshot{At: now(), CPU: since} }
				c.Process.Source = takes(func(_ context.Context, d time.Duration) (profiler.Window, error) {
					win, err := windows("cpu 10s\nmain.main;main.serve;fmt.Println 900\nmain.main;main.serve 100\n").Capture(t.Context(), d)
					win.Start = now()
					since += d
					return win, err
				})
			}, "prints: fmt.Println below 20% for 5m")
			s.took = func(r *Report) { m = r.Measurement }
			for i, want := range []alert.State{alert.Pending, alert.Pending, alert.Pending, alert.Pending, alert.Pending, alert.Firing} {
				began := now()
				s.step(t)
				if got := s.changes[0].Alert.State; got != want {
					t.Errorf("window %d: %s, want %s", i+1, got, want)
				}
				if m.Used.Cores != 1 || m.CPU.Elapsed != 10*second || m.CPU.Outcome != profiler.OK {
					t.Errorf("window %d: %v cores in %v, %s", i+1, m.Used.Cores, m.CPU.Elapsed, m.CPU.Outcome)
				}
				wait := s.after(began, now()).Sub(now())
				if wait != 50*second {
					t.Errorf("window %d: the next in %v, want a minute after its start", i+1, wait)
				}
				since += wait
			}
		})
	}
}

// takes is a source by a function.
type takes func(context.Context, time.Duration) (profiler.Window, error)

func (f takes) Capture(ctx context.Context, d time.Duration) (profiler.Window, error) {
	return f(ctx, d)
}
