package evidence

import "math/rand/v2"

// A source makes the hits and samples of one block or window after the other, at
// a given share.
type source func(rng *rand.Rand, p float64) (k, n float64)

func binomial(rng *rand.Rand, n int, p float64) float64 {
	k := 0
	for range n {
		if rng.Float64() < p {
			k++
		}
	}
	return float64(k)
}

func bernoulli(rng *rand.Rand, p float64) float64 { return binomial(rng, 1, p) }

// steadySource draws independent samples: 8 to 12 a block, as timers do.
func steadySource() source {
	return func(rng *rand.Rand, p float64) (float64, float64) {
		n := 8 + rng.IntN(5)
		return binomial(rng, n, p), float64(n)
	}
}

// lockedSource draws a phase per block: a part of the samples are all hits, or
// none. At 0.6, phi is 4.2, as measured on a loop locked to a 10 ms tick.
func lockedSource(part float64) source {
	return func(rng *rand.Rand, p float64) (float64, float64) {
		const n = 10
		phase := bernoulli(rng, p)
		k := 0.0
		for range n {
			if rng.Float64() < part {
				k += phase
			} else {
				k += bernoulli(rng, p)
			}
		}
		return k, n
	}
}

// burstSource alternates between all hits and none, with bursts of so many
// samples on the average, across blocks of perBlock samples.
func burstSource(perBlock int, burst float64) source {
	on, started := false, false
	return func(rng *rand.Rand, p float64) (float64, float64) {
		// Neither a burst nor a pause can be shorter than a sample.
		length := max(burst, 1, p/(1-p))
		off := length * (1 - p) / p
		if !started {
			on, started = rng.Float64() < p, true
		}
		k := 0.0
		for range perBlock {
			if on {
				k++
				on = rng.Float64() >= 1/length
			} else {
				on = rng.Float64() < 1/off
			}
		}
		return k, float64(perBlock)
	}
}
