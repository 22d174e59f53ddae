package guard

import (
	"testing"

	"github.com/profguard/profguard/budget"
)

// BenchmarkWindow is what a window costs beside its profile: 13 KB in 65 objects at the defaults.
func BenchmarkWindow(b *testing.B) {
	w := newWorld()
	w.stretch = -1 // windows take no time
	g, err := newGuard(w.quiet(Config{Budgets: budget.Default()}), "a test", w.seams())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		g.loop.Window(b.Context(), false)
	}
}
