package evidence

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestFixed(t *testing.T) {
	tests := []struct {
		name      string
		k, n, lim float64
		want      Verdict
	}{
		{"nothing", 0, 0, 0.2, Inconclusive},
		{"few samples over the limit", 12, 38, 0.2, Inconclusive},
		{"far over", 300, 1000, 0.2, Fail},
		{"far under", 100, 1000, 0.2, Pass},
		{"at the limit, few", 100, 500, 0.2, Inconclusive},
		{"at the limit, many", 2000, 10000, 0.2, Pass},
		{"in the zone, very many", 220000, 1000000, 0.2, Fail},
		{"all hits", 20, 20, 0.2, Fail},
		{"no hits", 0, 100, 0.2, Pass},
		{"high limit kept", 850, 1000, 0.9, Pass},
		{"high limit missed", 9700, 10000, 0.9, Fail},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := Fixed(tt.k, tt.n, tt.lim)
			if f.Verdict != tt.want {
				t.Errorf("verdict %v (%+v), want %v", f.Verdict, f, tt.want)
			}
			if f.Verdict != Inconclusive && f.Needed != 0 {
				t.Errorf("needs %v samples with the verdict in", f.Needed)
			}
			if f.Verdict == Inconclusive && f.Needed <= tt.n {
				t.Errorf("needs %v samples, %v were there", f.Needed, tt.n)
			}
		})
	}
}

// TestNeeded: that many samples at the same share decide, a tenth fewer do not.
func TestNeeded(t *testing.T) {
	for _, limit := range []float64{0.01, 0.2, 0.5, 0.9} {
		for _, x := range []float64{0, 0.5, 0.9, 1, 1.05, 1.1, 1.2, 1.3, 2} {
			q := min(1, limit*x)
			f := Fixed(q*10, 10, limit)
			if f.Verdict != Inconclusive {
				continue
			}
			n := f.Needed
			if got := Fixed(q*n*1.001, n*1.001, limit); got.Verdict == Inconclusive {
				t.Errorf("limit %v share %v: still inconclusive with the %v needed", limit, q, n)
			}
			if got := Fixed(q*n*0.9, n*0.9, limit); got.Verdict != Inconclusive && n > 20 {
				t.Errorf("limit %v share %v: %v at nine tenths of the %v needed", limit, q, got.Verdict, n)
			}
		}
	}
}

func TestRate(t *testing.T) {
	tests := []struct {
		name                string
		k, exposure, limit  float64
		want                Verdict
		valueLow, valueHigh float64
	}{
		{"nothing", 0, 0, 1.5, Inconclusive, 0, 0},
		{"two cores of one and a half", 4000, 2000, 1.5, Fail, 1.8, 2.3},
		{"one core", 1000, 1000, 1.5, Pass, 0.8, 1.2},
		{"short look", 15, 10, 1.5, Inconclusive, 0, 4},
		{"idle", 0, 100, 1.5, Pass, 0, 0.1},
		{"half of the limit, over as many units as there are bytes", 10000, 1e20, 2e-16, Pass, 0.9e-16, 1.1e-16},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := Rate(tt.k, tt.exposure, tt.limit)
			if f.Verdict != tt.want {
				t.Errorf("verdict %v (%+v), want %v", f.Verdict, f, tt.want)
			}
			if tt.exposure > 0 && (f.Low < tt.valueLow || f.High > tt.valueHigh) {
				t.Errorf("bounds %v, %v, want within %v, %v", f.Low, f.High, tt.valueLow, tt.valueHigh)
			}
			if f.Verdict == Inconclusive && tt.exposure > 0 {
				more := f.Needed * 1.001
				k := f.Value * more
				if got := Rate(k, more, tt.limit); got.Verdict == Inconclusive {
					t.Errorf("still inconclusive with the exposure of %v needed", f.Needed)
				}
			}
		})
	}
}

