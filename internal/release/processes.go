package release

import (
	"math"

	"github.com/profguard/profguard/internal/evidence"
)

// Where pieces are processes ([Options.Fleet]), each differs from the others for good: by its machine, by what it is
// asked, by what it has cached. More samples of two processes say nothing of that. So the variance of a function's cost
// has two parts: chance, which its hits tell; and the spread of the processes, which is the relative variance between
// them, and is known as well as there are many of them. It is measured on both sides together, since a side may have one
// process, or few hits in each. How many processes a side has is counted by their work: twenty of which one does
// nearly all are as good as one.

const (
	// fleetAlpha is the chance of a false alarm of one function at one look, as the bounds count it, which is some ten
	// times what it is. 200 functions and hours of looks make it one in 1,000 releases: see TestEqualRollouts in
	// package rollout.
	fleetAlpha = 5e-6
	// usualSpread is the spread of processes where it is not measured, a deviation of 10%, and usualWeight is how many
	// degrees of freedom that counts for.
	usualSpread, usualWeight = 0.01, 2
)

// A spread is what is known of a function in the processes of a side: by its work, or by its samples.
type spread struct {
	hits      float64
	exposure  float64 // the work, or the samples
	processes float64 // that would tell as much with equal work
	square    float64 // the relative variance between processes
	freedom   float64 // with which that is known
}

const bySamples = "" // in the place of a unit of work

// spread measures it.
func (p *Pieces) spread(name, per string) spread {
	x, xx := p.Samples, p.Squares
	if per != bySamples {
		x, xx = 0, 0
		if s := p.Costs[per]; s != nil {
			x, xx = s.W, s.WW
		}
	}
	if !(xx > 0) {
		return spread{}
	}
	s := spread{exposure: x, processes: x * x / xx}
	f := p.Hits[name]
	if f == nil || !(f.H > 0) {
		return s
	}
	hx := f.HN
	if per != bySamples {
		hx = f.HW[per]
	}
	s.hits = f.H
	if freedom := s.processes - 1; freedom > 0.01 {
		cost := f.H / x
		square := max(0, f.HH-2*cost*hx+cost*cost*xx) / (1 - 1/s.processes)
		s.square = (square - f.H) / (cost * cost * xx) // beyond what chance does
		// It is the better known, the more of the variance it makes up.
		part := usualSpread * f.H / s.processes
		s.freedom = freedom * (part / (1 + part)) * (part / (1 + part))
	}
	return s
}

// apart are the overdispersions of a function before and now, with an error of alpha. They count in
// how well the spread is known.
func (c *comparing) apart(at id, per string, alpha float64) (is, was float64) {
	a, b := c.sides[now].Pieces.spread(c.names[at], per), c.sides[before].Pieces.spread(c.was[at], per)
	freedom := a.freedom + b.freedom
	pooled := (a.freedom*a.square + b.freedom*b.square + usualWeight*usualSpread) / (freedom + usualWeight)
	of := func(s spread) float64 { // a side may differ more than both together
		own := (s.freedom*s.square + usualWeight*pooled) / (s.freedom + usualWeight)
		return max(0, pooled, own) / max(s.processes, 1)
	}
	chance, between := 1/max(a.hits, 1)+1/max(b.hits, 1), of(a)+of(b)
	factor := 1.0
	if between > 0 {
		all := (chance + between) / between
		factor = evidence.Estimated(alpha, freedom*all*all)
	}
	// Processes differ by factors. Hits that are many times as many as before differ by less of themselves than that.
	usual := max(1, b.hits*a.exposure/max(b.exposure, 1e-9))
	return (1 + of(a)*math.Sqrt(a.hits*min(a.hits, usual))) * factor, (1 + of(b)*b.hits) * factor
}

// fleetPerUnit are the bounds of a function's growth per unit of work: see perUnit.
func (c *comparing) fleetPerUnit(at id, is, was evidence.Hits) (low, high float64) {
	is.N, was.N = rarely*is.N, rarely*was.N
	is.Phi, was.Phi = c.apart(at, c.Per, fleetAlpha)
	low = rarely * evidence.ChangeAbove(is, was, c.scale.Value, fleetAlpha)
	is.Phi, was.Phi = c.apart(at, c.Per, highAlpha)
	return low, rarely * evidence.ChangeBelow(is, was, c.scale.Value, highAlpha)
}

// fleetCosts are what a unit of work costs before and now. Processes have no order in which neighbours are alike, and
// their spread is measured on both sides together, as that of functions is. Of one that does nearly all the work nobody
// knows how it differs from others.
func (c *comparing) fleetCosts() (was, is evidence.PerWork) {
	var costs [2]evidence.PerWork
	var processes [2]float64
	freedom, square := 0.0, usualWeight*usualSpread
	for side := range costs {
		p := &c.sides[side].Pieces
		if s := p.Costs[c.Per]; s != nil {
			apart := *s
			apart.NextCC, apart.NextCW, apart.NextWW = 0, 0, 0
			costs[side] = apart.perWork()
		}
		processes[side] = p.spread("", c.Per).processes
		if x := &costs[side]; x.Freedom >= 1 {
			sum := x.Variance * x.Freedom / (x.Freedom + 1) * processes[side]
			x.Freedom = max(0, processes[side]-1)
			x.Variance = sum / x.Freedom
			freedom += x.Freedom
			square += sum * processes[side]
		}
	}
	pooled := square / (freedom + usualWeight)
	for side := range costs {
		x := &costs[side]
		if least := pooled / processes[side]; x.Freedom < 1 || x.Variance < least {
			x.Variance = least
		}
		x.Variance += 1 / c.n[side]
		x.Freedom = freedom / 2 // of a sum of two that are known together
		if freedom < 1 {
			x.Variance = math.Inf(1)
		}
	}
	return costs[before], costs[now]
}

// withoutCallers judges a function of which neither build's callers are known. One that both builds have has grown. One
// that is new may be one that is gone under another name, if that cost nearly as much, and no other is. It may be a part
// of one that cost more, or of one that both builds have: unless the process has grown with it, by half as much, nobody
// knows.
func (c *comparing) withoutCallers(f *Function) {
	if c.hits[f.id][before] >= few {
		return
	}
	points, best, part := f.Points.Value, alike, false
	from := process
	for i, k := range c.hits {
		less := -c.points(k)
		if k[now] >= few || less <= 0 || c.renamed[id(i)] {
			continue
		}
		part = part || less >= points/2
		if ratio := min(less, points) / max(less, points); ratio > best {
			best, from = ratio, id(i)
		}
	}
	if from != process {
		if c.renamed == nil {
			c.renamed = map[id]bool{}
		}
		c.renamed[from] = true
		less := -c.points(c.hits[from])
		f.Status, f.Moved, f.From = Moved, min(less, points), c.was[from]
		if f.Points.High-less >= evidence.Edge(c.Limit) {
			f.Status, f.MayMove = Undecided, true
		}
		return
	}
	switch kept, open := c.likely-1 >= points/2, c.scale.High-1 >= points/2; {
	case kept && !part:
	case open || part:
		f.Status, f.MayMove = Undecided, true
	default:
		f.Status = Moved
	}
}
