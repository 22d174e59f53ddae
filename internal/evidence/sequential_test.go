package evidence

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func sequentialSources() []struct {
	name string
	make func() source
} {
	return []struct {
		name string
		make func() source
	}{
		{"steady", steadySource},
		{"locked", func() source { return lockedSource(0.6) }},
		{"fully locked", func() source { return lockedSource(1) }},
		{"20 ms bursts", func() source { return burstSource(10, 2) }},
		{"100 ms bursts", func() source { return burstSource(10, 10) }},
	}
}

// decision is what became of many checks at one share.
type decision struct {
	fail, pass, open, near int
	blocks                 []float64 // until decided
}

func (d *decision) quantile(q float64) float64 { return quantile(d.blocks, q) }

// simulateSequential runs checks of at most limit blocks.
func simulateSequential(rng *rand.Rand, limit, p, minimum float64, make func() source, checks, blocks int) decision {
	var d decision
	for range checks {
		s := NewSequential(limit)
		s.minimum = minimum
		next := make()
		i := 0
		for ; i < blocks && s.Verdict() == Inconclusive; i++ {
			s.Add(next(rng, p))
		}
		switch s.Verdict() {
		case Fail:
			d.fail++
		case Pass:
			d.pass++
		default:
			d.open++
			if s.Close().Verdict == Pass {
				d.near++
			}
			continue
		}
		d.blocks = append(d.blocks, float64(i))
	}
	slices.Sort(d.blocks)
	return d
}

func (d *decision) String() string {
	return fmt.Sprintf("fail %5d pass %5d open %5d (near %5d)  %4.1f s / %4.1f s", d.fail, d.pass, d.open, d.near, d.quantile(0.5)/10, d.quantile(0.95)/10)
}

func TestSequentialMinimum(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, minimum := range []float64{10, 12, 15, 20} {
		for _, src := range sequentialSources() {
			for _, x := range []float64{0.5, 0.8, 1, 1.5, 2, 3} {
				d := simulateSequential(rng, 0.2, 0.2*x, minimum, src.make, 2000, 300)
				t.Logf("minimum %2.0f  %-14s %3.1fx  %v", minimum, src.name, x, &d)
			}
		}
	}
}
