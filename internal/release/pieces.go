package release

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/tree"
)

// Pieces are what is known of the pieces of a side, added up in bounded memory: windows of a guard, blocks of a
// check, slices of a benchmark, or processes of a fleet. By how much they differ from each other, and by nothing else,
// is it known how far chance, bursts and the machine move the side's sums. The zero Pieces is ready to use.
type Pieces struct {
	Counts                     // by function
	CPU     float64            // seconds, as the operating system counts them
	Elapsed float64            // seconds
	Work    map[string]float64 // by unit
	Machine Machine            // while CPUThere was used
	// CPUThere is the part of CPU in pieces of which the machine is known.
	CPUThere float64

	Costs  map[string]*CostSum // of CPU, by unit of work
	Values map[string]*Values  // by label

	last *Piece
}

// A Piece is one of them.
type Piece struct {
	Samples float64
	CPU     float64 // seconds, as the operating system counts them
	Elapsed float64 // seconds
	Work    map[string]float64
	Machine Machine
	Hits    map[string]float64     // of each function
	Values  map[string]tree.Values // by label, of those that were looked for
}

// A CostSum has sums over pieces: of their cost c, their work w, the products of these, and the products of those of
// neighbours. They are what the variance of a ratio takes.
type CostSum struct{ N, C, W, CC, CW, WW, NextCC, NextCW, NextWW float64 }

// Counts are the samples of pieces by name.
type Counts struct {
	Count   float64 // of pieces
	Samples float64
	Squares float64 // of samples
	Hits    map[string]*HitSum
}

// A HitSum has sums over pieces: of the hits h of a name, their squares, and their products with the samples n
// and with the work w in each unit.
type HitSum struct {
	H, HH, HN float64
	HW        map[string]float64
}

// mostKnown is the number of functions that are kept: beyond it those with few hits are forgotten. What is not known
// of a function has the variance of most functions: see unmeasured.
const mostKnown = 1000

// seconds is the unit of work that each process does.
const seconds = ""

// Add adds a piece, which is not kept.
func (p *Pieces) Add(x Piece) {
	p.init()
	p.CPU, p.Elapsed = p.CPU+x.CPU, p.Elapsed+x.Elapsed
	if x.Machine.Cores > 0 {
		p.Machine, p.CPUThere = p.Machine.and(x.Machine), p.CPUThere+x.CPU
	}
	p.cost(&x, seconds, x.Elapsed)
	for unit, w := range x.Work {
		if p.Work[unit] += w; w > 0 {
			p.cost(&x, unit, w)
		}
	}
	p.add(x.Hits, x.Samples, x.Work)
	p.forget(mostKnown)
	for label, values := range x.Values {
		if v := p.values(label); v != nil {
			v.include(values, x.Samples, x.Work)
		}
	}
	p.last = &Piece{CPU: x.CPU, Elapsed: x.Elapsed, Work: maps.Clone(x.Work)}
}

// add adds a piece.
func (c *Counts) add(hits map[string]float64, samples float64, work map[string]float64) {
	c.Count, c.Samples, c.Squares = c.Count+1, c.Samples+samples, c.Squares+samples*samples
	for name, h := range hits {
		f := c.of(name)
		f.H, f.HH, f.HN = f.H+h, f.HH+h*h, f.HN+h*samples
		for unit, w := range work {
			f.HW[unit] += h * w
		}
	}
}

// join adds other pieces.
func (c *Counts) join(o *Counts) {
	c.Count, c.Samples, c.Squares = c.Count+o.Count, c.Samples+o.Samples, c.Squares+o.Squares
	for name, x := range o.Hits {
		f := c.of(name)
		f.H, f.HH, f.HN = f.H+x.H, f.HH+x.HH, f.HN+x.HN
		for unit, w := range x.HW {
			f.HW[unit] += w
		}
	}
}

// of are the sums of a name, which are made if there are none.
func (c *Counts) of(name string) *HitSum {
	f := c.Hits[name]
	if f == nil {
		f = &HitSum{HW: map[string]float64{}}
		c.Hits[name] = f
	}
	return f
}

// forget forgets the names with the fewest hits if there are more than most. It returns how many one of these had at the
// most.
func (c *Counts) forget(most int) (lost float64) {
	if len(c.Hits) <= most {
		return 0
	}
	names := slices.SortedFunc(maps.Keys(c.Hits), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.Hits[b].H, c.Hits[a].H), cmp.Compare(a, b))
	})
	names = names[most*3/4:]
	lost = c.Hits[names[0]].H
	for _, name := range names {
		delete(c.Hits, name)
	}
	return lost
}

func (p *Pieces) init() {
	if p.Hits == nil {
		p.Work, p.Costs, p.Hits = map[string]float64{}, map[string]*CostSum{}, map[string]*HitSum{}
	}
}

