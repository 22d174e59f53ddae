package guard

import (
	"fmt"
	"testing"
	"time"
)

// What the guard says that it costs is what a process costs in which nothing else
// happens, within a factor of four: half of it is an estimate, of what the runtime
// does in signal handlers and in goroutines of its own, and on a machine that is
// overloaded everything costs more. It has three tries.
func TestOwnCostIsTrue(t *testing.T) {
	if testing.Short() {
		t.Skip("measures CPU for seconds")
	}
	needProfiler(t)
	for range 3 {
		out, err := child(t, "cost")
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		var says, with, without float64
		if _, err := fmt.Sscan(out, &says, &with, &without); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		is := with - without
		t.Logf("two windows: says %.1f ms, is %.1f ms", says/1000, is/1000)
		if says >= is/4 && says <= is*4 {
			return
		}
	}
	t.Error("what the guard says of its cost is not true")
}

func TestGovernor(t *testing.T) {
	type step struct {
		cost, period time.Duration
		stretch      int
		rest         bool
	}
	const ms = time.Millisecond
	tests := []struct {
		name  string
		steps []step
	}{
		{"cheap", []step{{100 * ms, minute, 1, false}, {100 * ms, minute, 1, false}}},
		{"just under 1%", []step{{599 * ms, minute, 1, false}}},
		{"over 1%, then in between, then cheap", []step{
			{601 * ms, minute, 2, false}, {1202 * ms, 2 * minute, 4, false}, {1600 * ms, 4 * minute, 4, false},
			{100 * ms, 4 * minute, 2, false}, {100 * ms, 2 * minute, 1, false}, {100 * ms, minute, 1, false},
		}},
		{"over 3%", []step{{1801 * ms, minute, 2, true}}},
		{"never more than sixteen times", []step{
			{second, minute, 2, false}, {second, minute, 4, false}, {second, minute, 8, false}, {second, minute, 16, false}, {second, minute, 16, false},
		}},
		{"a short time is no rate", []step{{800 * ms, 10 * second, 1, false}, {10 * ms, 50 * second, 2, false}}},
		{"too much for any time", []step{{901 * ms, 10 * second, 2, true}}},
		{"no time at all", []step{{second, 0, 1, false}, {second, -second, 1, false}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var g governor
			now := time.Now()
			for i, s := range tt.steps {
				now = now.Add(s.period)
				g.spent(s.cost, s.period, now)
				if g.stretch() != s.stretch || g.paused(now) != s.rest {
					t.Errorf("step %d: stretch %d, rests %t; want %d, %t", i+1, g.stretch(), g.paused(now), s.stretch, s.rest)
				}
				if s.rest && (g.paused(now.Add(restFor)) || !g.until.Equal(now.Add(15*minute))) {
					t.Errorf("step %d: rests until %v", i+1, g.until.Sub(now))
				}
			}
		})
	}
}
