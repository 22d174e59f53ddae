package evidence

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
)

var long = flag.Bool("long", false, "run the simulations with many times the runs, and the tables behind the constants")

// often multiplies the runs of a simulation under -long.
func often(runs int) int {
	if *long {
		return runs * 20
	}
	return runs
}

type namedSource struct {
	name string
	make func() source
}

func sequentialSources() []namedSource {
	return []namedSource{
		{"steady", steadySource},
		{"locked", func() source { return lockedSource(0.6) }},
		{"fully locked", func() source { return lockedSource(1) }},
		{"20 ms bursts", func() source { return burstSource(10, 2) }},
		{"100 ms bursts", func() source { return burstSource(10, 10) }},
	}
}

// checks is what became of many checks at one share.
type checks struct {
	runs, fail, pass, near int
	blocks                 []float64 // until decided
}

func (d *checks) String() string {
	return fmt.Sprintf("fail %5d  pass %5d  open %5d (passed near %5d)  %5.1f s / %5.1f s",
		d.fail, d.pass, d.runs-d.fail-d.pass, d.near, d.seconds(0.5), d.seconds(0.95))
}

// seconds is a quantile of the time to decide, with blocks of 100 ms.
func (d *checks) seconds(q float64) float64 { return quantile(d.blocks, q) / 10 }

// simulate runs checks of at most so many blocks, after start.
func simulate(rng *rand.Rand, start Sequential, next func() source, p float64, runs, blocks int) checks {
	d := checks{runs: runs}
	for range runs {
		s, from := start, next()
		n := 0
		for ; n < blocks && s.Verdict() == Inconclusive; n++ {
			s.Add(from(rng, p))
		}
		switch s.Verdict() {
		case Fail:
			d.fail++
		case Pass:
			d.pass++
		case Inconclusive:
			if s.Close().Verdict == Pass {
				d.near++
			}
			continue
		}
		d.blocks = append(d.blocks, float64(n))
	}
	return d
}

func TestSequentialSimulation(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates pure code: nothing for the race detector")
	}
	rng := rand.New(rand.NewPCG(21, 1))
	const limit, blocks = 0.2, 300 // 30 s
	runs := often(200)
	t.Logf("%d checks each at a limit of %v; at most %d blocks of 100 ms; median and 95%% of the time to decide", runs, limit, blocks)
	for _, src := range sequentialSources() {
		for _, x := range []float64{0.5, 0.8, 1, 1.5, 2, 3} {
			d := simulate(rng, NewSequential(Limit{Most: limit}), src.make, limit*x, runs, blocks)
			t.Logf("%-14s %3.1fx  %v", src.name, x, &d)
			// A burst of 100 ms on the average lasts for the first ten blocks once in some
			// thousand checks.
			if x <= 1 && d.fail > runs/4000 {
				t.Errorf("%s at %vx: %d of %d innocents failed", src.name, x, d.fail, runs)
			}
			// Bursts and locks are harder than the level allows for: see the limits
			// in the documentation of Sequential.
			if x >= 1.5 && d.pass > runs/20 {
				t.Errorf("%s at %vx: %d of %d above the limit passed", src.name, x, d.pass, runs)
			}
			if src.name != "steady" {
				if x == 3 && d.fail < runs*95/100 {
					t.Errorf("%s at 3x: only %d of %d failed", src.name, d.fail, runs)
				}
				continue
			}
			want := map[float64]struct {
				verdict Verdict
				seconds float64 // the median's goal
			}{0.5: {Pass, 2.5}, 0.8: {Pass, 6}, 1.5: {Fail, 18}, 2: {Fail, 7}, 3: {Fail, 4}}[x]
			if want.verdict == Fail && d.fail < runs*95/100 || want.verdict == Pass && d.pass < runs*95/100 {
				t.Errorf("%vx: %v, want nearly all %v", x, &d, want.verdict)
			}
			if want.seconds > 0 && d.seconds(0.5) > want.seconds {
				t.Errorf("%vx: decided after %v s, want %v", x, d.seconds(0.5), want.seconds)
			}
		}
	}
}

// TestSequentialNaive: what one-second profiles with a plain comparison do to the
// same innocents, so that the table above is worth something.
func TestSequentialNaive(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 2))
	const limit, runs = 0.2, 2000
	for _, src := range sequentialSources() {
		for _, x := range []float64{0.5, 0.8, 1} {
			naive, wils := 0, 0
			for range runs {
				from := src.make()
				k, n := 0.0, 0.0
				for range 10 {
					dk, dn := from(rng, limit*x)
					k, n = k+dk, n+dn
				}
				if k/n > limit {
					naive++
				}
				if wilson(k, n, 0.05, -1) > limit {
					wils++
				}
			}
			t.Logf("%-14s %3.1fx  innocents failed by one second: naive %4.1f%%, Wilson 95%% %4.1f%%",
				src.name, x, 100*float64(naive)/runs, 100*float64(wils)/runs)
			if x == 0.8 && naive < runs/50 {
				t.Errorf("%s: naive fails only %d of %d: the simulation is broken", src.name, naive, runs)
			}
		}
	}
}

