package evidence

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A machine returns what slows the next slice, as a logarithm.
type machine func(*rand.Rand) func() float64

// recorded replays slices of a machine with six busy loops beside it, from a random place on.
func recorded(t *testing.T, name string) machine {
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var factors []float64
	for f := range strings.FieldsSeq(string(text)) {
		v, err := strconv.ParseFloat(f, 64)
		if err != nil {
			t.Fatal(err)
		}
		factors = append(factors, math.Log(v))
	}
	return func(r *rand.Rand) func() float64 {
		at, left := 0, 0
		return func() float64 {
			if left == 0 {
				at, left = r.IntN(len(factors)), 10+r.IntN(60)
			}
			at, left = (at+1)%len(factors), left-1
			return factors[at]
		}
	}
}

// machines are the kinds of noise: what is independent, correlated, heavy in its tails, drifts, and steps.
func machines(t *testing.T) map[string]machine {
	return map[string]machine{
		"recorded, allocates": recorded(t, "slices_decode.txt"),
		"recorded, computes":  recorded(t, "slices_fixed.txt"),
		"idle":                func(r *rand.Rand) func() float64 { return func() float64 { return 0.01 * r.NormFloat64() } },
		"busy":                func(r *rand.Rand) func() float64 { return func() float64 { return 0.08 * r.NormFloat64() } },
		"heavy tails": func(r *rand.Rand) func() float64 { // Student's t with 1.5 degrees of freedom
			return func() float64 {
				chi := 2 * gamma(r, 0.75)
				return 0.03 * r.NormFloat64() / math.Sqrt(chi/1.5)
			}
		},
		"bursts": func(r *rand.Rand) func() float64 { // of several slices, that double the cost
			left := 0
			return func() float64 {
				if left--; left < 0 && r.IntN(12) == 0 {
					left = 1 + r.IntN(6)
				}
				if left > 0 {
					return 0.7 + 0.2*r.NormFloat64()
				}
				return 0.02 * r.NormFloat64()
			}
		},
		"drift": func(r *rand.Rand) func() float64 { // 1% a slice, up and down
			at, phase, step := 0.0, 0, 0.01
			return func() float64 {
				if phase++; phase%40 == 0 {
					step = -step
				}
				at += step
				return at + 0.02*r.NormFloat64()
			}
		},
		"steps": func(r *rand.Rand) func() float64 { // to another speed of the processor
			at := 0.0
			return func() float64 {
				if r.IntN(10) == 0 {
					at = 0.3 * r.Float64()
				}
				return at + 0.01*r.NormFloat64()
			}
		},
	}
}

// gamma draws from the gamma distribution with shape below 1, scale 1.
func gamma(r *rand.Rand, shape float64) float64 {
	d := shape + 1 - 1.0/3
	for {
		x := r.NormFloat64()
		v := math.Pow(1+x/math.Sqrt(9*d), 3)
		if v > 0 && math.Log(r.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v * math.Pow(r.Float64(), 1/shape)
		}
	}
}

// compared is one comparison of a benchmark.
func compared(r *rand.Rand, slow func() float64, growth, limit, alpha float64, most int) (Verdict, int) {
	p := NewPaired(limit, alpha)
	for n := range most {
		first, second := slow(), slow()
		if r.IntN(2) == 1 {
			first, second = second, first
		}
		if v := p.Add(math.Exp(first), math.Exp(second)*(1+growth)); v != Inconclusive {
			return v, n + 1
		}
	}
	return p.Close(), most
}

// falseFailures is what compare allows in one comparison, of all benchmarks together.
const falseFailures = 1e-3

