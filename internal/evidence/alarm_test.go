package evidence

import (
	"math"
	"math/rand/v2"
	"testing"
)

// month is the number of windows of a month of minutes.
const month = 43_200

// streams are services, as sources of windows: how many samples, and how the
// hits cluster.
func streams(n int) []namedSource {
	return []namedSource{
		{"steady", func() source {
			return func(rng *rand.Rand, p float64) (float64, float64) {
				return binomial(rng, n, p), float64(n)
			}
		}},
		// A tenth, and a whole, of a window.
		{"short bursts", func() source { return burstSource(n, float64(n)/10) }},
		{"long bursts", func() source { return burstSource(n, float64(n)) }},
		{"diurnal", func() source {
			minute := 0.0
			return func(rng *rand.Rand, p float64) (float64, float64) {
				minute++
				busy := 1 + 0.9*math.Sin(2*math.Pi*minute/1440)
				// The share swings with the load, and keeps to p at its peak.
				size := int(float64(n) * busy)
				return binomial(rng, size, p*(0.7+0.3*busy/1.9)), float64(size)
			}
		}},
	}
}

func TestAlarmFalse(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds, on one goroutine")
	}
	rng := rand.New(rand.NewPCG(31, 1))
	const limit = 0.2
	lnA := LnA(month, 20, 50, 0.01)
	months := often(1)
	// A month has 43,200 windows; by default a quarter of each is played.
	windows := month / 4
	if *long {
		windows = month
	}
	z := normalQuantile(1e-3)
	t.Logf("alarms in %d windows, threshold %.1f", months*windows, lnA)
	for _, n := range []int{4, 50} {
		for _, src := range streams(n) {
			for _, x := range []float64{0.8, 1} {
				alarms, naive, wils := 0, 0, 0
				for range months {
					a, next := NewAlarm(limit, lnA), src.make()
					var failing, naiveOn, wilsOn bool
					for range windows {
						k, n := next(rng, limit*x)
						fails := a.Add(k, n) == Fail
						if fails && !failing {
							alarms++
						}
						failing = fails
						on := n > 0 && k/n > limit
						if on && !naiveOn {
							naive++
						}
						naiveOn = on
						on = n > 0 && score(k, n, z, -1) > limit
						if on && !wilsOn {
							wils++
						}
						wilsOn = on
					}
				}
				t.Logf("n %3d  %-12s %3.1fx  alarms %d, naive %6d, Wilson 99.9%% %5d", n, src.name, x, alarms, naive, wils)
				if alarms > 0 {
					t.Errorf("n=%d %s at %vx: %d false alarms", n, src.name, x, alarms)
				}
				if x == 1 && naive == 0 {
					t.Errorf("n=%d %s: naive thresholding never alarms: the simulation is broken", n, src.name)
				}
			}
		}
	}
}

func TestAlarmDelay(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates pure code: nothing for the race detector")
	}
	rng := rand.New(rand.NewPCG(31, 2))
	const limit = 0.2
	lnA := LnA(month, 20, 50, 0.01)
	runs := often(10)
	for _, n := range []int{50, 1000} {
		for _, src := range streams(n)[:2] {
			for _, x := range []float64{1.25, 1.5, 2, 3} {
				var delay, recovery []float64
				for range runs {
					a, next := NewAlarm(limit, lnA), src.make()
					for range 300 {
						a.Add(next(rng, 0.8*limit))
					}
					if a.Verdict() == Fail {
						t.Fatalf("n=%d %s: fails below the limit", n, src.name)
					}
					// until counts windows up to a verdict at a share.
					until := func(want Verdict, p float64) float64 {
						for i := range 3000 {
							if a.Add(next(rng, p)) == want {
								return float64(i + 1)
							}
						}
						return 3000
					}
					delay = append(delay, until(Fail, x*limit))
					recovery = append(recovery, until(Pass, 0.5*limit))
				}
				d, r := median(delay), median(recovery)
				t.Logf("n %4d  %-12s %4.2fx  fires after %5.1f windows, recovers after %5.1f", n, src.name, x, d, r)
				// Half as much again as measured.
				want := map[int]map[float64]float64{
					50:   {1.25: 210, 1.5: 35, 2: 12, 3: 10},
					1000: {1.25: 11, 1.5: 10, 2: 10, 3: 10},
				}[n][x]
				if src.name == "steady" && d > want {
					t.Errorf("n=%d at %vx: fires after %v windows, want %v at the most", n, x, d, want)
				}
				if d >= 3000 && x >= 2 || r >= 3000 {
					t.Errorf("n=%d %s at %vx: fires after %v windows, recovers after %v", n, src.name, x, d, r)
				}
			}
		}
	}
}

func TestAlarm(t *testing.T) {
	a := NewAlarm(0.2, 22.2)
	if a.Verdict() != Inconclusive {
		t.Errorf("starts %v", a.Verdict())
	}
	for range 10 {
		a.Add(0, 0)
	}
	if a.Verdict() != Inconclusive || a.Evidence() != 0 {
		t.Errorf("%v on windows without samples", a.Verdict())
	}
	// One freak window never fires, however large.
	for range 40 {
		a.Add(10, 100)
	}
	if v := a.Add(1e6, 1e6); v != Pass {
		t.Errorf("%v after one freak window, want pass", v)
	}
	// What goes on does; a copy is independent.
	twin := a
	for range 20 {
		a.Add(81, 100)
		twin.Add(5, 100)
	}
	if a.Verdict() != Fail || twin.Verdict() != Pass {
		t.Errorf("%v after 20 bad windows, its twin %v; want fail, pass", a.Verdict(), twin.Verdict())
	}
	// A limit that cannot be exceeded passes.
	if a := NewAlarm(1, 22.2); a.Add(5, 5) != Pass {
		t.Errorf("a limit of all is %v", a.Verdict())
	}
}

func TestLnA(t *testing.T) {
	if got := LnA(43200, 20, 50, 0.01); math.Abs(got-22.2) > 0.05 {
		t.Errorf("the threshold of the documentation is %v, want 22.2", got)
	}
	if got := Tests(10, 0.2); math.Abs(got-50) > 1e-9 {
		t.Errorf("%v tests, want 50", got)
	}
	if got := Tests(0, 0); got != 1 {
		t.Errorf("%v tests, want 1", got)
	}
}

// TestAlarmRetunes: evidence stays what it is, and what it takes to fire changes,
// so that an alarm fires later among many than alone.
func TestAlarmRetunes(t *testing.T) {
	windows := func(lnA float64) int {
		a := NewAlarm(0.2, 20)
		for range 100 {
			a.Add(100, 1000)
		}
		for range 2 {
			a.Add(400, 1000)
		}
		before := a.Evidence()
		a.Retune(lnA)
		if a.Evidence() != before || a.Threshold() != lnA || before == 0 {
			t.Errorf("retuned to %g: evidence %g of %g, before %g", lnA, a.Evidence(), a.Threshold(), before)
		}
		n := 0
		for a.Verdict() != Fail {
			a.Add(400, 1000)
			n++
		}
		return n
	}
	same, more := windows(20), windows(40)
	if more <= same {
		t.Errorf("fires after %d windows at twice the evidence, after %d at what it was", more, same)
	}
}