// TestSequentialMinimum is the table behind the numbers of blocks. The columns:
// those at the limit that fail, others at 1.5 times the limit that pass,
// and the seconds to fail 3 times, and to pass half, the limit.
func TestSequentialMinimum(t *testing.T) {
	if !*long {
		t.Skip("a table, not a check: run it with -long")
	}
	const limit = 0.2
	bursts := namedSource{"500 ms bursts", func() source { return burstSource(10, 50) }}
	defer func(usual leastBlocks) { usualLeast = usual }(usualLeast)
	for _, minimum := range []leastBlocks{
		{6, 6, 6, 6}, {12, 12, 12, 10}, {12, 12, 20, 10}, {20, 12, 20, 10}, {20, 20, 20, 10},
	} {
		usualLeast = minimum
		rng := rand.New(rand.NewPCG(21, 3))
		start := NewSequential(Limit{Most: limit})
		for _, src := range append(sequentialSources(), bursts) {
			at := simulate(rng, start, src.make, limit, 20_000, 100)
			above := simulate(rng, start, src.make, 1.5*limit, 4000, 60)
			blatant := simulate(rng, start, src.make, 3*limit, 400, 300)
			idle := simulate(rng, start, src.make, limit/2, 400, 300)
			t.Logf("%+v %-14s failed %2d of %d, passed %3d of %d, %4.1f s, %4.1f s", minimum, src.name,
				at.fail, at.runs, above.pass, above.runs, blatant.seconds(0.5), idle.seconds(0.5))
		}
	}
}

func TestSequentialRuns(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 4))
	const limit = 0.2
	runs := often(300)
	// A run of a second, in which a third of the samples go by phases that this run
	// happens to have.
	work := func() source {
		return func(rng *rand.Rand, p float64) (float64, float64) {
			k := binomial(rng, 66, p)
			for range 3 {
				k += 11 * bernoulli(rng, p)
			}
			return k, 99
		}
	}
	for _, tt := range []struct {
		x    float64
		want Verdict
	}{{0.25, Pass}, {0.5, Pass}, {1, Inconclusive}, {3, Fail}, {5, Fail}} {
		judge := NewSequential(Limit{Most: limit})
		judge.Runs = true
		d := simulate(rng, judge, work, limit*tt.x, runs, 60)
		t.Logf("runs %4.2fx  fail %4d  pass %4d  after %2.0f / %2.0f runs", tt.x, d.fail, d.pass, 10*d.seconds(0.5), 10*d.seconds(0.95))
		if tt.x <= 1 && d.fail > 0 || tt.x > 1.5 && d.pass > 0 {
			t.Errorf("%vx: %v", tt.x, &d)
		}
		if tt.want == Fail && d.fail < runs*9/10 || tt.want == Pass && d.pass < runs*9/10 {
			t.Errorf("%vx: %v, want %v", tt.x, &d, tt.want)
		}
	}
}

func TestSequentialConfirms(t *testing.T) {
	// A burst at the start makes a case; what follows does not confirm it.
	s := NewSequential(Limit{Most: 0.2})
	for i := range 12 {
		s.Add(float64(4+i%2), 10)
	}
	for i := 12; s.firstProof == 0; i++ {
		if i > 60 {
			t.Fatal("no case for a fail after 60 blocks at more than twice the limit")
		}
		s.Add(float64(4+i%2), 10)
	}
	if f := s.Close(); f.Verdict != Inconclusive || f.Needed <= s.all.n {
		t.Errorf("closed with a case open: %+v", f)
	}
	twin := s
	for i := range 300 {
		s.Add(float64(1+i%2), 10)
		twin.Add(float64(4+i%2), 10)
	}
	if s.Verdict() == Fail {
		t.Error("failed on a burst that was not confirmed")
	}
	if twin.Verdict() != Fail {
		t.Errorf("the twin that goes on is %v", twin.Verdict())
	}
	twin.Add(0, 1000)
	if twin.Verdict() != Fail {
		t.Error("a verdict was withdrawn")
	}
}