// TestRateStream: a stream decides a rate as it decides a share.
func TestRateStream(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	// 0.5 cores, ten seconds a window at 100 Hz.
	const limit, exposure = 0.5, 1000.0
	stream := NewStream(Limit{Most: limit, Rates: true}, LnA(43200, 20, 1, 0.1))
	add := func(cores float64) {
		stream.Add(binomial(rng, exposure, cores), 0, exposure, false)
	}
	for range 50 {
		add(0.25)
	}
	if stream.Verdict() != Pass {
		t.Errorf("half the limit: %v, want pass", stream.Verdict())
	}
	for range 12 {
		add(0.9)
	}
	if stream.Verdict() != Fail {
		t.Errorf("nearly twice the limit: %v, want fail", stream.Verdict())
	}
}

func TestFixedSimulation(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds, on one goroutine")
	}
	rng := rand.New(rand.NewPCG(5, 2))
	const limit, runs = 0.2, 1500
	t.Logf("share of windows failed at a limit of %v, in %d runs", limit, runs)
	t.Log("   n  share   fixed  naive  Wilson 95%   (passed by fixed)")
	for _, n := range []int{25, 100, 500, 1500} {
		for _, x := range []float64{0.8, 1, 1.5, 2} {
			var fixed, naive, wils, passed float64
			for range runs {
				k := binomial(rng, n, limit*x)
				switch Fixed(k, float64(n), limit).Verdict {
				case Fail:
					fixed++
				case Pass:
					passed++
				}
				if k/float64(n) > limit {
					naive++
				}
				if wilson(k, float64(n), 0.05, -1) > limit {
					wils++
				}
			}
			t.Logf("%5d  %3.1fx  %6.3f  %5.3f  %5.3f       %5.3f", n, x, fixed/runs, naive/runs, wils/runs, passed/runs)
			if x <= 1 && fixed > 0 {
				t.Errorf("n=%d at %vx: %v of %d windows failed", n, x, fixed, runs)
			}
			if x >= 1.5 && passed > runs*10*PassAlpha {
				t.Errorf("n=%d at %vx: %v of %d windows passed", n, x, passed, runs)
			}
			if n == 1500 && x >= 1.5 && fixed < 0.99*runs {
				t.Errorf("n=%d at %vx: only %v of %d windows failed", n, x, fixed, runs)
			}
			if n == 100 && x == 1 && naive < 0.3*runs {
				t.Errorf("naive thresholding fails %v of %d windows at the limit: the simulation is broken", naive, runs)
			}
		}
	}
}

// TestLooking looks every 25 samples at a share that is exactly the limit, which
// is what no fixed-sample method stands, and evidence does.
func TestLooking(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 3))
	const limit, runs, samples = 0.2, 400, 10_000
	var naive, wils, evid int
	for range runs {
		k, n := 0.0, 0.0
		var seenNaive, seenWilson, seenEvidence bool
		for n < samples {
			k, n = k+binomial(rng, 25, limit), n+25
			seenNaive = seenNaive || k/n > limit
			seenWilson = seenWilson || wilson(k, n, 0.05, -1) > limit
			seenEvidence = seenEvidence || evidence(k, n, limit, up, 1) >= math.Log(1/0.05)
		}
		for _, c := range []struct {
			seen bool
			n    *int
		}{{seenNaive, &naive}, {seenWilson, &wils}, {seenEvidence, &evid}} {
			if c.seen {
				*c.n++
			}
		}
	}
	t.Logf("called bad at the limit, looking every 25 of %d samples, all at 5%%: naive %.0f%%, Wilson %.0f%%, evidence %.1f%%",
		samples, 100*float64(naive)/runs, 100*float64(wils)/runs, 100*float64(evid)/runs)
	if naive < runs*80/100 || wils < runs*20/100 {
		t.Error("the methods to be beaten behave too well: the simulation is broken")
	}
	// 5% of 400 is 20, with a deviation of 4.4.
	if evid > 33 {
		t.Errorf("evidence of 5%% called %d of %d good programs bad", evid, runs)
	}
}
