package profiler

import (
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	steps := []struct {
		after Outcome
		took  time.Duration // for a window of a second
		want  time.Duration
	}{
		{OK, 1 * time.Second, 0},
		{Starved, 1 * time.Second, 0},
		{Overrun, 1999 * time.Millisecond, 0},
		{Busy, 0, 1 * time.Minute},
		{Stolen, 0, 2 * time.Minute},
		{Canceled, 0, 2 * time.Minute},
		{Hung, 0, 4 * time.Minute},
		{Overrun, 1250 * time.Millisecond, 4 * time.Minute},
		{Overrun, 2 * time.Second, 8 * time.Minute},
		{Busy, 0, 15 * time.Minute},
		{Busy, 0, 15 * time.Minute},
		{Rate, 1 * time.Second, 15 * time.Minute},
		{OK, 1 * time.Second, 0},
		{Busy, 0, 1 * time.Minute},
	}
	var b Backoff
	for i, s := range steps {
		if b = b.After(Window{Outcome: s.after, Asked: time.Second, Elapsed: s.took}); b.Wait != s.want {
			t.Errorf("step %d, after %v: wait %v, want %v", i, s.after, b.Wait, s.want)
		}
	}
}
