package guard

import (
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/hub"
)

// stands is the reason that the status shows of the only budget.
func stands(g *Guard) string { return g.Status().Budgets[0].Result.Reason }

// An alert that goes on although its last window did not fail says what it waits for.
func TestWhatAnAlertWaitsFor(t *testing.T) {
	t.Run("absent", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			w.take = func(n int) hub.Window {
				if n == 1 {
					return small(50, 1)
				}
				return small(50, 0)
			}
			g := w.start(t, Config{Budgets: budget.Must("x: fmt.Println absent"), Window: 10 * second, Every: 10 * second})
			for i, want := range []string{
				"none of 50 samples, 299 are needed to say that its share is below 1%", // it does not fire
				"fmt.Println shows in 1 of 50 samples (2.00%), and may not at all",
				"none of 50 samples in the last 1 window; 299 are needed to say that it is gone",
				"none of 100 samples in the last 2 windows; 299 are needed to say that it is gone",
			} {
				initials(t, g, 1)
				if got := stands(g); got != want {
					t.Errorf("window %d: %s\nwant %s", i, got, want)
				}
			}
			g.Stop()
		})
	})
	t.Run("idle", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			w.take = story("bg")
			w.cores = func(since time.Duration) float64 {
				if since < 10*second {
					return 1
				}
				return 0.0858
			}
			g := w.start(t, Config{Budgets: budget.Must("x: fmt.Println absent when process above 0.2 cores", "y: fmt.Println below 20% when process above 0.2 cores for 1 windows"), Window: 10 * second, Every: 10 * second})
			initials(t, g, 4)
			const why = "firing; nothing to judge for 3 windows: idle: judged only when process above 0.2 cores, it is at 0.0858 cores"
			if got := stands(g); got != why+"; 299 samples without a hit are needed to say that it is gone" {
				t.Error(got)
			}
			if got := g.Status().Budgets[1].Result.Reason; got != why {
				t.Error(got)
			}
			g.Stop()
		})
	})
	t.Run("idle, and no alert", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			g := w.start(t, Config{Budgets: budget.Must("x: fmt.Println absent when process above 2 cores"), Window: 10 * second, Every: 10 * second})
			initials(t, g, 3)
			if got := stands(g); !strings.HasPrefix(got, "idle: ") {
				t.Error(got)
			}
			g.Stop()
		})
	})
	t.Run("a figure", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			w.heap = 70 << 20
			g := w.start(t, Config{Budgets: budget.Must("x: heap below 64MiB"), Window: 10 * second, Every: 10 * second})
			initials(t, g, 1)
			if got := stands(g); strings.Contains(got, "takes") {
				t.Error(got)
			}
			w.mu.Lock()
			w.heap = 10 << 20
			w.mu.Unlock()
			initials(t, g, 1)
			if got := stands(g); got != "heap at 10.00MiB, the limit is 64MiB; still firing: it takes 3 windows in a row that pass, and there were 1" {
				t.Error(got)
			}
			initials(t, g, 2)
			if got := stands(g); got != "heap at 10.00MiB, the limit is 64MiB" || g.Status().Budgets[0].State != "resolved" {
				t.Error(got)
			}
			g.Stop()
		})
	})
}

// A figure that swings around its limit fires a few times, and not with every swing.
// Its clean twins keep to the limit, have said how long to wait, or are fixed.
func TestFiguresDoNotFlap(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds, on one goroutine")
	}
	for _, tt := range []struct {
		name, sentence string
		every          int // over the limit in one window of so many
		most           int // firings in 120 windows
		last           string
	}{
		{"a swing of two windows", "x: heap below 64MiB", 2, 1, "f"},
		{"a swing of six windows", "x: heap below 64MiB", 6, 2, "f"},
		{"below", "x: heap below 1GiB", 2, 0, "i"},
		{"the limit of one that learns", "x: heap steady below 64MiB", 2, 1, "f"},
		{"as asked", "x: heap below 64MiB for 1 windows", 2, 60, "r"},
		{"once", "x: heap below 64MiB", 1000, 1, "i"},
		{"once, and it learns", "x: heap steady below 64MiB", 1000, 1, "i"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				states := ""
				g := w.start(t, Config{Budgets: budget.Must(tt.sentence), Window: 10 * second, Every: 10 * second})
				for n := range 120 {
					w.mu.Lock()
					w.heap = 10 << 20
					if n%tt.every == 0 {
						w.heap = 70 << 20
					}
					w.mu.Unlock()
					states += initials(t, g, 1)
				}
				if fired := len(firings(w)); fired > tt.most || (fired == 0) != (tt.most == 0) || tt.most == 60 && fired < 40 {
					t.Errorf("fired %d times, want %d at the most: %s", fired, tt.most, states)
				}
				if !strings.HasSuffix(states, tt.last) && tt.most != 60 {
					t.Errorf("states %s, want %s at the end", states, tt.last)
				}
				g.Stop()
			})
		})
	}
}
