package guard

import (
	"strings"
	"testing"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/profiler"
)

// Figures need no profile: they are judged although the profiler is taken.
func TestFiguresFlow(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		g := w.start(t, Config{
			Budgets: budget.Must("crowd: goroutines below 5000", "fat: heap below 64MiB", "big: rss below 50MiB", "cpu: process below 1.5 cores"),
			Window:  10 * second, Every: 10 * second,
		})
		initials(t, g, 2)
		w.mu.Lock()
		w.goroutines, w.heap = 6000, 70<<20
		w.take = func(int) profiler.Window { return lost(profiler.Starved) }
		w.mu.Unlock()
		initials(t, g, 3)
		states := func() string {
			var list []string
			for _, b := range g.Status().Budgets {
				list = append(list, b.State.String())
			}
			return strings.Join(list, " ")
		}
		if got := states(); got != "firing firing ok ok" {
			t.Errorf("with too much of two: %s", got)
		}
		if r := g.Status().Budgets[0].Result; r.Value != 6000 || r.Limit != 5000 || r.Unit != "count" {
			t.Errorf("goroutines: %v, limit %v %s", r.Value, r.Limit, r.Unit)
		}
		w.mu.Lock()
		w.goroutines, w.heap = 10, 10<<20
		w.mu.Unlock()
		initials(t, g, 2)
		if got := states(); got != "firing firing ok ok" {
			t.Errorf("two windows afterwards: %s", got)
		}
		initials(t, g, 1)
		if got := states(); got != "ok ok ok ok" {
			t.Errorf("three windows afterwards: %s", got)
		}
		g.Stop()
	})
}
