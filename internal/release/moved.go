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

	moved float64 // the part of the growth that others have lost
	doubt float64 // how much more that may be, as it is not known whether the callers have grown
	least float64 // what the callers have grown by, in all likelihood at least
}

// judgeMove sets the status of a function that has grown by itself: [Grown] if its callers grew with it,
// [Moved] if they did not. What has moved is no part of its growth. What remains is, if that is surely above
// the limit, and the callers have grown by more than it, too.
func (c *comparing) judgeMove(f *Function, tests float64) {
	m := c.move(f.id, f.Points.Value, 0)
	f.Status, f.Caller, f.Moved = m.status, c.name(m.caller), m.moved
	if f.Status == Moved || f.Moved > 0 {
		f.From = c.from(f, cmp.Or(f.Moved, f.Points.Value))
	}
	rest := Growth{f.Points.Value - m.moved, f.Points.Low - m.moved, f.Points.High - m.moved}
	if m.moved > 0 { // as if it had cost that before, under its name now
		now, before := c.both(f.id)
		before.K += m.moved * before.N
		low, high := c.bounds(now, before, tests)
		rest.Low, rest.High = min(rest.Low, low), max(rest.High, high)
	}
	rest.Low -= m.doubt
	if f.Status != Grown && min(rest.Low, m.least) > c.Limit {
		f.Status = Grown
	}
	if f.Status != Moved {
		f.Points = rest
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
	var lost, gone float64
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
				moved, lost = moved+growth, lost+growth
			default:
				m.doubt += growth
			}
			continue
		}
		lost, gone = lost+min(rest.lost, growth), gone+min(rest.gone, growth)
		m.least += max(0, c.above(caller, rest.volume))
		// The caller has grown by half as much if all else in it has not lost the other half.
		switch {
		case rest.surely+moveZ*c.deviation(growth/2) < growth/2:
			grown += growth
		case rest.lost >= growth/2:
			moved += growth
		}
	}
	switch {
	case all < points/2: // with what it calls, it has not grown
		m.status, lost, m.least = Moved, points, 0
	case grown >= all/2:
		m.status, lost = Grown, gone // what got cheaper under another name has not moved
	case moved >= all/2:
		m.status = Moved
	}
	if lost > moveZ*c.deviation(lost) {
		m.moved = lost
	}
	c.moves[f] = m
	return m
}

// deviation is the standard deviation of a cost in points.
func (c *comparing) deviation(points float64) float64 {
	return math.Sqrt(unmeasured * points * (1/c.before.n + c.scale.Value/c.now.n))
}

// above is what a caller, or the process, has grown by at the least, with an error of highAlpha. volume is the
// factor by which there were more calls of it.
func (c *comparing) above(caller id, volume float64) float64 {
	now, before := c.now.hits(c.now.n, ""), c.before.hits(c.before.n, "")
	if caller != none {
		now, before = c.now.hits(c.now.all[caller], c.names[caller]), c.before.hits(c.before.all[caller], c.was[caller])
	}
	e := max(c.expected, volume)
	return e * evidence.ChangeAbove(now, before, c.likely/e, highAlpha)
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
	surely float64 // the part of it beyond chance: of a hundred functions a few have lost much by chance
	gone   float64 // the part of it in functions of which hardly anything is left
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
	change := func(k, k0 float64) (loss, noise float64) {
		loss = mix*k0/c.before.n - c.scale.Value*k/c.now.n
		return loss, math.Sqrt(unmeasured*(k0+1))/c.before.n + c.scale.Value*math.Sqrt(unmeasured*k)/c.now.n
	}
	unmatched := func(now, before map[id]float64) {
		var losses, surely, ends []float64
		gains := []float64{growth}
		all := maps.Clone(before)
		for at := range now {
			all[at] += 0
		}
		for at, k0 := range all {
			k := now[at]
			loss, noise := change(k, k0)
			switch {
			case -loss > noise:
				gains = append(gains, -loss)
			case loss > noise:
				losses, surely = append(losses, loss), append(surely, beyond(loss, noise))
				if c.scale.Value*k/c.now.n < remains*k0/c.before.n {
					ends = append(ends, loss)
				}
			}
		}
		r.lost = max(r.lost, leftFor(slices.Clone(gains), losses))
		r.surely = max(r.surely, leftFor(slices.Clone(gains), surely))
		r.gone = max(r.gone, leftFor(gains, ends))
	}
	unmatched(now.leaf, before.leaf)
	unmatched(now.called, before.called)
	// What was lost in many small pieces shows in their sum only.
	r.surely = max(r.surely, beyond(change(sum, sum0)))
	return r
}

