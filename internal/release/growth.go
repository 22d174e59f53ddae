package release

import (
	"fmt"
	"math"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/tree"
)

// measure finds the scale, and says why nothing is judged by it. It is zero if nothing can be compared.
func (c *comparing) measure() (m measured, why string) {
	r := c.result
	m.common, m.load = 1, 1
	if c.n[before] < 1 || c.n[now] < 1 {
		return m, "there are no samples yet"
	}
	if c.Per == "" {
		return c.measureShares(m)
	}
	if c.inTurns() {
		m.scale, m.likely, m.process = c.Scale, c.Scale.Low, c.Scale.Low
		r.Process, r.Known = m.grown(), true
		return m, ""
	}
	is, was := c.sides[now].Pieces.costOf(c.Per), c.sides[before].Pieces.costOf(c.Per)
	switch {
	case r.Before.Work > 0 && !(r.Before.CPU > 0):
		return m, "the CPU time used before is unknown: the profile does not say how much each sample stands for"
	case r.Now.Work > 0 && !(r.Now.CPU > 0):
		return m, "the CPU time used now is unknown: the profile does not say how much each sample stands for"
	case !(was.Value > 0):
		return m, fmt.Sprintf("the number of units of %q before is unknown", c.Per)
	case !(is.Value > 0):
		return m, fmt.Sprintf("the number of units of %q now is unknown", c.Per)
	}
	if c.Fleet {
		was, is = c.fleetCosts()
	} else {
		m.counts = sampled(&was, c.n[before])
		if sampled(&is, c.n[now]); m.counts {
			was.Variance = overdispersed(is, c.n[now]) / max(c.n[before], 1)
		}
	}
	_, least, _ := is.Against(was, alpha)
	value, likely, most := is.Against(was, highAlpha)
	busier, wasBusier, said := c.machine()
	r.Machine = said
	m.scale, m.likely, m.process = Growth{value, least / busier, most * wasBusier}, likely, likely
	if x, y := r.Before.Load, r.Now.Load; x > 0 && y > 0 {
		m.load = y / x
	}
	if common, _, _, known := c.inCommon(); known {
		if m.common = max(1, value*common); m.counts {
			_, m.process, _ = is.Against(was, doubtAlpha)
			m.process /= m.common
		}
	}
	r.Process, r.Known = m.grown(), true
	return m, ""
}

// inTurns reports whether both builds ran in turns: see [Options.Scale].
func (c *comparing) inTurns() bool { return c.Scale.Value > 0 }

// measureShares finds the scale where no unit of work is known: what most functions have in common, whose shares
// all grow where another one costs less.
func (c *comparing) measureShares(m measured) (_ measured, why string) {
	common, low, high, known := c.inCommon()
	if m.alone = !known; m.alone {
		common, low, high = 1, 1, 1
	}
	m.scale, m.likely, m.process = Growth{1 / common, 1 / high, 1 / low}, 1/high, 1/high
	switch perSecond := c.sides[now].Pieces.costOf(seconds).Value > 0 && c.sides[before].Pieces.costOf(seconds).Value > 0; {
	case c.n[before] < LeastShares || c.n[now] < LeastShares:
		why = fmt.Sprintf("without a unit of work, growth takes %d samples on both sides: there are %.0f, and %.0f before", LeastShares, c.n[now], c.n[before])
	case !known && !perSecond:
		why = "too few functions have samples in both builds, and the measured time is unknown: budgets per unit of work can tell"
	case known:
		c.result.Notes = append(c.result.Notes, fmt.Sprintf("points assume that most functions cost what they did before: their shares are %.2g of what they were", common))
		return m, ""
	default:
		return m, ""
	}
	m.scale, m.likely, m.process = Growth{1, 1, 1}, 1, 1
	c.result.Notes = append(c.result.Notes, "points are of plain shares: when one function costs less, the shares of all others grow")
	return m, why
}