// TestPairedSame: the same code fails at most once in a thousand comparisons, whatever the noise, and
// code that has grown by half the limit, as by another layout, does not fail more often.
// With -long it is the table of docs/design.md.
func TestPairedSame(t *testing.T) {
	runs, most := 500, 300
	if *long {
		runs = 100_000 / len(machines(t))
	}
	failed, all := 0, 0
	for name, m := range machines(t) {
		t.Run(name, func(t *testing.T) {
			for _, growth := range []float64{0, 0.025, 0.05} {
				r := rand.New(rand.NewPCG(1, uint64(1000*growth)))
				var count [3]int
				var pairs []int
				runs := runs
				if growth > 0 { // which takes ten times the pairs
					runs /= 5
				}
				for range runs {
					v, n := compared(r, m(r), growth, 0.05, falseFailures, most)
					count[v]++
					pairs = append(pairs, n)
				}
				slices.Sort(pairs)
				t.Logf("%.1f%% more: of %d comparisons %d fail, %d are undecided; half take %d pairs, 95%% %d",
					100*growth, runs, count[Fail], count[Inconclusive], pairs[runs/2], pairs[runs*95/100])
				allowed := 0.0
				switch growth {
				case 0:
					failed, all = failed+count[Fail], all+runs
				case 0.025:
					allowed = falseFailures
				default:
					allowed = PairedAlpha
				}
				if n := float64(count[Fail]); growth > 0 && n > allowed*float64(runs)+4*math.Sqrt(allowed*float64(runs)) {
					t.Errorf("%.1f%% more, with a limit of 5%%: %v of %d fail", 100*growth, n, runs)
				}
			}
		})
	}
	if t.Logf("equal code fails in %d of %d comparisons", failed, all); float64(failed) > falseFailures*float64(all) {
		t.Errorf("equal code fails in %d of %d comparisons", failed, all)
	}
}

// TestPairedPower: what has grown is found. A busy machine makes 158 pairs a minute.
func TestPairedPower(t *testing.T) {
	runs := 200
	if *long {
		runs = 5000
	}
	for _, c := range []struct {
		machine             string
		growth, limit       float64
		most, found, median int // of found, the least in a hundred within most pairs
	}{
		{"idle", 0.10, 0.05, 40, 100, 16},
		{"idle", 0.08, 0.05, 60, 100, 20},
		{"busy", 0.10, 0.05, 400, 98, 158},
		{"busy", 0.08, 0.05, 316, 80, 316},
		{"busy", 0.05, 0.02, 316, 80, 316},
		{"recorded, computes", 0.10, 0.05, 400, 98, 158},
		{"recorded, computes", 0.08, 0.05, 316, 80, 316},
		{"recorded, computes", 0.05, 0.02, 316, 80, 316},
		{"recorded, allocates", 0.10, 0.05, 400, 95, 158},
		{"heavy tails", 0.10, 0.05, 400, 98, 158},
		{"bursts", 0.10, 0.05, 400, 98, 158},
	} {
		r := rand.New(rand.NewPCG(2, 3))
		m := machines(t)[c.machine]
		found := 0
		var pairs []int
		for range runs {
			v, n := compared(r, m(r), c.growth, c.limit, falseFailures, c.most)
			if pairs = append(pairs, n); v == Fail {
				found++
			}
		}
		slices.Sort(pairs)
		t.Logf("%s: %.0f%% more than a limit of %.0f%% allows is found in %.1f%% of comparisons of %d pairs at most; half take %d",
			c.machine, 100*c.growth, 100*c.limit, 100*float64(found)/float64(runs), c.most, pairs[runs/2])
		if 100*found < c.found*runs || pairs[runs/2] > c.median {
			t.Errorf("%s, %.0f%% more: expected %d of 100 in a median of %d pairs, found %d of %d and %d", c.machine, 100*c.growth, c.found, c.median, found, runs, pairs[runs/2])
		}
	}
}

