package loop

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/profiles"
	"github.com/profguard/profguard/internal/unit"
)

// Goroutines that wait each for something else have no largest part. All of them stand in
// functions of the runtime, which nobody can act on.
func TestGoroutinesOfAllSortsNameNobody(t *testing.T) {
	sorts := "goroutine\n"
	for i := range 20 {
		sorts += fmt.Sprintf("main.start%d;runtime.chanrecv1;runtime.chanrecv;runtime.gopark 1\n", i)
	}
	for _, tt := range []struct{ text, want string }{
		{sorts, ""},
		{sorts + "main.(*session).watch;runtime.selectgo;runtime.gopark 400\n", "main.(*session).watch"},
		{sorts + "main.run;time.Sleep;runtime.gopark 9\n", "main.run"},
	} {
		table, err := decoded(new(decode.Decoder), &Profile{Kind: "goroutine", Source: decode.Source{Data: packed(tt.text)}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		parts, err := largestParts(t.Context(), table, "goroutine", "", unit.Share)
		if err != nil {
			t.Fatal(err)
		}
		named := ""
		if len(parts) > 0 {
			named = parts[0].Function
		}
		if named != tt.want {
			t.Errorf("%q is named, want %q", named, tt.want)
		}
	}
}

// What is too dear to take is not taken, and that is said.
func TestNoPartsOfTooMany(t *testing.T) {
	s := newStill(t, nil, "x: goroutines below 300")
	s.measure.parts = profiles.Taker{Goroutines: 1}
	s.judgeFigures(t, s.figures(1, map[string]float64{"goroutines": 5000}))
	r := s.changes[0].Result
	if len(r.Offenders) != 0 || r.Verdict != budget.Fail || !strings.Contains(r.Reason, "the functions behind it are unknown: take goroutine profile: there are ") {
		t.Errorf("%s", r)
	}
}

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
	for bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("loop.waitHere(")) < n {
		runtime.Gosched()
	}
}

// What is named is of the window that fails. Where its profile is refused, because there
// are too many goroutines, it is of the last one that had a profile, as of a leak that is so fast,
// and the reason says so. After a window that passes it is forgotten.
func TestPartsAreOfTheWindow(t *testing.T) {
	crowd(t, 100)
	s := newStill(t, nil, "x: goroutines below 50")
	minutes := 0.0
	const refused = "50; the functions behind it are unknown: take goroutine profile: there are "
	const costly = 1001 // and the last profile was
	for _, tt := range []struct {
		most       int // of goroutines that a profile is taken of
		goroutines float64
		want       string // of the reason
	}{
		{1, 100, refused},
		{1000, 110, "% of the goroutine profile is github.com/profguard/profguard/internal/loop.crowd.func1 at loop/"},
		{1000, 120, "% of the goroutine profile is github.com/profguard/profguard/internal/loop.crowd.func1 at loop/"},
		{1, 130, "% of the goroutine profile of an earlier window was github.com/profguard/profguard/internal/loop.crowd.func1 at loop/"},
		{1, 140, " (now there is none: take goroutine profile: there are "},
		{1000, 150, "% of the goroutine profile is github.com/profguard/profguard/internal/loop.crowd.func1 at loop/"},
		{costly, 155, " of an earlier window was github.com/profguard/profguard/internal/loop.crowd.func1 at loop/parts_test.go:63 (now there is none: the last goroutine profile took so much CPU time that the next one is taken in 1m0s)"},
		{1000, 10, ""},
		{1, 160, refused},
	} {
		s.measure.parts = profiles.Taker{Goroutines: tt.most}
		clear(s.measure.due) // these windows follow each other at once
		if tt.most == costly {
			s.measure.due["goroutine"] = time.Now().Add(minute)
		}
		minutes++
		s.judgeFigures(t, s.figures(minutes, map[string]float64{"goroutines": tt.goroutines}))
		r := s.changes[0].Result
		names := tt.want != refused && tt.want != ""
		if !strings.Contains(r.Reason, tt.want) || names != (len(r.Offenders) > 0) {
			t.Errorf("%v goroutines: %s, want %q", tt.goroutines, r.Reason, tt.want)
		}
	}
}

//go:noinline
func waitHere(stop chan struct{}) { <-stop }
