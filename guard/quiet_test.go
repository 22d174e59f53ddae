package guard

import (
	"fmt"
	"strings"
	"testing"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/hub"
)

// small is a window of a process that does little: n samples, with so many of them in
// fmt.Println.
func small(n, prints int) hub.Window {
	text := fmt.Sprintf("cpu 10s\nmain.main;main.serve;main.work %d\n", n-prints)
	if prints > 0 {
		text += fmt.Sprintf("main.main;main.serve;fmt.Println %d\n", prints)
	}
	return cpuWindow(text)
}

// Why a budget is kept again is what all windows since say together, and not that
// the last one has too few samples.
func TestWhyItIsKeptAgain(t *testing.T) {
	for _, tt := range []struct {
		name, sentence string
		take           func(n int) hub.Window
		windows        int
		want           string
	}{
		{"absent, in small windows", "x: fmt.Println absent", func(n int) hub.Window {
			if n == 0 {
				return small(80, 1)
			}
			return small(80, 0)
		}, 6, "budget x is kept again: none of 320 samples in the last 4 windows"},
		{"any function, in small windows", "x: no function above 20%", func(n int) hub.Window {
			if n < 20 {
				return small(80, 60)
			}
			var text strings.Builder
			for i := range 8 {
				fmt.Fprintf(&text, "main.main;main.serve;main.work%d 2\n", i)
			}
			return cpuWindow("cpu 10s\n" + text.String())
		}, 120, "budget x is kept again: the largest at 12.5% ("},
		{"one window that says it all", "x: fmt.Println below 20% for 1 windows", story("bg"), 3, "surely below"},
		{"absent, a window that says it all", "x: fmt.Println absent", story("bg"), 3, "none of 1000 samples"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.take = tt.take
				g := w.start(t, Config{Budgets: budget.Must(tt.sentence), Window: 10 * second, Every: 10 * second})
				initials(t, g, tt.windows)
				g.Stop()
				var kept []Event
				for _, e := range w.events {
					if e.Name == eventResolved {
						kept = append(kept, e)
					}
				}
				if len(kept) != 1 || !strings.Contains(kept[0].Message, tt.want) || !strings.HasSuffix(kept[0].Message, kept[0].Result.Reason) {
					t.Fatalf("%d resolved: %+v, want one with %q; told %q, %s", len(kept), kept, tt.want, w.told(), g.Status().Budgets[0].Result)
				}
				if strings.Contains(kept[0].Message, "needed") {
					t.Errorf("it contradicts itself: %s", kept[0].Message)
				}
			})
		})
	}
}

func TestQuietReason(t *testing.T) {
	share := budget.Must("x: fmt.Println below 20%")[0]
	window := func(b budget.Budget, v budget.Verdict, value float64, unit, reason string) budget.Result {
		return budget.Result{Budget: b, Verdict: v, Share: value, Unit: unit, Samples: 40, Reason: reason}
	}
	few := window(share, budget.Inconclusive, 0.05, "ratio", "40 samples, 491 are needed")
	for _, tt := range []struct {
		last    budget.Result
		windows int
		want    string
	}{
		{few, 9, "fmt.Println at 5.0% (360 samples in the last 9 windows), the limit is 20%"},
		{few, 1, "fmt.Println at 5.0% (40 samples in the last window), the limit is 20%"},
		{window(share, budget.Pass, 0.05, "ratio", "surely below"), 9, "surely below"},
		{window(budget.Must("process below 2ms per request")[0], budget.Inconclusive, 0.001, "seconds", "few"), 2,
			"the process at 1ms (80 samples in the last 2 windows), the limit is 2ms"},
		{budget.Result{Budget: budget.Must("goroutines below 5000")[0], Verdict: budget.Pass, Reason: "goroutines at 10"}, 3, "goroutines at 10"},
	} {
		var q quiet
		for range tt.windows {
			q.add(tt.last)
			q.add(budget.Result{Budget: tt.last.Budget}) // a lost one
		}
		if got := q.reason(tt.last); got != tt.want {
			t.Errorf("%s, %d windows: %q, want %q", tt.last.Budget, tt.windows, got, tt.want)
		}
	}
}

// What is hit now and then fires once, or a few times, and not for ever. What was
// hit once only is resolved by the first window that says so, as ever.
func TestAbsentDoesNotFlap(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds, on one goroutine")
	}
	for _, tt := range []struct {
		name  string
		every int // a hit in every so many windows of 400 samples
		most  int // firings in 120 windows
	}{{"now and then", 3, 3}, {"rarely", 9, 5}, {"once", 1000, 1}} {
		bubble(t, func(t *testing.T, w *world) {
			w.take = func(n int) hub.Window {
				if n%tt.every == 0 {
					return small(400, 1)
				}
				return small(400, 0)
			}
			g := w.start(t, Config{Budgets: budget.Must("x: fmt.Println absent"), Window: 10 * second, Every: 10 * second})
			states := initials(t, g, 120)
			fired := len(firings(w))
			if fired > tt.most || fired == 0 {
				t.Errorf("%s: fired %d times, want %d at the most: %s", tt.name, fired, tt.most, states)
			}
			if last := g.Status().Budgets[0].State; (last == "firing") != (tt.every < 100) || tt.every > 100 && states[:3] != "fri" {
				t.Errorf("%s: %s at the end, states %s", tt.name, last, states)
			}
			// And when it is gone, it is resolved after 16 times 299 samples at the most.
			w.mu.Lock()
			w.take = func(int) hub.Window { return small(400, 0) }
			w.mu.Unlock()
			states = initials(t, g, 13)
			if !strings.HasSuffix(states, "i") {
				t.Errorf("%s: when it is gone: %s", tt.name, states)
			}
			g.Stop()
		})
	}
}