// TestPairedBounds: bounds that are looked at after each pair err as seldom as they say.
func TestPairedBounds(t *testing.T) {
	const growth, runs = 0.03, 60
	m := machines(t)["recorded, computes"]
	r := rand.New(rand.NewPCG(4, 5))
	wrong, low, high, value := 0, 0.0, 0.0, 0.0
	for range runs {
		p, slow, err := NewPaired(0.05, falseFailures), m(r), false
		for n := range 150 {
			first, second := slow(), slow()
			if r.IntN(2) == 1 {
				first, second = second, first
			}
			p.Add(math.Exp(first), math.Exp(second)*(1+growth))
			if n%30 == 29 {
				low, high = p.Bounds(PairedAlpha)
				err = err || low > growth || high < growth
			}
		}
		value += p.Value() / runs
		if err {
			wrong++
		}
	}
	if wrong > 3 || low < -0.1 || high > 0.15 || math.Abs(value-growth) > 0.01 {
		t.Errorf("%d of %d are wrong, the last are %.3f to %.3f, the mean is %.4f", wrong, runs, low, high, value)
	}
}

// TestPairedBoundsStay: what a verdict has proven stays in the bounds, whatever follows.
func TestPairedBoundsStay(t *testing.T) {
	for _, c := range []struct {
		name          string
		ratio, then   float64
		want          Verdict
		agrees, later func(low, high float64) bool // the bounds, and those of the last look
	}{
		{"a pass", 1, 1.5, Pass, func(_, high float64) bool { return high <= 0.05 }, func(_, high float64) bool { return high > 0.075 }},
		{"a fail", 1.2, 0.9, Fail, func(low, _ float64) bool { return low >= 0.05 }, func(low, _ float64) bool { return low < 0.05 }},
	} {
		p := NewPaired(0.05, falseFailures)
		n := 0
		for ; p.Verdict() == Inconclusive && n < 100; n++ {
			p.Add(1, c.ratio*(1+0.01*float64(n%3-1)))
		}
		for range n / 2 {
			p.Add(1, c.then)
		}
		if low, high := p.Bounds(PairedAlpha); p.Verdict() != c.want || !c.agrees(low, high) {
			t.Errorf("%s: found %v, %v to %v", c.name, p.Verdict(), low, high)
		}
		if low, high := p.bounds(PairedAlpha, false); !c.later(low, high) {
			t.Errorf("%s: the last look alone: found %v to %v", c.name, low, high)
		}
	}
	// Where looks contradict each other, the last one counts.
	p := NewPaired(0.05, falseFailures)
	for i := range 200 {
		p.Add(1, [...]float64{1, 1.5}[min(i/50, 1)]*(1+0.001*float64(i%3-1)))
	}
	if low, high := p.Bounds(PairedAlpha); low > high {
		t.Errorf("found %v to %v", low, high)
	}
}

func TestPairedEdges(t *testing.T) {
	p := NewPaired(0.05, falseFailures)
	if low, high := p.Bounds(0.01); low != -1 || !math.IsInf(high, 1) || p.Value() != 0 || p.Close() != Inconclusive {
		t.Errorf("without pairs: %v, %v", low, high)
	}
	for _, pair := range [][2]float64{{0, 0}, {1, 0}, {0, 1}, {math.Inf(1), 1}, {math.NaN(), 1}, {math.MaxFloat64, math.SmallestNonzeroFloat64}} {
		p.Add(pair[0], pair[1])
	}
	low, high := p.Bounds(0.01)
	if v := p.Value(); p.Verdict() != Inconclusive || math.IsNaN(v) || math.IsNaN(low) || math.IsNaN(high) || p.Pairs() != 6 {
		t.Errorf("found %v, %v (%v to %v)", p.Verdict(), v, low, high)
	}
	// One slice that took a hundred times as long proves no more than one that took a bit longer.
	p, q := NewPaired(0.05, falseFailures), NewPaired(0.05, falseFailures)
	for i := range 8 {
		extra := 1.0
		if i == 7 {
			extra = 100
		}
		p.Add(1, 1.2+0.001*float64(i%3))
		q.Add(1, (1.2+0.001*float64(i%3))*extra)
	}
	if p.above != q.above {
		t.Errorf("found %v and %v", p.above, q.above)
	}
}
