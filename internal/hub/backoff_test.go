package hub

import (
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	steps := []struct {
		after Outcome
		want  time.Duration
	}{
		{OK, 0},
		{Starved, 0},
		{Busy, 1 * time.Minute},
		{Stolen, 2 * time.Minute},
		{Canceled, 2 * time.Minute},
		{Hung, 4 * time.Minute},
		{Overrun, 8 * time.Minute},
		{Busy, 15 * time.Minute},
		{Busy, 15 * time.Minute},
		{Rate, 15 * time.Minute},
		{OK, 0},
		{Busy, 1 * time.Minute},
	}
	var b Backoff
	for i, s := range steps {
		if b = b.After(s.after); b.Wait != s.want {
			t.Errorf("step %d, after %v: wait %v, want %v", i, s.after, b.Wait, s.want)
		}
	}
}
