package guard

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/profiles"
)

// crowd are so many goroutines that wait in one function, until the test ends.
func crowd(t *testing.T, n int) {
	t.Helper()
	stop, gone := make(chan struct{}), make(chan struct{}, n)
	for range n {
		go func() { waitHere(stop); gone <- struct{}{} }()
	}
	t.Cleanup(func() {
		close(stop)
		for range n {
			<-gone
		}
	})
	// A goroutine that has not begun stands in the literal.
	stacks := make([]byte, 4096*(n+100))
	for bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("guard.waitHere(")) < n {
		runtime.Gosched()
	}
}

// Of more goroutines than a profile is taken of, the largest part is named by the profile
// that was taken on the way up: one in a rise, and none of the rise before. Its clean
// twin has no budget on goroutines, and takes none.
func TestPartsOnTheWayUp(t *testing.T) {
	noLeaks(t)
	const most = 400
	crowd(t, 300)
	for _, tt := range []struct {
		name, sentence string
		way            []int64 // goroutines, second by second
		seen           int64   // when the profile was taken, 0: never
	}{
		{"a rise", "x: goroutines below 1000", []int64{10, 150, 210, 350, 900}, 210},
		{"the second rise", "x: goroutines below 1000", []int64{210, 300, 900, 90, 390, 900}, 390},
		{"a jump", "x: goroutines below 1000", []int64{10, 150, 900}, 0},
		{"a jump after a rise", "x: goroutines below 1000", []int64{10, 210, 90, 900}, 0},
		{"no budget on them", "x: heap below 1GiB", []int64{10, 210, 350, 900}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld()
			l := w.still(t, Config{Budgets: budget.Must(tt.sentence)})
			l.breakdowns.taker = profiles.Taker{Goroutines: most, Share: 1000}
			defer l.breakdowns.taker.Close()
			at := time.Now()
			for _, n := range tt.way {
				at = at.Add(second)
				l.rising(t.Context(), process.Snapshot{At: at, Goroutines: n})
			}
			seen := l.breakdowns.rising
			if int64(seen.value) != tt.seen || tt.seen > 0 && l.breakdowns.cost <= 0 {
				t.Fatalf("a profile of %v goroutines, want %d", seen.value, tt.seen)
			}
			if tt.sentence != "x: goroutines below 1000" {
				return
			}
			crowd(t, most) // too many now
			win := w.take(0)
			l.apply(t.Context(), l.judge(t.Context(), l.panel.groups[0], measuredAt(&win, at, "goroutines", 50442)), &win)
			r := l.Status().Budgets[0].Result
			want := "no goroutine profile was taken: too many goroutines"
			if tt.seen > 0 {
				want = fmt.Sprintf("goroutines at 50442, the limit is 1000; of %d goroutines at %s, ", tt.seen, seen.at.Format(time.TimeOnly))
			}
			if !strings.Contains(r.Reason, want) || (len(r.Offenders) > 0) != (tt.seen > 0) {
				t.Errorf("%s\nwant %s", r, want)
			}
			if tt.seen > 0 && (!strings.Contains(r.Reason, "% stand in ") || !strings.Contains(r.Reason, "guard.waitHere at guard/")) {
				t.Errorf("it names nobody: %s", r.Reason)
			}
		})
	}
}

// The guard looks every second while it waits for the next window, but not while it
// rests.
func TestRisingBetweenWindows(t *testing.T) {
	for _, rests := range []bool{false, true} {
		bubble(t, func(t *testing.T, w *world) {
			w.goroutines = 6000
			l := w.still(t, Config{Budgets: budget.Must("x: goroutines below 50000")})
			if rests {
				l.governor.until = time.Now().Add(minute)
			}
			defer l.breakdowns.taker.Close()
			began := time.Now()
			if _, due := l.wait(t.Context(), began.Add(5*second)); !due {
				t.Fatal("not due")
			}
			seen := l.breakdowns.rising
			if after := seen.at.Sub(began); rests && !seen.at.IsZero() && after < minute || !rests && (after != second || seen.value != 6000) {
				t.Errorf("rests %t: a profile of %v goroutines after %v", rests, seen.value, after)
			}
		})
	}
}

// A part that is older than the number beside it says so, and a figure that has
// grown by half is looked into again.
func TestPartsAreDated(t *testing.T) {
	noLeaks(t)
	crowd(t, 100)
	w := newWorld()
	l := w.still(t, Config{Budgets: budget.Must("x: goroutines below 50")})
	l.breakdowns.taker = profiles.Taker{Share: 1000} // whatever it costs
	defer l.breakdowns.taker.Close()
	at := time.Date(2026, 11, 21, 18, 15, 19, 0, time.Local)
	for _, tt := range []struct {
		after      time.Duration
		goroutines float64
		want       string // of the reason
	}{
		{0, 100, "50; 9"},
		{minute, 110, "50; of 100 goroutines at 18:15:19, 9"},
		{minute, 149, "50; 9"}, // it fires
		{minute, 223, "50; of 149 goroutines at 18:17:19, 9"},
		{minute, 224, "50; 9"},
		{minute, 230, "50; of 224 goroutines at 18:19:19, 9"},
		{10 * minute, 230, "50; 9"},
	} {
		at = at.Add(tt.after)
		clear(l.breakdowns.taken)
		win := w.take(0)
		l.apply(t.Context(), l.judge(t.Context(), l.panel.groups[0], measuredAt(&win, at, "goroutines", tt.goroutines)), &win)
		if r := l.Status().Budgets[0].Result; !strings.Contains(r.Reason, tt.want) || !strings.Contains(r.Reason, "guard.waitHere") {
			t.Errorf("%v goroutines: %s, want %q", tt.goroutines, r.Reason, tt.want)
		}
	}
	c := breakdown{at: at.Add(-24 * time.Hour), value: 80 << 20, kind: kinds.Heap, offenders: []budget.Offender{{Frame: budget.Frame{Function: "main.keep", Share: 0.5}}}}
	if got, want := c.largest("bytes", "of the live heap from", at), "at 2026-11-20 18:30:19, when it was at 80.00MiB, 50.00% of the live heap from main.keep"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
