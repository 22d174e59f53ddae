package release

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/profguard/profguard/internal/evidence"
)

// moveZ is how many standard deviations prove that cost has moved, or that it has not: a tail of
// 1 in 2,000. Only functions that have surely grown by themselves get here.
const moveZ = 3.3

// few is the number of samples before from which a caller is known to be one that both builds have.
const few = 3

// A via is what a function costs when it is called, directly or not, by one caller that both builds
// have: hits now and before.
type via struct{ now, before float64 }

// A move is what became of a function that has grown by itself.
type move struct {
	status Status
	caller id // through which it has grown the most
	known  bool
}

// judgeMove sets the status of a function that has grown by itself: [Grown] if its callers grew with it,
// [Moved] if they did not.
func (c *comparing) judgeMove(f *Function) {
	m := c.move(f.id, f.Points.Value, 0)
	f.Status, f.Caller = m.status, c.name(m.caller)
	if m.status == Moved {
		f.From = c.from(f)
	}
}

// mostClimbs is how far the reason of a growth is looked for in callers.
const mostClimbs = 8

// move tells whether a growth of a function is one of its callers, too.
func (c *comparing) move(f id, points float64, depth int) move {
	if m := c.moves[f]; m.known {
		return m
	}
	byCaller := map[id]*via{}
	each := func(side *counted, add func(*via, float64)) {
		for i := range side.stacks {
			s := &side.stacks[i]
			if !slices.Contains(s.frames, f) {
				continue
			}
			caller := c.caller(s, f)
			if byCaller[caller] == nil {
				byCaller[caller] = new(via)
			}
			add(byCaller[caller], s.hits)
		}
	}
	each(c.now, func(v *via, hits float64) { v.now += hits })
	each(c.before, func(v *via, hits float64) { v.before += hits })

	m := move{status: Undecided, caller: none, known: true}
	var all, grown, moved, largest float64
	for caller, v := range byCaller {
		growth := c.scale.Value*v.now/c.now.n - v.before/c.before.n
		if growth <= 0 {
			continue
		}
		all += growth
		if growth > largest || growth == largest && caller < m.caller {
			largest, m.caller = growth, caller
		}
		rest := c.outside(f, caller, growth)
		if by := (rest.volume - 1) * v.before / c.before.n; caller != none && by >= growth/2 && depth < mostClimbs {
			// There were more calls of the caller, so the question is whether that has grown.
			switch c.move(caller, growth, depth+1).status {
			case Grown:
				grown += growth
			case Moved:
				moved += growth
			}
			continue
		}
		// The caller has grown by half as much if all else in it has not lost the other half.
		deviation := math.Sqrt(unmeasured * growth / 2 * (1/c.before.n + c.scale.Value/c.now.n))
		switch {
		case rest.lost+moveZ*deviation < growth/2:
			grown += growth
		case rest.lost >= growth/2:
			moved += growth
		}
	}
	switch {
	case all < points/2: // with what it calls, it has not grown
		m.status = Moved
	case grown >= all/2:
		m.status = Grown
	case moved >= all/2:
		m.status = Moved
	}
	c.moves[f] = m
	return m
}

// caller is the nearest caller of a function in a stack that both builds have, or none.
func (c *comparing) caller(s *stack, f id) id {
	outer := len(s.frames) - 1
	for outer >= 0 && s.frames[outer] != f {
		outer--
	}
	for _, at := range s.frames[outer+1:] {
		if c.before.all[at] >= few && c.now.all[at] >= few {
			return at
		}
	}
	return none
}

// name is the name of a caller; of none it is the process.
func (c *comparing) name(at id) string {
	if at == none {
		return "the process"
	}
	return c.names[at]
}

// A remainder is what became of a caller outside one function.
type remainder struct {
	lost   float64 // cost that it has lost
	volume float64 // the factor by which all of it has changed; 1 if not known
}

// Between a mixLeast and a mixMost of what it was may the volume of calls of a caller be by chance.
const mixLeast, mixMost = 0.95, 1.05