// beyond is the part of a loss that is not by chance.
func beyond(loss, noise float64) float64 {
	if loss > 2*noise {
		return loss
	}
	return loss - noise
}

// remains is the part of its cost up to which hardly anything is left of a function.
const remains = 0.25

// alike is the ratio from which a gain and a loss may be of one function, which was renamed. Gains whose ratios
// to a loss differ by less than asAlike are as likely to be.
const alike, asAlike = 0.75, 0.1

// leftFor is how much of the losses may be the first of the gains. A loss that is as large as a gain is taken
// for it, the most alike first: with two changes under one caller, each has its own. Gains that are as alike share
// a loss, and all share what is left of the losses, each by its size: no loss is used twice.
func leftFor(gains, losses []float64) (left float64) {
	slices.Sort(losses)
	slices.Sort(gains[1:])
	all := gains[0]
	ratio := func(g, l int) float64 { return min(gains[g], losses[l]) / max(gains[g], losses[l]) }
	freeGain, freeLoss := make([]bool, len(gains)), make([]bool, len(losses))
	for g := range gains {
		freeGain[g] = gains[g] > 0
	}
	for l := range losses {
		freeLoss[l] = losses[l] > 0
	}
	for {
		best, loss := alike, -1
		for g := range gains {
			for l := range losses {
				if freeGain[g] && freeLoss[l] && ratio(g, l) > best {
					best, loss = ratio(g, l), l
				}
			}
		}
		if loss < 0 {
			break
		}
		var sharing []int
		sum := 0.0
		for g := range gains {
			if freeGain[g] && ratio(g, loss) > best-asAlike {
				sharing, sum = append(sharing, g), sum+gains[g]
				freeGain[g] = false
			}
		}
		part := min(1, losses[loss]/sum)
		for _, g := range sharing {
			gains[g] -= part * gains[g]
		}
		losses[loss], freeLoss[loss] = losses[loss]-part*sum, false
	}
	sum, rest := 0.0, 0.0
	for _, gain := range gains {
		sum += gain
	}
	for _, loss := range losses {
		rest += loss
	}
	if sum > 0 {
		gains[0] -= gains[0] * min(1, rest/sum)
	}
	return all - gains[0]
}

// mostFrom is how many functions are named as those where moved cost was before.
const mostFrom = 3

// from are the functions where cost was before that has moved to a function: those that have lost cost under
// its caller.
func (c *comparing) from(f *Function, moved float64) (list []string) {
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
		if points >= moved/4 {
			ids = append(ids, at)
		}
	}
	sort.Slice(ids, func(i, j int) bool {
		a, b := ids[i], ids[j]
		return cmp.Or(-cmp.Compare(lost[a], lost[b]), cmp.Compare(a, b)) < 0
	})
	for _, at := range ids { // one that is as large is the likeliest
		if ratio := min(lost[at], moved) / max(lost[at], moved); ratio > alike {
			ids = []id{at}
			break
		}
	}
	sum := 0.0
	for _, at := range ids[:min(len(ids), mostFrom)] {
		if sum >= 0.9*moved {
			break
		}
		list, sum = append(list, c.was[at]), sum+lost[at]
	}
	return list
}