// inCommon is the factor by which the shares of most functions have changed: see [evidence.Common].
func (c *comparing) inCommon() (value, low, high float64, known bool) {
	var is, was []evidence.Hits
	for i := range c.names {
		if k := c.own[i]; k[before] > 0 && k[now] > 0 {
			is, was = append(is, c.sample(now, c.names[i], k[now])), append(was, c.sample(before, c.was[i], k[before]))
		}
	}
	return evidence.Common(is, was, highAlpha)
}

// sampled makes up for a side of one piece, which shows no variance: that of its samples is known. It reports whether it is one.
func sampled(p *evidence.PerWork, n float64) bool {
	if p.Freedom >= 1 || !(p.Value > 0) {
		return false
	}
	p.Variance, p.Freedom = unmeasured/max(n, 1), math.Inf(1)
	return true
}

// overdispersed is that of the samples of a cost, as is known from its pieces, and 1 at the least.
func overdispersed(p evidence.PerWork, n float64) float64 {
	if math.IsInf(p.Freedom, 1) {
		return unmeasured
	}
	return max(1, (p.Freedom*p.Variance*n+prior*unmeasured)/(p.Freedom+prior))
}

// sample are hits of a function on a side, with their overdispersion.
func (c *comparing) sample(side int, name string, k float64) evidence.Hits {
	most := float64(unmeasured)
	if c.inTurns() {
		most = betweenRuns
	}
	of := c.sides[side]
	if other := c.sides[1-side]; c.Label != "" && of.Pieces.Count < 2 { // tenants come and go, and one piece does not show it
		of = other
	}
	return evidence.Hits{K: min(k, c.n[side]), N: c.n[side], Phi: of.Pieces.phi(name, most)}
}

// points is the growth of so many hits, in parts of what everything cost before.
func (c *comparing) points(k [2]float64) float64 {
	return c.scale.Value*k[now]/c.n[now] - k[before]/c.n[before]
}

// share is the growth of a function's share, whether what was cut off is its own or not. A side of one piece is as
// overdispersed as the other one.
func (c *comparing) share(name, was string, k [2]float64) Growth {
	bound := func(k [2]float64, of func(now, before evidence.Hits, scale, alpha float64) float64, error float64) float64 {
		is, was := c.sample(now, name, k[now]), c.sample(before, was, k[before])
		if c.sides[before].Pieces.Count < 2 {
			was.Phi = is.Phi
		}
		return of(is, was, 1, error)
	}
	return Growth{
		Value: k[now]/c.n[now] - k[before]/c.n[before],
		Low:   bound([2]float64{k[before] + c.cut[before], k[now]}, evidence.ChangeAbove, alpha/c.tests),
		High:  bound([2]float64{k[before], k[now] + c.cut[now]}, evidence.ChangeBelow, highAlpha),
	}
}

// bounds are those of a function's growth. It is above the lower one by every measure that is known, because each
// answers what looks like growth in another one:
//
//   - per unit of work, by more than the limit. A unit costs more on a slower machine;
//   - as a share of the process, at today's mix of entry points. Shares grow when something else costs less;
//   - per second, where there is less work than before: what costs the same all the time costs more for each unit.
//
// Without a unit of work it is the share that has to grow by more than the limit, and per second it has to be more. Where
// both builds ran in turns, only the unit counts.
func (c *comparing) bounds(at id, k [2]float64) (low, high float64) {
	is, was := c.sample(now, c.names[at], k[now]), c.sample(before, c.was[at], k[before])
	error := alpha / c.tests
	if c.Fleet {
		error = fleetAlpha
		low, high = c.fleetPerUnit(at, is, was)
		is.Phi, was.Phi = c.apart(at, bySamples, fleetAlpha)
	} else {
		low, high = c.perUnit(c.names[at], is, was, error)
	}
	if low <= 0 || c.result.Why != "" || c.inTurns() {
		return low, high
	}
	mixed := was
	mixed.K = min(max(k[before], c.mixed(at, k[before])), mixed.N)
	share := evidence.ChangeAbove(is, mixed, 1, error)
	switch {
	case share <= 0:
		low = share
	case c.Per == "":
		if low = share; c.perSecond(is, was, error) <= 0 {
			low = 0
		}
	case c.load < 1:
		fixed := 1.0
		if !c.Fleet { // processes with more work have run for longer
			fixed = c.sides[before].Pieces.fixed(c.was[at], c.Per)
		}
		low = min(low, low-fixed*k[before]/c.n[before]*(1/c.load-1))
	}
	return low, high
}

