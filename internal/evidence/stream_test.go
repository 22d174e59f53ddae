package evidence

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestStream(t *testing.T) {
	s := NewStream(Limit{Most: 0.2}, 22.2)
	add := func(windows int, k, n float64) {
		for range windows {
			s.Add(k, 0, n, false)
		}
	}
	if s.Verdict() != Inconclusive {
		t.Errorf("starts %v", s.Verdict())
	}
	add(10, 0, 0)
	if s.Verdict() != Inconclusive || s.Strength() != 0 {
		t.Errorf("%v on windows without samples", s.Verdict())
	}
	add(40, 10, 100)
	if s.Verdict() != Pass {
		t.Errorf("%v at half the limit", s.Verdict())
	}
	// One freak window is a fail by itself, and no proof together with the others.
	add(1, 1e6, 1e6)
	if s.Verdict() != Fail || s.Strength() > 0.25 {
		t.Errorf("after one freak window: %v, strength %v", s.Verdict(), s.Strength())
	}
	add(200, 5, 100)
	twin := *s
	add(20, 81, 100)
	if s.Verdict() != Fail || s.Strength() < 1 || twin.Verdict() != Pass || twin.Strength() > 0.1 {
		t.Errorf("after 20 bad windows: %v, strength %v; its twin %v, %v", s.Verdict(), s.Strength(), twin.Verdict(), twin.Strength())
	}
	// When it is over by proof, nothing of it is left.
	for i := 0; s.Verdict() != Pass; i++ {
		if add(1, 5, 100); i == 100 {
			t.Fatal("100 windows at 5% do not prove that it is over")
		}
	}
	if s.Strength() != 0 {
		t.Errorf("what is over has strength %v", s.Strength())
	}
	// A limit that cannot be exceeded passes.
	if s = NewStream(Limit{Most: 1}, 22.2); s.Verdict() != Inconclusive {
		t.Errorf("a limit of all starts %v", s.Verdict())
	}
	if add(1, 5, 5); s.Verdict() != Pass {
		t.Errorf("a limit of all is %v", s.Verdict())
	}
	// A limit of nothing is never kept.
	if s = NewStream(Limit{Most: 0}, 22.2); s.Verdict() != Inconclusive {
		t.Errorf("a limit of nothing starts %v", s.Verdict())
	}
	if add(100, 0, 100); s.Verdict() != Inconclusive {
		t.Errorf("a limit of nothing is %v", s.Verdict())
	}
}

// TestStreamSpread: the overdispersion is that of the source, and a step or a daily
// swing is none.
func TestStreamSpread(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 1))
	steady := func(p float64) (float64, float64) { return binomial(rng, 100, p), 100 }
	bursts := burstSource(100, 10)
	for _, tt := range []struct {
		name     string
		window   func(i int) (k, n float64)
		min, max float64
	}{
		{"steady", func(int) (float64, float64) { return steady(0.1) }, 1, 1.3},
		{"a step", func(i int) (float64, float64) { return steady(0.1 + 0.3*float64(i/150)) }, 1, 1.5},
		{"a swing", func(i int) (float64, float64) { return steady(0.1 + 0.05*math.Sin(float64(i)/100)) }, 1, 1.3},
		{"bursts of ten samples", func(int) (float64, float64) { return bursts(rng, 0.1) }, 10, 30},
	} {
		s := NewStream(Limit{Most: 0.9}, 22.2)
		for i := range 300 {
			k, n := tt.window(i)
			s.Add(k, 0, n, false)
		}
		if phi := s.spread.phi(); phi < tt.min || phi > tt.max {
			t.Errorf("%s: phi %v, want %v to %v", tt.name, phi, tt.min, tt.max)
		}
	}
}

// TestStreamRetunes: evidence stays what it is, and what is proof changes.
func TestStreamRetunes(t *testing.T) {
	s := NewStream(Limit{Most: 0.2}, 20)
	for range 3 {
		s.Add(60, 0, 200, false)
	}
	before := s.Strength() * s.above.threshold
	if s.Retune(40); s.Strength()*s.above.threshold != before || before == 0 || s.Strength() != before/40 {
		t.Errorf("retuned: evidence %v, before %v, strength %v", s.Strength()*s.above.threshold, before, s.Strength())
	}
}

func TestLnA(t *testing.T) {
	if got := LnA(43200, 20, 50, 0.01); math.Abs(got-22.2) > 0.05 {
		t.Errorf("a month of minutes, 20 budgets, 50 tests and 1%% make %v, want 22.2", got)
	}
	if got := Tests(10, 0.2); math.Abs(got-50) > 1e-9 {
		t.Errorf("%v tests, want 50", got)
	}
	if got := Tests(0, 0); got != 1 {
		t.Errorf("%v tests, want 1", got)
	}
}

// Of a small limit, a window of few samples proves little: an excess takes more windows to be over.
func TestStreamEndsOfSmallLimits(t *testing.T) {
	for limit, want := range map[float64]int{0.2: 6, 0.05: 7, 0.02: 12} {
		s := NewStream(Limit{Most: limit}, 19.9)
		for range 60 {
			s.Add(20, 0, 50, false)
		}
		windows := 0
		for ; s.Verdict() == Fail; windows++ {
			s.Add(0, 0, 50, false)
		}
		if windows != want {
			t.Errorf("limit %v: over after %d windows without a hit, want %d", limit, windows, want)
		}
	}
}
