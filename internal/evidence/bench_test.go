package evidence

import "testing"

// sink keeps the compiler from dropping what is measured.
var sink float64

func BenchmarkStreamAdd(b *testing.B) {
	s := NewStream(Limit{Most: 0.2}, 22.2)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.Add(float64(8+i%5), 0, 50, false)
	}
}

func BenchmarkSequentialAdd(b *testing.B) {
	s := NewSequential(Limit{Most: 0.2})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.Add(float64(2+i%2), 10)
		if s.Verdict() != Inconclusive {
			s = NewSequential(Limit{Most: 0.2})
		}
	}
}

func BenchmarkEvidence(b *testing.B) {
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		sink = evidence(float64(i%50), 200, 0.2, up, 1.3)
	}
}

func BenchmarkFixed(b *testing.B) {
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		sink = Fixed(float64(i%300), 1000, 0.2).Low
	}
}

func BenchmarkGrowth(b *testing.B) {
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		sink = growth(float64(i%300), 1000, 50, 1000, 0.05, 1, 1).Low
	}
}

// TestNoAllocations: an update happens for every budget and function of every
// window, in somebody else's process.
func TestNoAllocations(t *testing.T) {
	a, s := NewStream(Limit{Most: 0.2}, 22.2), NewSequential(Limit{Most: 0.2})
	i := 0
	for name, f := range map[string]func(){
		"Stream.Add":     func() { a.Add(float64(8+i%5), 0, 50, false) },
		"Sequential.Add": func() { s.Add(2, 10) },
		"Fixed":          func() { sink = Fixed(20, 100, 0.2).Low },
		"Rate":           func() { sink = Rate(20, 100, 0.2).Low },
		"Absent":         func() { sink = Absent(0, 100).High },
		"Growth":         func() { sink = growth(20, 100, 10, 100, 0.05, 1, 1).Low },
		"Ratio":          func() { sink = ratio(20, 100, 10, 100, 0.1, 1).Low },
	} {
		if n := testing.AllocsPerRun(100, func() { i++; f() }); n > 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}
