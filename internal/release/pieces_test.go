package release

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/profguard/profguard/internal/evidence"
)

// near reports whether two numbers differ by rounding only.
func near(x, y float64) bool { return x == y || math.Abs(x-y) <= 1e-9*math.Abs(x+y) }

// drawnPieces are pieces whose costs depend on the work, and on what the last piece had left.
func drawnPieces(n int) (list []Piece, batches []evidence.Batch) {
	r := rand.New(rand.NewPCG(41, 42))
	left := 0.0
	for range n {
		left = 0.6*left + r.NormFloat64()
		work := math.Round(100 * math.Exp(0.3*r.NormFloat64()))
		x := Piece{Samples: work, CPU: 0.01 * work * (1 + 0.05*left), Elapsed: 10, Work: map[string]float64{"request": work}}
		list, batches = append(list, x), append(batches, evidence.Batch{Cost: x.CPU, Work: work})
	}
	return list, batches
}

// TestCostOfPieces: sums over pieces say what evidence says of a list of all of them.
func TestCostOfPieces(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 50} {
		var p Pieces
		list, batches := drawnPieces(n)
		for _, x := range list {
			p.Add(x)
		}
		got, want := p.costOf("request"), evidence.CostPerWork(batches)
		if !near(got.Value, want.Value) || !near(got.Variance, want.Variance) || got.Freedom != want.Freedom {
			t.Errorf("%d pieces: %+v, want %+v", n, got, want)
		}
		if job := p.costOf("job"); job.Value != 0 || !math.IsInf(job.Variance, 1) {
			t.Errorf("of a unit that is not known: %+v", job)
		}
	}
	var alike Pieces // whose variance is nothing but rounding errors
	for range 10 {
		alike.Add(Piece{CPU: 0.1, Elapsed: 10, Work: map[string]float64{"request": 3}})
	}
	if x := alike.costOf("request"); !near(x.Value, 0.1/3) || x.Variance > 1e-12 {
		t.Errorf("equal pieces: %+v", x)
	}
}

