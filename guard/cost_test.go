package guard

import (
	"testing"

	"github.com/profguard/profguard/budget"
)

// BenchmarkWindow is what a window costs beside its profile: 13 KB in 65 objects at the defaults.
func BenchmarkWindow(b *testing.B) {
	w := newWorld()
	w.stretch = -1 // windows take no time
	g := w.still(b, Config{Budgets: budget.Default()})
	b.ReportAllocs()
	for b.Loop() {
		step(b, g)
	}
}
