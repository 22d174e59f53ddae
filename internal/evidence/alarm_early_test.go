package evidence

import (
	"math/rand/v2"
	"testing"
)

// TestAlarmEarly plays the first half hour of many processes: innocent ones at
// the limit must not fire while their overdispersion is still unknown, and those
// that are broken from the start must not take long.
func TestAlarmEarly(t *testing.T) {
	rng := rand.New(rand.NewPCG(47, 1))
	const limit = 0.2
	lnA := LnA(month, 20, 50, 0.01)
	starts := often(2000)
	if testing.Short() {
		starts /= 10
	}
	for _, n := range []int{50, 1000} {
		sources := append(streams(n)[:2:2], namedSource{"long bursts / 5", func() source { return burstSource(n, float64(n)/5) }})
		for _, src := range sources {
			alarms := 0
			for range starts {
				a, next := NewAlarm(limit, lnA), src.make()
				for range holdAfter {
					if a.Add(next(rng, limit)) == Fail {
						alarms++
						break
					}
				}
			}
			delays := []float64{}
			for range 51 {
				a, next := NewAlarm(limit, lnA), src.make()
				w := 1.0
				for ; a.Add(next(rng, 3*limit)) != Fail && w < 200; w++ {
				}
				delays = append(delays, w)
			}
			middle := median(delays)
			t.Logf("n %4d  %-15s at the limit: %d alarms in %d starts; at 3x: fires after %.0f windows", n, src.name, alarms, starts, middle)
			// Bursts of a second at full load are more overdispersed than is assumed
			// of a stranger; one start in a thousand is the price of an early alarm.
			if alarms*1000 > starts {
				t.Errorf("n=%d %s: %d of %d innocent processes fired at their start", n, src.name, alarms, starts)
			}
			if n == 1000 && src.name == "steady" && middle > 6 {
				t.Errorf("a process that is broken from its start fires after %.0f windows, expected 6 at the most", middle)
			}
		}
	}
}

// TestAlarmStep: a service that goes wrong soon after its start is found within
// an hour, however many quiet windows came before.
func TestAlarmStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(53, 1))
	const limit = 0.2
	lnA := LnA(month, 20, 50, 0.01)
	for _, n := range []int{50, 1000} {
		for _, quiet := range []int{3, 10, 20, 29, 60} {
			var delays []float64
			for range 31 {
				a, next := NewAlarm(limit, lnA), steadyWindows(n)
				for range quiet {
					a.Add(next(rng, 0.5*limit))
				}
				w := 1.0
				for ; a.Add(next(rng, 2.5*limit)) != Fail && w < 1000; w++ {
				}
				delays = append(delays, w)
			}
			middle := median(delays)
			t.Logf("n %4d, %2d quiet windows, then 2.5 times the limit: fires after %.0f", n, quiet, middle)
			if middle > 60 {
				t.Errorf("n=%d: a step after %d quiet windows fires after %.0f windows", n, quiet, middle)
			}
		}
	}
}

func steadyWindows(n int) source {
	return func(rng *rand.Rand, p float64) (float64, float64) { return binomial(rng, n, p), float64(n) }
}