// cost adds the cost of a piece per unit of work.
func (p *Pieces) cost(x *Piece, unit string, w float64) {
	s := p.Costs[unit]
	if s == nil {
		s = &CostSum{}
		p.Costs[unit] = s
	}
	if p.last != nil {
		last := p.last.Elapsed
		if unit != seconds {
			last = p.last.Work[unit]
		}
		s.NextCC, s.NextCW, s.NextWW = s.NextCC+x.CPU*p.last.CPU, s.NextCW+x.CPU*last+w*p.last.CPU, s.NextWW+w*last
	}
	s.N, s.C, s.W = s.N+1, s.C+x.CPU, s.W+w
	s.CC, s.CW, s.WW = s.CC+x.CPU*x.CPU, s.CW+x.CPU*w, s.WW+w*w
}

// Join adds other pieces, as those of an earlier process of the same build.
func (p *Pieces) Join(o *Pieces) {
	p.init()
	p.CPU, p.Elapsed = p.CPU+o.CPU, p.Elapsed+o.Elapsed
	p.Machine, p.CPUThere = p.Machine.and(o.Machine), p.CPUThere+o.CPUThere
	for unit, w := range o.Work {
		p.Work[unit] += w
	}
	for unit, x := range o.Costs {
		s := p.Costs[unit]
		if s == nil {
			s = &CostSum{}
			p.Costs[unit] = s
		}
		s.N, s.C, s.W, s.CC, s.CW, s.WW = s.N+x.N, s.C+x.C, s.W+x.W, s.CC+x.CC, s.CW+x.CW, s.WW+x.WW
		s.NextCC, s.NextCW, s.NextWW = s.NextCC+x.NextCC, s.NextCW+x.NextCW, s.NextWW+x.NextWW
	}
	p.join(&o.Counts)
	p.forget(mostKnown)
	for label, values := range o.Values {
		if v := p.values(label); v != nil {
			v.join(&values.Counts)
			v.Without, v.Lost = v.Without+values.Without, v.Lost+values.Lost
			v.Lost += v.forget(mostValues)
		}
	}
}

// costOf is what a unit of work costs.
func (p *Pieces) costOf(unit string) evidence.PerWork {
	return p.Costs[unit].perWork()
}

func (s *CostSum) perWork() evidence.PerWork {
	if s == nil || !(s.C > 0) || !(s.W > 0) {
		return evidence.PerWork{Variance: math.Inf(1)}
	}
	x := evidence.PerWork{Value: s.C / s.W, Variance: math.Inf(1)}
	if s.N < 2 {
		return x
	}
	v := x.Value
	square := max(0, s.CC-2*v*s.CW+v*v*s.WW) // of what pieces differ by from the value
	x.Freedom = s.N - 1
	x.Variance = square / (s.C * s.C) * s.N / x.Freedom
	if square > 1e-12*s.CC { // of a smaller one rounding errors are left
		r := min(max((s.NextCC-v*s.NextCW+v*v*s.NextWW)/square, 0), 0.9)
		x.Variance *= (1 + r) / (1 - r)
	}
	return x
}

// unmeasured is the overdispersion of a function where none was measured: most functions of real
// services have 1.0 to 1.3 from second to second, and some 2 or 3. prior is how many pieces it counts where
// one was: with few pieces a measured one is far too small now and then.
const unmeasured, prior = 2, 10

// betweenRuns is that of most functions of a benchmark: its processes differ by the addresses and hashes that they draw,
// and collections come in bursts.
const betweenRuns = 1.5

// phi is the overdispersion of a function: by how much more its share differs between pieces than that of
// independent samples. most is that of most functions.
func (p *Pieces) phi(name string, most float64) float64 {
	f := p.Hits[name]
	if f == nil || p.Count < 2 || !(f.H > 0) || f.H >= p.Samples {
		return most
	}
	share, freedom := f.H/p.Samples, p.Count-1
	measured := (f.HH - 2*share*f.HN + share*share*p.Squares) / (share * (1 - share) * p.Samples) * p.Count / freedom
	return max(1, (freedom*measured+prior*most)/(freedom+prior))
}

// perWork is the overdispersion of a function's hits for so much work.
func (p *Pieces) perWork(name, unit string) float64 {
	f, s := p.Hits[name], p.Costs[unit]
	if f == nil || s == nil || p.Count < 2 || s.N < p.Count || !(f.H > 0) {
		return unmeasured
	}
	rate, freedom := f.H/s.W, p.Count-1
	measured := (f.HH - 2*rate*f.HW[unit] + rate*rate*s.WW) / f.H * p.Count / freedom
	return max(1, (freedom*measured+prior*unmeasured)/(freedom+prior))
}

// fixed is the largest part of a function's cost that may be there whatever the work is, as that of a timer is: it
// is 1 unless pieces with more work have more of it. The line of hits by work has an error, of which three
// standard deviations count.
func (p *Pieces) fixed(name, unit string) float64 {
	f, s := p.Hits[name], p.Costs[unit]
	if f == nil || s == nil || s.N < 3 || s.N < p.Count || !(f.H > 0) {
		return 1
	}
	mean := s.W / s.N
	spread := s.WW - s.N*mean*mean
	if !(spread > 1e-9*s.WW) {
		return 1
	}
	slope, deviation := (f.HW[unit]-f.H*mean)/spread, math.Sqrt(p.phi(name, unmeasured)*f.H/s.N/spread)
	return min(1, max(0, 1-(slope-3*deviation)*s.W/f.H))
}
