package page

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// BenchmarkFlame draws a profile with 20,000 different stacks of 40 frames. Its
// ns/step is where the bound on steps comes from.
func BenchmarkFlame(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	text.WriteString("cpu 10s\n")
	for range 20_000 {
		text.WriteString("main.main")
		for level := range 39 {
			// Few functions at the root, many at the leaf.
			fmt.Fprintf(&text, ";p%d.f%d", level, r.IntN(1+level/4))
		}
		text.WriteString(" 1\n")
	}
	t := table(b, text.String())
	b.ResetTimer()
	b.ReportAllocs()
	for b.Loop() {
		f := NewFlame(t, "", nil)
		f.SVG(true)
	}
	b.StopTimer()
	f := NewFlame(t, "", nil)
	b.ReportMetric(float64(f.steps), "steps")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(f.steps), "ns/step")
}
