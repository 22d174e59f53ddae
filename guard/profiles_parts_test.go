package guard

import (
	"bytes"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
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

// What is named is of the window that fails. Where its profile is refused, because there
// are too many goroutines, it is of the last one that had a profile, as of a leak that is so fast,
// and the reason says so. After a window that passes it is forgotten.
func TestPartsAreOfTheWindow(t *testing.T) {
	noLeaks(t)
	crowd(t, 100)
	w := newWorld()
	l := w.still(t, Config{Budgets: budget.Must("x: goroutines below 50")})
	defer func() { l.parts.Close() }()
	at := time.Now()
	const refused = "50; what it is made of is not known: take goroutine profile: there are "
	const costly = 1001 // and the last profile was
	for _, tt := range []struct {
		most       int // of goroutines that a profile is taken of
		goroutines float64
		want       string // of the reason
	}{
		{1, 100, refused},
		{1000, 110, "% of the goroutine profile is github.com/profguard/profguard/guard.crowd.func1 at guard/"},
		{1000, 120, "% of the goroutine profile is github.com/profguard/profguard/guard.crowd.func1 at guard/"},
		{1, 130, "% of the goroutine profile of an earlier window was github.com/profguard/profguard/guard.crowd.func1 at guard/"},
		{1, 140, " (now there is none: take goroutine profile: there are "},
		{1000, 150, "% of the goroutine profile is github.com/profguard/profguard/guard.crowd.func1 at guard/"},
		{costly, 155, " of an earlier window was github.com/profguard/profguard/guard.crowd.func1 at guard/profiles_parts_test.go:19 (now there is none: the last goroutine profile took so much CPU time that the next one is taken in 1m0s)"},
		{1000, 10, ""},
		{1, 160, refused},
	} {
		l.parts = profiles.Taker{Goroutines: tt.most}
		clear(l.breakdowns)
		clear(l.kinds.due) // these windows follow each other at once
		if tt.most == costly {
			l.kinds.due["goroutine"] = time.Now().Add(minute)
		}
		win := w.take(0)
		l.apply(t.Context(), l.judge(t.Context(), l.budgets.groups[0], measuredAt(&win, at, "goroutines", tt.goroutines)), &win)
		r := l.Status().Budgets[0].Result
		names := tt.want != refused && tt.want != ""
		if !strings.Contains(r.Reason, tt.want) || names != (len(r.Offenders) > 0) {
			t.Errorf("%v goroutines: %s, want %q", tt.goroutines, r.Reason, tt.want)
		}
		at = at.Add(minute)
	}
}
