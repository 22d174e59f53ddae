package evidence

import (
	"math"
	"testing"
)

func FuzzBounds(f *testing.F) {
	f.Add(3.0, 10.0, 0.2, 1.5, 1e-3)
	f.Add(10.0, 3.0, -1.0, 0.0, 0.0)
	f.Add(0.0, 0.0, 1.0, 1.0, 1.0)
	f.Add(math.NaN(), math.Inf(1), math.NaN(), math.Inf(-1), math.NaN())
	f.Add(math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1))
	f.Add(1e300, 1e308, 1e-308, 1e300, 1e-308)
	f.Add(5e-324, 1.0, 0.9999999999999999, 1.0, 1e-6)
	f.Add(3.5e-323, 96.0, 0.9999999999999999, 7.0, -59.999999) // next to no hits are none
	f.Fuzz(func(t *testing.T, k, n, limit, phi, alpha float64) {
		finite := func(what string, xs ...float64) {
			t.Helper()
			for _, x := range xs {
				if math.IsNaN(x) || math.IsInf(x, 0) {
					t.Errorf("%s is %v for k=%v n=%v limit=%v phi=%v alpha=%v", what, x, k, n, limit, phi, alpha)
				}
			}
		}
		finding := func(what string, f Finding) {
			t.Helper()
			finite(what, f.Value, f.Low, f.High, f.Needed)
			if f.Low > f.High*(1+1e-9)+1e-300 || f.Needed < 0 || f.Verdict < Inconclusive || f.Verdict > Fail {
				t.Errorf("%s is %+v for k=%v n=%v limit=%v phi=%v", what, f, k, n, limit, phi)
			}
		}
		low, high := Lower(k, n, phi, alpha), Upper(k, n, phi, alpha)
		finite("bound", low, high)
		if low < 0 || high > 1 || low > high {
			t.Errorf("bounds %v, %v for k=%v n=%v phi=%v alpha=%v", low, high, k, n, phi, alpha)
		}
		finite("rate bound", RateLower(k, alpha))
		finite("evidence", evidence(k, n, limit, up, phi), evidence(k, n, limit, down, phi),
			temper(k, n), temper(n, phi))
		finite("needed", Needed(k, n, limit))
		finite("helper", LnA(k, n, phi, alpha), Tests(k, limit), ratioShare(k, n, limit))

		finding("share", Fixed(k, n, limit))
		finding("rate", Rate(k, n, limit))
		finding("absent", Absent(k, n))
		finding("growth of rates", Baseline{k, n, true}.Growth(phi, alpha, limit, phi, n))
		finding("growth", growth(k, n, n, phi, limit, alpha, phi))
		finding("ratio", ratio(k, n, phi, alpha, limit, phi))
		slope, _ := Trend([]float64{k, n, limit, phi, alpha}, k)
		finite("trend", slope)

		stream, seq := NewStream(Limit{Most: limit}, n), NewSequential(Limit{Most: limit})
		rates, seqRate := NewStream(Limit{Most: limit, Rates: true}, n), NewSequential(Limit{Most: limit, Rates: true})
		for i := range 120 {
			// The inputs, and ordinary ones in between.
			a, b := k, n
			if i%3 == 1 {
				a, b = float64(i%7), 10
			}
			stream.Add(a, 0, b, i%2 == 1)
			rates.Add(a, 0, b, false)
			seq.Add(a, b)
			seqRate.Add(a, b)
			finite("stream", stream.Strength(), rates.Strength())
		}
		finding("sequential", seq.Close())
		finding("sequential rate", seqRate.Close())
	})
}

// TestLostState: detectors that were not made, and values from outside their
// range, do no harm.
func TestLostState(t *testing.T) {
	var a Stream
	var s Sequential
	for range 50 {
		a.Add(5, 0, 10, false)
		s.Add(5, 10)
	}
	if a.Verdict() == Pass {
		t.Error("the zero Stream passes hits at a limit of 0")
	}
	if got := Verdict(7).String(); got != "Verdict(7)" {
		t.Errorf("an unknown verdict prints as %q", got)
	}
	for v, want := range map[Verdict]string{Inconclusive: "inconclusive", Pass: "pass", Fail: "fail"} {
		if v.String() != want {
			t.Errorf("%d prints as %q, want %q", v, v, want)
		}
	}
}
