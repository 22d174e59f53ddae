package pace

import (
	"slices"
	"testing"
	"time"

	"github.com/profguard/profguard/internal/process"
)

// What a window costs makes the next one later, or the guard rest.
func TestSpent(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name         string
		cost, period time.Duration
		next         time.Duration
		paused       bool
	}{
		{"cheap", 100 * ms, time.Minute, time.Minute, false},
		{"just 1%", 600 * ms, time.Minute, time.Minute, false},
		{"over 1%", 1200 * ms, time.Minute, 90 * time.Second, false},
		{"over 1%, in a longer time", 1200 * ms, 2 * time.Minute, 90 * time.Second, false},
		{"over 3%", 1801 * ms, time.Minute, 150100 * ms, true},
		{"not more often than a pause is long", time.Minute, time.Hour, PauseFor, false},
		{"a short time is no rate", 800 * ms, 10 * time.Second, time.Minute, false},
		{"too much for any time", 901 * ms, 10 * time.Second, 60100 * ms, true},
	} {
		p := Pace{Every: time.Minute, Window: time.Minute, Random: func() float64 { return 0.5 }}
		now := time.Now()
		share := p.Spent(tt.cost, tt.period, now)
		until, paused := p.Paused(now)
		if next := p.Next(now, now).Sub(now); next != tt.next || paused != tt.paused || paused && !until.Equal(now.Add(PauseFor)) {
			t.Errorf("%s: the next after %v, paused %t until %v; want %v, %t", tt.name, next, paused, until.Sub(now), tt.next, tt.paused)
		}
		if want := tt.cost.Seconds() / tt.period.Seconds(); share < want*0.999 || share > want*1.001 {
			t.Errorf("%s: a share of %v, want %v", tt.name, share, want)
		}
	}
}

// Over a long time windows cost at most 1%, however often they are due.
func TestSpentForLong(t *testing.T) {
	p := Pace{Every: time.Second, Window: time.Second, Random: func() float64 { return 0.5 }}
	began, windows := time.Now(), 0
	for now := began; now.Sub(began) < time.Hour; windows++ {
		at := p.Next(now, now)
		p.Spent(50*time.Millisecond, at.Sub(now), at)
		now = at
	}
	if windows < 720 || windows > 730 { // 1% of an hour, and of half a minute
		t.Errorf("%d windows of 50 ms in an hour, want 1%% of it", windows)
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