// outside compares what a caller costs outside a function. What all functions in it have in common,
// within limits, is no loss: there were fewer calls. A loss is one of leaves, or of what the caller calls, if
// it is not what others of these have gained.
func (c *comparing) outside(f, caller id, growth float64) remainder {
	type hits struct{ leaf, called map[id]float64 }
	of := func(side *counted) (h hits, sum float64) {
		h = hits{map[id]float64{}, map[id]float64{}}
		for i := range side.stacks {
			s := &side.stacks[i]
			inner := s.frames
			if caller != none {
				at := slices.Index(inner, caller)
				if at < 0 {
					continue
				}
				inner = inner[:at]
			}
			if len(s.frames) == 0 || slices.Contains(s.frames, f) {
				continue
			}
			h.leaf[s.frames[0]] += s.hits
			sum += s.hits
			if len(inner) > 0 {
				h.called[inner[len(inner)-1]] += s.hits
			}
		}
		return h, sum
	}
	now, sum := of(c.now)
	before, sum0 := of(c.before)
	var is, was []evidence.Hits
	for at, k0 := range before.leaf {
		if k := now.leaf[at]; k > 0 {
			is, was = append(is, c.now.hits(k, "")), append(was, c.before.hits(k0, ""))
		}
	}
	r := remainder{volume: 1}
	mix := 1.0
	if ratio, _, _, known := evidence.Common(is, was, highAlpha); known {
		r.volume = c.scale.Value * ratio
		mix = min(max(r.volume, mixLeast), mixMost)
	} else if sum > 30 && sum0 > 30 {
		r.volume = c.scale.Value * sum / c.now.n * c.before.n / sum0
	}
	unmatched := func(now, before map[id]float64) float64 {
		losses, gains := []float64{}, []float64{growth}
		all := maps.Clone(before)
		for at := range now {
			all[at] += 0
		}
		for at, k0 := range all {
			k := now[at]
			loss := mix*k0/c.before.n - c.scale.Value*k/c.now.n
			noise := math.Sqrt(unmeasured*(k0+1))/c.before.n + c.scale.Value*math.Sqrt(unmeasured*k)/c.now.n
			switch { // of many functions, as many have more hits by chance as have fewer
			case loss > noise:
				losses = append(losses, loss)
			case -loss > noise:
				gains = append(gains, -loss)
			}
		}
		return leftFor(gains, losses)
	}
	r.lost = max(unmatched(now.leaf, before.leaf), unmatched(now.called, before.called))
	return r
}

// alike is the ratio from which a gain and a loss may be of one function, which was renamed.
const alike = 0.75

// leftFor is how much of the losses may be the first of the gains. The losses that are as large as other gains
// are taken for these, the most alike first: with two changes under one caller, each has its own.
func leftFor(gains, losses []float64) (left float64) {
	slices.Sort(losses)
	slices.Sort(gains[1:])
	for range gains {
		best, gain, loss := alike, -1, -1
		for g, a := range gains {
			for l, b := range losses {
				if ratio := min(a, b) / max(a, b); a > 0 && b > 0 && ratio > best {
					best, gain, loss = ratio, g, l
				}
			}
		}
		if gain < 0 {
			break
		}
		if gain == 0 {
			return losses[loss]
		}
		gains[gain], losses[loss] = 0, 0
	}
	for _, loss := range losses {
		left += loss
	}
	return left
}

// mostFrom is how many functions are named as those where moved cost was before.
const mostFrom = 3

// from are the functions that have lost cost under the caller of a function that has moved.
func (c *comparing) from(f *Function) (list []string) {
	lost := map[id]float64{}
	each := func(side *counted, factor float64) {
		for i := range side.stacks {
			s := &side.stacks[i]
			for _, at := range s.charged {
				if at != f.id && c.name(c.caller(s, at)) == f.Caller {
					lost[at] += factor * s.hits / side.n
				}
			}
		}
	}
	each(c.before, 1)
	each(c.now, -c.scale.Value)
	var ids []id
	for at, points := range lost {
		if points >= f.Points.Value/4 {
			ids = append(ids, at)
		}
	}
	sort.Slice(ids, func(i, j int) bool {
		a, b := ids[i], ids[j]
		return cmp.Or(-cmp.Compare(lost[a], lost[b]), cmp.Compare(a, b)) < 0
	})
	for _, at := range ids { // one that is as large is the likeliest
		if ratio := min(lost[at], f.Points.Value) / max(lost[at], f.Points.Value); ratio > alike {
			ids = []id{at}
			break
		}
	}
	sum := 0.0
	for _, at := range ids[:min(len(ids), mostFrom)] {
		if sum >= 0.9*f.Points.Value {
			break
		}
		list, sum = append(list, c.was[at]), sum+lost[at]
	}
	return list
}
