package pace

import (
	"slices"
	"testing"
	"time"

	"github.com/profguard/profguard/internal/process"
)

// What windows cost makes them rarer, and more frequent again.
func TestSpent(t *testing.T) {
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
		{"cheap", []step{{100 * ms, time.Minute, 1, false}, {100 * ms, time.Minute, 1, false}}},
		{"just under 1%", []step{{599 * ms, time.Minute, 1, false}}},
		{"over 1%, then in between, then cheap", []step{
			{601 * ms, time.Minute, 2, false}, {1202 * ms, 2 * time.Minute, 4, false}, {1600 * ms, 4 * time.Minute, 4, false},
			{100 * ms, 4 * time.Minute, 2, false}, {100 * ms, 2 * time.Minute, 1, false}, {100 * ms, time.Minute, 1, false},
		}},
		{"over 3%", []step{{1801 * ms, time.Minute, 2, true}}},
		{"never more than sixteen times", []step{
			{time.Second, time.Minute, 2, false}, {time.Second, time.Minute, 4, false}, {time.Second, time.Minute, 8, false}, {time.Second, time.Minute, 16, false}, {time.Second, time.Minute, 16, false},
		}},
		{"a short time is no rate", []step{{800 * ms, 10 * time.Second, 1, false}, {10 * ms, 50 * time.Second, 2, false}}},
		{"too much for any time", []step{{901 * ms, 10 * time.Second, 2, true}}},
		{"no time at all", []step{{time.Second, 0, 1, false}, {time.Second, -time.Second, 1, false}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p Pace
			now := time.Now()
			for i, s := range tt.steps {
				now = now.Add(s.period)
				p.Spent(s.cost, s.period, now)
				until, rests := p.Rests(now)
				if p.stretch() != s.stretch || rests != s.rest {
					t.Errorf("step %d: stretch %d, rests %t; want %d, %t", i+1, p.stretch(), rests, s.stretch, s.rest)
				}
				if s.rest && !until.Equal(now.Add(15*time.Minute)) {
					t.Errorf("step %d: rests until %v", i+1, until.Sub(now))
				}
			}
		})
	}
}

// A window starts within a period of the one before, wherever in it chance has it. Whole
// periods that went by are not made up for.
func TestNext(t *testing.T) {
	for _, random := range []float64{0, 0.5, 0.99} {
		p := Pace{Every: time.Minute, Window: 10 * time.Second, Random: func() float64 { return random }}
		if first := p.First(); first < 0 || first > 6*time.Second {
			t.Errorf("chance %v: the first window in %v", random, first)
		}
		began := time.Now()
		for _, late := range []time.Duration{0, 30 * time.Minute, 100 * time.Hour} {
			now := began.Add(p.Window + late)
			next := p.Next(began, now)
			if wait := next.Sub(began); late == 0 && (wait < 47*time.Second || wait > 73*time.Second) {
				t.Errorf("chance %v: the next window after %v", random, wait)
			}
			if late > 0 && !next.Equal(now) {
				t.Errorf("chance %v, %v after the last window: the next in %v", random, late, next.Sub(now))
			}
		}
	}
}

// A jump of CPU asks for a window once a period.
func TestJumped(t *testing.T) {
	p := Pace{Every: time.Minute}
	at, cpu := time.Now(), time.Duration(0)
	p.Restart(process.Snapshot{At: at})
	var jumps []int
	for second := range 200 {
		cores := 0.1
		if second >= 30 && second%5 == 0 {
			cores = 1
		}
		at = at.Add(time.Second)
		cpu += time.Duration(cores * float64(time.Second))
		if p.Jumped(process.Snapshot{At: at, CPU: cpu}) {
			jumps = append(jumps, second)
		}
	}
	if want := []int{30, 90, 150}; !slices.Equal(jumps, want) {
		t.Errorf("jumps at %v, want %v", jumps, want)
	}
}
