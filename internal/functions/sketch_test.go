package functions

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// oracle is a sketch beside exact counts.
type oracle struct {
	*sketch
	exact   map[string]int64
	charged int64
	first   map[string]int64 // the count of a series when it appeared
}

func newOracle(most, kept int) *oracle {
	o := &oracle{newSketch(most), map[string]int64{}, 0, map[string]int64{}}
	o.kept = kept
	return o
}

func (o *oracle) window(t *testing.T, samples int64, hits map[string]int64) {
	t.Helper()
	for name, n := range hits {
		o.exact[name] += n
		o.charged += n
	}
	before := map[string]int64{}
	for name, tally := range o.by {
		if tally.series {
			before[name] = tally.hits
		}
	}
	o.add(samples, hits)
	for name, was := range before {
		if tally := o.by[name]; tally == nil || !tally.series || tally.hits != was+hits[name] {
			t.Fatalf("the series of %s went from %d by %d to %+v", name, was, hits[name], tally)
		}
	}
	series := 0
	for name, tally := range o.by {
		if exact := o.exact[name]; tally.hits > exact || tally.hits+tally.lacks < exact {
			t.Fatalf("%s: %d hits and at most %d more, want %d to be in between", name, tally.hits, tally.lacks, exact)
		}
		if tally.series {
			series++
		}
	}
	if o.floor*int64(o.kept) > o.charged {
		t.Fatalf("floor %d of %d that were charged, want at most the %dth part", o.floor, o.charged, o.kept)
	}
	if series > o.most || series != o.series || len(o.by) != series+o.loose || o.loose > 2*o.kept {
		t.Fatalf("%d series, %d others, of at most %d and %d", series, o.loose, o.most, 2*o.kept)
	}
}

// A program's functions fit into the sketch, and are counted exactly. Those that are notable have a
// series that counts from the first window on.
func TestExact(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates pure code: nothing for the race detector")
	}
	random := rand.New(rand.NewPCG(45, 1))
	o := newOracle(60, kept)
	share := func(f int) float64 { return 0.6 / float64(1+f) } // of the 60th 1%, of the 120th notable
	for range 3000 {
		hits := map[string]int64{}
		for f := range 1500 {
			for range 10 {
				if random.Float64() < share(f) {
					hits[fmt.Sprint("main.f", f)]++
				}
			}
		}
		o.window(t, 10, hits)
	}
	if o.floor != 0 || len(o.by) < 1400 {
		t.Errorf("floor %d with %d functions, want no error", o.floor, len(o.by))
	}
	missing := 0
	for f := range 40 {
		name := fmt.Sprint("main.f", f)
		switch tally := o.by[name]; {
		case !tally.series:
			missing++
		case tally.hits != o.exact[name]:
			t.Errorf("%s: %d, want all %d", name, tally.hits, o.exact[name])
		}
	}
	if missing > 4 || o.series < 50 { // of twice as many notable functions as series
		t.Errorf("%d of the 40 functions above 1.5%% have no series, %d have one", missing, o.series)
	}
	if rest := o.rest(); rest < 0.005 || rest > 0.04 {
		t.Errorf("the rest is below %.4f", rest)
	}
}

// Of a few slots, chance takes no more than it must: a function that becomes large after weeks, or
// after a thousand others that had a hit or two, still finds one at once.
func TestLate(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates pure code: nothing for the race detector")
	}
	random := rand.New(rand.NewPCG(45, 2))
	o := newOracle(30, kept)
	for range 20_000 {
		o.window(t, 10, map[string]int64{"main.serve": 6, fmt.Sprint("main.f", random.IntN(1000)): 1})
	}
	if o.series > 25 {
		t.Errorf("%d series of 30 are taken by functions with a share of 0.01%%", o.series-1)
	}
	for window := range 20 {
		if o.window(t, 10, map[string]int64{"main.late": 1}); o.by["main.late"].series {
			if window < 3 {
				t.Errorf("it has a series after %d hits", window+1)
			}
			return
		}
	}
	t.Error("a function with 10% has no series after 20 windows")
}

// TestFault_112_NamesDiffer: each window has a thousand names that no other has, as of a program that
// makes code, or one whose every build has other names. Memory is bounded, and so is the error; the
// functions that stay are counted.
func TestFault_112_NamesDiffer(t *testing.T) {
	random := rand.New(rand.NewPCG(45, 3))
	o := newOracle(20, 64)
	for window := range 300 {
		hits := map[string]int64{"main.serve": 500, "main.large": 30, "main.small": 3}
		for f := range 1000 {
			hits[fmt.Sprintf("main.build%d_%d", window, f)] = 1 + random.Int64N(2)
		}
		o.window(t, 1000, hits)
	}
	for _, name := range []string{"main.serve", "main.large"} {
		if tally := o.by[name]; tally == nil || !tally.series || tally.hits != o.exact[name] {
			t.Errorf("%s: %+v, want all %d", name, tally, o.exact[name])
		}
	}
	if o.floor == 0 {
		t.Error("nothing was forgotten")
	}
}

func TestRest(t *testing.T) {
	s := newSketch(1)
	if s.add(0, nil); s.rest() != 1 {
		t.Errorf("rest %v before the first sample, want 1: nothing is known", s.rest())
	}
	s.add(100, map[string]int64{"main.a": 90, "main.b": 20})
	if s.rest() != 0.2 || !s.by["main.a"].series || s.by["main.b"].series {
		t.Errorf("rest %v, want the 20%% of main.b", s.rest())
	}
}