// boundsWithCut are bounds that hold whether none of what was cut off is the function's, or all of it.
func (c *comparing) boundsWithCut(at id, k [2]float64) (low, high float64) {
	low, high = c.bounds(at, k)
	if c.Label != "" {
		if c.cut[before] > 0 {
			low, _ = c.bounds(at, [2]float64{k[before] + c.cut[before], k[now]})
		}
		if c.cut[now] > 0 {
			_, high = c.bounds(at, [2]float64{k[before], k[now] + c.cut[now]})
		}
		return low, high
	}
	if cut := [2]float64{c.cut[before] - c.known[at][before], c.cut[now] - c.known[at][now]}; cut[before]+cut[now] > 0 {
		l, h := c.bounds(at, [2]float64{k[before] + cut[before], k[now] + cut[now]})
		low, high = min(low, l), max(high, h)
	}
	return low, high
}

// rarely is a factor for samples that makes hits rare among them, so that their number is all that chance moves.
const rarely = 50

// perUnit are the bounds of a function's growth per unit of work. Where the side before is of one piece, all that is known
// of its cost are its samples, and a function has its hits for so much work; what others have does not count. It is then
// as overdispersed as it is now.
func (c *comparing) perUnit(name string, is, was evidence.Hits, error float64) (low, high float64) {
	if !c.counts {
		return evidence.ChangeAbove(is, was, c.scale.Low, error), evidence.ChangeBelow(is, was, c.scale.High, highAlpha)
	}
	is.Phi = c.sides[now].Pieces.perWork(name, c.Per)
	was.Phi = is.Phi
	is.N, was.N = rarely*is.N, rarely*was.N
	return rarely * evidence.ChangeAbove(is, was, c.scale.Value, error), rarely * evidence.ChangeBelow(is, was, c.scale.Value, highAlpha)
}

// perSecond is the least growth of a function's cost per second. Where that is not known, it may be any.
func (c *comparing) perSecond(is, was evidence.Hits, error float64) float64 {
	a, b := c.sides[now].Pieces.costOf(seconds), c.sides[before].Pieces.costOf(seconds)
	if !(a.Value > 0) || !(b.Value > 0) {
		return math.Inf(1)
	}
	sampled(&a, c.n[now])
	sampled(&b, c.n[before])
	_, scale, _ := a.Against(b, alpha)
	return evidence.ChangeAbove(is, was, scale, error)
}

// leastRest is the number of hits of an entry point beside one function from which they show how often it was asked.
const leastRest = 30

// mixed are the hits that a function would have had before at today's mix of entry points. How often an entry point is
// asked shows in what else it does.
func (c *comparing) mixed(at id, k float64) float64 {
	for e, f := range c.byEntry(at) {
		rest := [2]float64{c.all[e][before] - f[before], c.all[e][now] - f[now]}
		if rest[before] >= leastRest && rest[now] >= leastRest {
			k += f[before] * ((rest[now]/c.n[now])/(rest[before]/c.n[before]) - 1)
		}
	}
	return k
}

// byEntry are the hits of a function by the entry points that lead to it.
func (c *comparing) byEntry(at id) map[id][2]float64 {
	by := map[id][2]float64{}
	for i := range c.nodes {
		if x := &c.nodes[i]; x.id == at && x.kind == tree.Function {
			e := c.entry(int32(i))
			k := by[e]
			add(&k, x.charged())
			by[e] = k
		}
	}
	delete(by, at)
	return by
}
