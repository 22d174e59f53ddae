package release

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/tree"
)

// fleetSide is a side of so many processes, of which each has done 1,000 units of work. hits are of 1,000 samples
// before, and overlap: functions call each other.
func fleetSide(r *rand.Rand, processes int, spread float64, more float64, hits map[string]float64) *Side {
	s := &Side{}
	samples, sums := 0.0, map[string]float64{}
	for range processes {
		n := math.Round((1000 + more) * math.Exp(spread*r.NormFloat64()))
		p := Piece{Samples: n, CPU: n / 100, Elapsed: 600, Work: map[string]float64{"request": 1000}, Hits: map[string]float64{}}
		for _, name := range slices.Sorted(maps.Keys(hits)) { // in the same order for the same seed
			h := hits[name]
			p.Hits[name] = math.Round(h*math.Exp(spread*r.NormFloat64()) + math.Sqrt(h)*r.NormFloat64())
			sums[name] += p.Hits[name]
		}
		s.Pieces.Add(p)
		samples += n
	}
	s.Tree = *tree.Flat(samples, sums)
	return s
}

// TestFlatSides: where callers are not known, each function that both builds have is judged by itself, and one that is
// new may be an old one.
func TestFlatSides(t *testing.T) {
	before := map[string]float64{"main.serve": 600, "main.price": 300, "main.tax": 100, "main.log": 50}
	for _, tt := range []struct {
		name  string
		more  float64
		now   map[string]float64
		named string // functions that surely cost more, and whether that may have moved
	}{
		{"equal", 0, before, "map[]"},
		{"a function and its callers", 100, map[string]float64{"main.serve": 700, "main.price": 400, "main.tax": 200, "main.log": 50}, "map[main.price:false main.serve:false main.tax:false]"},
		{"cheaper", -100, map[string]float64{"main.serve": 500, "main.price": 200, "main.tax": 10, "main.log": 50}, "map[]"},
		{"renamed", 0, map[string]float64{"main.serve": 600, "main.price": 300, "other.duty": 100, "main.log": 50}, "map[]"},
		{"split", 0, map[string]float64{"main.serve": 600, "main.price": 300, "other.first": 50, "other.second": 50, "main.log": 50}, "map[other.first:true other.second:true]"},
		{"extracted", 0, map[string]float64{"main.serve": 600, "main.price": 300, "main.tax": 100, "main.log": 50, "other.part": 150}, "map[]"},
		{"new", 200, map[string]float64{"main.serve": 600, "main.price": 300, "main.tax": 100, "main.log": 50, "other.regexp": 200}, "map[other.regexp:false]"},
	} {
		r := rand.New(rand.NewPCG(53, 54))
		c, err := Compare(t.Context(), fleetSide(r, 40, 0.02, 0, before), fleetSide(r, 40, 0.02, tt.more, tt.now), Options{Per: "request", Limit: 0.05, Fleet: true})
		if err != nil || c.Why != "" {
			t.Fatal(err, c.Why)
		}
		got := map[string]bool{}
		for _, f := range c.Functions {
			if f.Named || f.Above {
				got[f.Name] = f.MayMove
			}
		}
		if fmt.Sprint(got) != tt.named {
			t.Errorf("%s: %v surely cost more, want %s: %s", tt.name, got, tt.named, c.Balance())
		}
	}
}

// TestProcessesDiffer: as many samples say less where processes differ, and where there are few of them; one of each
// build says nothing.
func TestProcessesDiffer(t *testing.T) {
	before := map[string]float64{"main.serve": 600, "main.tax": 100}
	now := map[string]float64{"main.serve": 630, "main.tax": 140}
	low := func(processes int, spread float64) float64 {
		r := rand.New(rand.NewPCG(53, 55))
		c, err := Compare(t.Context(), fleetSide(r, processes, spread, 0, before), fleetSide(r, processes, spread, 40, now), Options{Per: "request", Limit: 0.05, Fleet: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range c.Functions {
			if f.Name == "main.tax" {
				return f.Points.Low
			}
		}
		return math.NaN()
	}
	if alike, apart := low(40, 0.02), low(40, 0.3); !(alike > 0.02) || !(apart < alike-0.01) {
		t.Errorf("the least growth is %.3f, and %.3f of processes that differ", alike, apart)
	}
	if many, few, one := low(40, 0.05), low(5, 0.05), low(1, 0.05); !(few < many) || one > 0 {
		t.Errorf("the least growth is %.3f of 40 processes, %.3f of 5, and %.3f of one", many, few, one)
	}
	if f := evidence.Estimated(fleetAlpha, 0.9); f < 1e6 || evidence.Estimated(fleetAlpha, 1e9) > 1.001 || evidence.Estimated(fleetAlpha, 10) < 1.5 {
		t.Errorf("the factor of a spread that is not known is %v", f)
	}
}