func TestSequentialClose(t *testing.T) {
	feed := func(limit float64, blocks int, k func(i int) float64) Sequential {
		s := NewSequential(Limit{Most: limit})
		for i := range blocks {
			s.Add(k(i), 10)
		}
		return s
	}
	tests := []struct {
		name         string
		s            Sequential
		closed, open Verdict
	}{
		{"nothing", NewSequential(Limit{Most: 0.2}), Inconclusive, Inconclusive},
		{"ten blocks", feed(0.2, 10, func(i int) float64 { return 2 }), Inconclusive, Inconclusive},
		{"near the limit, long enough", feed(0.2, 110, func(i int) float64 { return 2 + float64(i%5/4) }), Pass, Inconclusive},
		{"proven", feed(0.2, 60, func(i int) float64 { return float64(i % 2) }), Pass, Pass},
		{"all hits, high limit", feed(0.9, 300, func(int) float64 { return 10 }), Fail, Fail},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := tt.s.Close()
			if f.Verdict != tt.closed || tt.s.Verdict() != tt.open {
				t.Errorf("closed %v, open %v; want %v, %v (%+v)", f.Verdict, tt.s.Verdict(), tt.closed, tt.open, f)
			}
			if (f.Needed > tt.s.all.n) != (f.Verdict == Inconclusive) {
				t.Errorf("needs %v samples of %v, being %v", f.Needed, tt.s.all.n, f.Verdict)
			}
		})
	}
}

// A benchmark of a second is looked at once, at its end: what is far over the limit
// fails then, and what is at the limit does not, however bursty it is.
func TestSequentialOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds, on one goroutine")
	}
	rng := rand.New(rand.NewPCG(21, 5))
	const limit, blocks, size = 0.2, 19, 5 // 50 ms each, of one core
	runs := often(2000)
	for _, src := range []namedSource{
		{"steady", func() source {
			return func(rng *rand.Rand, p float64) (float64, float64) { return binomial(rng, size, p), size }
		}},
		{"100 ms bursts", func() source { return burstSource(size, 10) }},
	} {
		for _, x := range []float64{0.5, 1, 3.5} {
			fail, twice := 0, 0
			for range runs {
				from, s := src.make(), NewSequential(Limit{Most: limit})
				s.Once = true
				twin := NewSequential(Limit{Most: limit})
				for range blocks {
					k, n := from(rng, limit*x)
					s.Add(k, n)
					twin.Add(k, n)
				}
				if s.Close().Verdict == Fail {
					fail++
				}
				if twin.Close().Verdict == Fail {
					twice++
				}
			}
			t.Logf("%-14s %3.1fx  %d of %d fail, %d of those that are to be confirmed", src.name, x, fail, runs, twice)
			if x <= 1 && fail > 0 || x > 3 && src.name == "steady" && fail < runs*7/10 {
				t.Errorf("%s at %vx: %d of %d fail", src.name, x, fail, runs)
			}
		}
	}
}

// What is surely not much above the limit passes at the end, also while a case
// that it is a little above awaits its confirmation; what may be far above does not.
func TestSequentialCloseNear(t *testing.T) {
	for _, tt := range []struct {
		k    func(i int) float64 // of 20 in a block, the limit is 58%
		want Verdict
	}{
		{func(i int) float64 { return 13 + float64(i%3) }, Pass},
		{func(i int) float64 { return 18 + float64(i%2) }, Inconclusive},
	} {
		s := NewSequential(Limit{Most: 0.58})
		for i := 0; s.firstProof == 0; i++ {
			if i > 300 {
				t.Fatal("no case for a fail")
			}
			s.Add(tt.k(i), 20)
		}
		f := s.Close()
		t.Logf("%+v after %v samples", f, s.all.n)
		if f.Verdict != tt.want {
			t.Errorf("%+v, want %v", f, tt.want)
		}
	}
}

// A first proof is confirmed by as many blocks as it took, and by these alone, also where all
// blocks together still are a proof.
func TestSequentialConfirmation(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 7))
	waits, fails := 0, 0
	for range 200 {
		s := NewSequential(Limit{Most: 0.05})
		var after blocks // the first proof
		first := 0.0
		for n := 0; n < 200 && s.Verdict() == Inconclusive; n++ {
			share := 0.0645 // which becomes smaller when that is a first proof
			if first > 0 {
				share = 0.058
			}
			k := 0.0
			for range 300 {
				if rng.Float64() < share {
					k++
				}
			}
			if s.Add(k, 300); first > 0 {
				after.add(k, 300)
				confirmed := after.number >= first && s.above(&after, lnPass)
				if all := s.above(&s.all, lnFail); all && !confirmed {
					waits++
				} else if all != (s.Verdict() == Fail) {
					t.Fatalf("%v after %v blocks and %v more", s.Verdict(), first, after.number)
				}
				if s.Verdict() == Fail && !confirmed {
					t.Fatalf("failed by %v blocks after a proof by %v, which do not prove it by themselves: %t", after.number, first, s.above(&after, lnPass))
				}
			}
			first = s.firstProof
		}
		if s.Verdict() == Fail {
			fails++
		}
	}
	if waits < 100 || fails < 100 {
		t.Errorf("%d blocks waited for a confirmation, and %d of 200 checks failed", waits, fails)
	}
}
