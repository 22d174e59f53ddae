package fleet

import (
	"math"
	"math/rand/v2"
)

// A Service is a simulated program: how much of its CPU each function has, and how its processes
// and windows differ, as deviations of the logarithm.
type Service struct {
	Shares    []float64
	Processes float64 // cost of work, and share of each function, of a process
	Windows   float64 // share of a function in a window
	Samples   float64 // of a window, on average
	Work      float64 // of a window
	Always    float64 // samples of a window that the last function has, whatever work there is
}

// Usual is a service with so many functions, of which the largest has half of the CPU, and the 50th
// one percent.
func Usual(functions int) *Service {
	s := &Service{Processes: 0.2, Windows: 0.3, Samples: 10, Work: 100}
	for f := range functions {
		s.Shares = append(s.Shares, 0.5/float64(1+f))
	}
	return s
}

// A Pod is a simulated process.
type Pod struct {
	Process
	Load   float64 // its work, as a part of the usual
	of     *Service
	cost   float64
	shares []float64
}

// Start starts one, whose functions have all a series.
func (s *Service) Start(random *rand.Rand) *Pod {
	p := &Pod{Load: 1, of: s, cost: factor(random, s.Processes), shares: make([]float64, len(s.Shares))}
	p.Hits = make([]float64, len(s.Shares))
	for f, share := range s.Shares {
		p.shares[f] = share * factor(random, s.Processes)
	}
	return p
}

// Run adds windows, and returns their samples and hits.
func (p *Pod) Run(random *rand.Rand, windows float64) (samples float64, hits []float64) {
	work := Poisson(random, p.of.Work*windows*p.Load)
	samples = Poisson(random, p.of.Samples*p.cost*work/p.of.Work)
	hits = make([]float64, len(p.shares))
	deviation := p.of.Windows / math.Sqrt(windows)
	for f, share := range p.shares {
		hits[f] = min(samples, Poisson(random, samples*share*factor(random, deviation)))
		p.Hits[f] += hits[f]
	}
	if p.of.Always > 0 {
		last := len(hits) - 1
		n := Poisson(random, p.of.Always*windows*p.shares[last]/p.of.Shares[last])
		samples, hits[last], p.Hits[last] = samples+n, hits[last]+n, p.Hits[last]+n
	}
	p.Samples, p.Work, p.Seconds = p.Samples+samples, p.Work+work, p.Seconds+10*windows
	return samples, hits
}

// factor has the mean 1.
func factor(random *rand.Rand, deviation float64) float64 {
	return math.Exp(random.NormFloat64()*deviation - deviation*deviation/2)
}

// Poisson is a number of events, which is so many on average.
func Poisson(random *rand.Rand, mean float64) float64 {
	if mean > 50 { // the normal distribution will do
		return max(0, math.Round(mean+math.Sqrt(mean)*random.NormFloat64()))
	}
	n, chance := 0.0, math.Exp(-mean)
	for left := random.Float64() - chance; left > 0 && n < 200; left -= chance {
		n++
		chance *= mean / n
	}
	return n
}