// TestJoin: two halves are the whole, but for the pieces that are neighbours at the seam.
func TestJoin(t *testing.T) {
	var whole, half, other Pieces
	list, _ := drawnPieces(40)
	for i, x := range list {
		x.Hits = map[string]float64{"main.search": x.Samples / 4, fmt.Sprint("main.f", i%3): 3}
		x.Machine = Machine{Waited: 1, Cores: 20}
		whole.Add(x)
		if i < 25 {
			half.Add(x)
		} else {
			other.Add(x)
		}
	}
	half.Join(&other)
	half.Join(&Pieces{})
	var sum Pieces // an earlier process's, that begins with nothing
	sum.Join(&half)
	if sum.Count != whole.Count || !near(sum.Samples, whole.Samples) || !near(sum.CPU, whole.CPU) || !near(sum.Elapsed, whole.Elapsed) || !near(sum.Squares, whole.Squares) ||
		!near(sum.Work["request"], whole.Work["request"]) || sum.Machine != whole.Machine || !near(sum.CPUThere, whole.CPUThere) {
		t.Errorf("%+v, want %+v", sum, whole)
	}
	for _, unit := range []string{seconds, "request"} {
		got, want := *sum.Costs[unit], *whole.Costs[unit]
		a, b := list[24], list[25]
		w, v := a.Work[unit], b.Work[unit]
		if unit == seconds {
			w, v = a.Elapsed, b.Elapsed
		}
		for _, x := range [][2]float64{{got.N, want.N}, {got.C, want.C}, {got.W, want.W}, {got.CC, want.CC}, {got.CW, want.CW}, {got.WW, want.WW},
			{got.NextCC + a.CPU*b.CPU, want.NextCC}, {got.NextCW + a.CPU*v + w*b.CPU, want.NextCW}, {got.NextWW + w*v, want.NextWW}} {
			if !near(x[0], x[1]) {
				t.Errorf("%q: %+v, want %+v", unit, got, want)
			}
		}
	}
	if len(sum.Hits) != len(whole.Hits) {
		t.Errorf("%d functions, want %d", len(sum.Hits), len(whole.Hits))
	}
	for name, want := range whole.Hits {
		if got := sum.Hits[name]; got == nil || !near(got.H, want.H) || !near(got.HH, want.HH) || !near(got.HN, want.HN) || !near(got.HW["request"], want.HW["request"]) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// TestPiecesAreBounded: however many functions there are, the largest are kept, and the sums of the process.
func TestPiecesAreBounded(t *testing.T) {
	var p Pieces
	for i := range 200 {
		x := Piece{Samples: 1000, CPU: 10, Elapsed: 10, Hits: map[string]float64{"main.large": 500}}
		for j := range 100 {
			x.Hits[fmt.Sprint("main.f", 100*i+j)] = 1
		}
		if p.Add(x); len(p.Hits) > mostKnown {
			t.Fatalf("%d functions are kept, want at most %d", len(p.Hits), mostKnown)
		}
	}
	if p.Samples != 200000 || p.CPU != 2000 || p.Hits["main.large"] == nil || p.Hits["main.large"].H != 100000 {
		t.Errorf("samples %v, CPU %v, main.large %+v", p.Samples, p.CPU, p.Hits["main.large"])
	}
}

// TestOverdispersion: samples that come by themselves have an overdispersion near 1, and those that come
// five at a time near 5. Few pieces prove little.
func TestOverdispersion(t *testing.T) {
	phi := func(pieces int, burst float64) float64 {
		r := rand.New(rand.NewPCG(43, 44))
		var p Pieces
		for range pieces {
			hits, others := burst*poisson(r, 20/burst), poisson(r, 180)
			p.Add(Piece{Samples: hits + others, CPU: 2, Elapsed: 10, Hits: map[string]float64{"main.search": hits}})
		}
		return p.phi("main.search", unmeasured)
	}
	for _, test := range []struct {
		pieces           int
		burst, low, high float64
	}{
		{500, 1, 1, 1.2},
		{500, 5, 4, 6},
		{2, 1, 1.4, 2},
		{1, 1, unmeasured, unmeasured},
	} {
		if x := phi(test.pieces, test.burst); x < test.low || x > test.high {
			t.Errorf("%d pieces, bursts of %g: %.2f, want %g to %g", test.pieces, test.burst, x, test.low, test.high)
		}
	}
	if x := new(Pieces).phi("main.search", unmeasured); x != unmeasured {
		t.Errorf("of no pieces: %v", x)
	}
}

// TestFixed: a timer may cost the same all the time, and what costs more with more work does not. Where the work is
// always the same, nobody knows.
func TestFixed(t *testing.T) {
	pieces := func(swing float64) *Pieces {
		r := rand.New(rand.NewPCG(45, 46))
		p := &Pieces{}
		for i := range 60 {
			work := 1000 * (1 + swing*math.Sin(float64(i)))
			hits := map[string]float64{"main.(*Timer).tick": poisson(r, 100), "main.search": poisson(r, work/5), "main.half": poisson(r, 100+work/10)}
			p.Add(Piece{Samples: 150 + work/2, CPU: work / 100, Elapsed: 10, Work: map[string]float64{"request": work}, Hits: hits})
		}
		return p
	}
	for _, test := range []struct {
		name             string
		swing, low, high float64
	}{
		{"main.(*Timer).tick", 0.6, 0.9, 1},
		{"main.search", 0.6, 0, 0.2},
		{"main.half", 0.6, 0.5, 0.8},
		{"main.search", 0, 1, 1},
		{"main.unknown", 0.6, 1, 1},
	} {
		if x := pieces(test.swing).fixed(test.name, "request"); x < test.low || x > test.high {
			t.Errorf("%s, work that differs by %g: %.2f, want %g to %g", test.name, test.swing, x, test.low, test.high)
		}
	}
}
