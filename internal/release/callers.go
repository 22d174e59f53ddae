package release

import (
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/tree"
)

// This file decides whether a function that costs more has grown, or whether cost has only moved to it.
//
// The argument: renaming, extracting, inlining, wrapping, merging and splitting move cost from one place of the tree to
// another. Some function stands above both places, both builds have it, and it costs what it cost before. So a
// function has grown only if every caller that both builds have has grown with it. The nearest caller is not enough:
// where cost moves from one sibling to another, the sibling is the nearest caller, and it has grown; their common
// caller has not.
//
// Growth of a caller does not prove the opposite: more calls of it, or a slower machine, make all of its parts
// cost more. So the parts of a caller are compared with each other, too, and what they have lost beyond
// what they have in common is taken off: see lost.

// few is the number of hits of each side from which both builds have a function.
const few = 3

// doubtAlpha is the chance that a caller seems to have grown where it may not have: two standard deviations, because
// the function itself has surely grown.
const doubtAlpha = 0.02

// withCallers sets the status of a function that costs more. It adds up its growth by the ways to it:
//
//   - kept: all callers on the way have grown with it
//   - open: they may have, but their samples are too few to tell
//   - lost: what other parts of the callers have lost, whether the callers grew or not
//
// A function whose growth is mostly kept has grown, and one whose growth mostly is not has cost from elsewhere.
// It is undecided where open ways decide, and nothing shows where cost came from. Where callers grew and parts of them
// lost as well, both happened: the rest without the loss has to be above the limit by itself.
func (c *comparing) withCallers(f *Function) {
	ways, need := c.ways(f.id)
	var all, kept, open, lost float64
	was := ""
	for _, key := range slices.Sorted(maps.Keys(ways)) { // so that equal comparisons say the same
		w := ways[key]
		if w.points <= 0 {
			continue
		}
		all += w.points
		switch without := func(grew func(id, float64) bool) bool {
			return slices.ContainsFunc(w.callers, func(at id) bool { return !grew(at, need[at]) })
		}; {
		case !without(c.grewWith):
			kept += w.points
		case !without(c.mayGrowWith):
			open += w.points
		}
		part := 0.0
		for _, at := range w.callers {
			moved, from := c.lost(at, f.id, need[at])
			if part = max(part, moved/need[at]); from != process {
				was = c.was[from]
			}
		}
		lost += w.points * min(part, 1)
	}
	renamed := lost
	if was == "" && kept < all/2 {
		var less float64
		was, less = c.gone(all)
		renamed = max(lost, less)
	}
	switch f.Status = Grown; {
	case kept < all/2 && kept+open >= all/2 && lost < all/2 && was == "":
		f.Status, f.MayMove = Undecided, true
		return
	case kept < all/2 && !(c.inTurns() && lost > 0):
		f.Status, f.From = Moved, was
		c.leave(f, renamed, ways)
		return
	case kept >= all/2 && lost < all/2:
		return
	}
	// What others have lost has moved: they and the function are one. What is left is growth if it is surely above
	// the limit.
	f.Moved = lost
	k := [2]float64{c.hits[f.id][before] + lost*c.n[before], c.hits[f.id][now]}
	rest := Growth{Value: f.Points.Value - lost}
	rest.Low, rest.High = c.boundsWithCut(f.id, k)
	if f.From = was; rest.Low <= c.Limit {
		f.Status = Moved
		c.leave(f, lost, ways)
		return
	}
	f.Points = rest
}

// leave sets what a function that cost has moved to may have grown by beside that: one that was renamed may cost
// more, too, so "moved" alone must not pass a budget. There are two bounds, and the smaller one holds: the
// growth without what others have lost, and the growth of the callers, which have it in them.
func (c *comparing) leave(f *Function, lost float64, ways map[string]*way) {
	if c.inTurns() {
		return
	}
	above, k := Growth{}, c.hits[f.id]
	f.Rest.Value = f.Points.Value - lost
	f.Rest.Low, f.Rest.High = c.boundsWithCut(f.id, [2]float64{k[before] + lost*c.n[before], k[now]})
	f.RestShare = c.share(c.names[f.id], c.was[f.id], [2]float64{k[before] + lost/c.scale.Value*c.n[before], k[now]})
	for _, w := range ways {
		least := Growth{High: math.Inf(1)}
		for _, at := range w.callers {
			grew := c.grown()
			if at != process {
				grew.Value = c.points(c.all[at])
				grew.Low, grew.High = c.boundsWithCut(at, c.all[at])
			}
			if grew.High < least.High {
				least = grew
			}
		}
		above = Growth{above.Value + max(0, least.Value), above.Low + max(0, least.Low), above.High + max(0, least.High)}
	}
	if above.High < f.Rest.High {
		f.Rest = above
	}
}

// gone is a function that this build lacks and that cost nearly as many points, with these points, or "". It explains
// a function without callers in common by its cost alone, as a renamed handler.
func (c *comparing) gone(points float64) (was string, less float64) {
	for i, k := range c.hits {
		if less := -c.points(k); k[now] < few && min(less, points) > alike*max(less, points) {
			return c.was[i], less
		}
	}
	return "", 0
}

// deviation is the standard deviation of a cost in points.
func (c *comparing) deviation(points float64) float64 {
	return math.Sqrt(unmeasured * points * (1/c.n[before] + c.scale.Value/c.n[now]))
}

// A way is one way to a function: its growth on it, and the callers that both builds have, the process if there are
// none. Ways with the same callers are one, because what only one build has in between is what was refactored.
type way struct {
	callers []id
	points  float64
}

// ways are those to a function, and what each of the callers would have grown by if nothing else in it has changed.
func (c *comparing) ways(at id) (ways map[string]*way, need map[id]float64) {
	ways, need = map[string]*way{}, map[id]float64{}
	byEntry := c.byEntry(at)
	for i := range c.nodes {
		x := &c.nodes[i]
		k := x.charged()
		if x.id != at || k == [2]float64{} {
			continue
		}
		var w way
		var key []byte
		c.callers(int32(i), func(caller id) {
			if caller != at && c.isCaller(caller, byEntry[caller]) {
				w.callers = append(w.callers, caller)
				key = append(key, byte(caller), byte(caller>>8), byte(caller>>16))
			}
		})
		if ways[string(key)] == nil {
			ways[string(key)] = &w
		}
		ways[string(key)].points += c.points(k)
	}
	for _, w := range ways {
		if len(w.callers) == 0 {
			w.callers = []id{process}
		}
		for _, caller := range w.callers {
			need[caller] += w.points
		}
	}
	return ways, need
}

// isCaller reports whether both builds have a caller. An entry point counts if it does something else, too: whether it
// was asked more often shows in that.
func (c *comparing) isCaller(caller id, hits [2]float64) bool {
	k := c.all[caller]
	if c.isEntry[caller] {
		return k[before]-hits[before] >= leastRest && k[now]-hits[now] >= leastRest
	}
	return k[before] >= few && k[now] >= few
}

// grewWith reports whether a caller has grown with a function that has grown by so many points. There are two ways
// to show it:
//
//   - It has grown by half as much, without what all functions have in common: on a slower machine a caller costs
//     more that has gained nothing. Where the process surely has not grown by as much, this has to be likely and
//     not only measured, because then cost may have moved within the caller.
//   - It has surely grown by more than the limit, and as a share, however that compares with the function.
func (c *comparing) grewWith(caller id, points float64) bool {
	if caller == process {
		if c.Per == "" {
			return c.scale.Value-1 >= points/2
		}
		return c.process-1 >= points/2
	}
	k := c.all[caller]
	is, was := c.sample(now, c.names[caller], k[now]), c.sample(before, c.was[caller], k[before])
	if error := alpha / c.tests; c.points(k)-(c.common-1)*k[before]/c.n[before] < points/2 {
		return evidence.ChangeAbove(is, was, c.scale.Low, error) > c.Limit && evidence.ChangeAbove(is, was, 1, error) > 0
	}
	least := c.likely
	if c.Per == "" {
		least = c.scale.Value // what few functions have in common is known to no better than a factor of two
	}
	return c.scale.High-1 >= points/2 || evidence.ChangeAbove(is, was, least, doubtAlpha) > 0
}

// mayGrowWith reports whether a caller may have grown by half as much. If it may and grewWith says no, there are too
// few samples to tell.
func (c *comparing) mayGrowWith(caller id, points float64) bool {
	if caller == process {
		return c.scale.High-1 >= points/2
	}
	k := c.all[caller]
	is, was := c.sample(now, c.names[caller], k[now]), c.sample(before, c.was[caller], k[before])
	return evidence.ChangeBelow(is, was, c.scale.High, doubtAlpha) >= points/2
}

// leastParts is the number of parts of a caller that show how often it was called, each with leastPart hits.
const leastParts, leastPart = 3, 10

// lost is how much of the points of a function, through one caller, other parts of the caller have lost.
//
// A caller may be called more or less often than before, on a slower or a faster machine. All of its parts show that
// alike, so the ratio of most of them (the weighted median) is taken for it, and a part has lost what it lacks beside
// that, beyond two standard deviations. A mean would follow the part that has changed. from is the part that has
// lost as much as the function has gained, or process.
func (c *comparing) lost(caller, beside id, points float64) (moved float64, from id) {
	parts := c.parts(caller, beside)
	type ratio struct{ of, weight float64 }
	var ratios []ratio
	total := 0.0
	for _, k := range parts {
		if k[before] >= leastPart && k[now] >= leastPart {
			ratios, total = append(ratios, ratio{k[now] / c.n[now] * c.n[before] / k[before], k[before]}), total+k[before]
		}
	}
	switch {
	case c.inTurns(): // it is called as often for a unit of work
		ratios = nil
	case len(ratios) < leastParts:
		return 0, process
	}
	sort.Slice(ratios, func(i, j int) bool { return ratios[i].of < ratios[j].of })
	volume, sum := 1/c.scale.Value, 0.0
	for _, r := range ratios {
		if sum += r.weight; sum >= total/2 {
			volume = r.of
			break
		}
	}
	gains, losses := []gain{{points, c.isNew(beside)}}, []loss{}
	for at, k := range parts {
		share, share0 := k[now]/c.n[now], volume*k[before]/c.n[before]
		switch more := c.scale.Value * (share - share0); {
		case math.Abs(more) < 2*c.scale.Value*math.Sqrt(unmeasured*(volume*share0/c.n[before]+share/c.n[now])):
		case more > 0:
			gains = append(gains, gain{more, c.isNew(at)})
		default:
			losses = append(losses, loss{at, -more})
		}
	}
	sort.Slice(losses, func(i, j int) bool { return losses[i].from < losses[j].from })
	sort.Slice(gains[1:], func(i, j int) bool { return gains[i+1].points < gains[j+1].points })
	return shared(gains, losses, func(g gain, lost float64) bool {
		noise := math.Hypot(c.deviation(g.points), c.deviation(lost))
		return min(g.points, lost) > alike*max(g.points, lost) || c.inTurns() && g.isNew && math.Abs(g.points-lost) < 2*noise
	})
}

func (c *comparing) isNew(at id) bool { return c.all[at][before] == 0 }

// A gain is what a part of a caller costs more, in points. Only this build may have it.
type gain struct {
	points float64
	isNew  bool
}

// A loss is what a part of a caller costs less, in points.
type loss struct {
	from   id
	points float64
}

// alike is the ratio from which a gain and a loss may be of one function, that was renamed.
const alike = 0.75

// shared is how much of the losses has become the first of the gains.
//
// Two changes under one caller must not explain each other: a rename and a regression would hide the
// regression. So losses and gains of about the same size are matched first: those of functions that only this build
// has, because renaming and extracting make such, and then the most alike. The gains that are not matched share what is left of the losses in proportion, because a function may have been split into them.
func shared(gains []gain, losses []loss, alike func(gain, float64) bool) (points float64, from id) {
	taken, first := make([]bool, len(gains)), gains[0].points
	for {
		g, l, best := -1, -1, 0.0
		for i, gain := range gains {
			for j, loss := range losses {
				if taken[i] || !alike(gain, loss.points) {
					continue
				}
				ratio := min(gain.points, loss.points) / max(gain.points, loss.points)
				if gain.isNew {
					ratio++
				}
				if ratio > best {
					g, l, best = i, j, ratio
				}
			}
		}
		if g < 0 {
			break
		}
		if taken[g] = true; g == 0 {
			return min(first, losses[l].points), losses[l].from
		}
		if losses[l].points -= gains[g].points; losses[l].points <= 0 {
			losses = slices.Delete(losses, l, l+1)
		}
	}
	gained, lost := 0.0, 0.0
	for i, gain := range gains {
		if !taken[i] {
			gained += gain.points
		}
	}
	for _, loss := range losses {
		lost += loss.points
	}
	return first * min(1, lost/gained), process
}

// parts are the hits of a caller's parts, without one function and all below that: the caller's own body, and each
// function that it calls, with all below it.
func (c *comparing) parts(caller, beside id) map[id][2]float64 {
	parts := map[id][2]float64{}
	part := make([]id, len(c.nodes)) // of each node, or none
	const none = process - 1
	for i := range c.nodes {
		x := &c.nodes[i]
		switch {
		case i == 0:
			if part[i] = none; caller == process {
				part[i] = process
			}
		case x.kind == tree.Aside || x.kind == tree.Cut || x.id == beside:
			part[i] = none
		case x.id == caller:
			part[i] = caller
		case part[x.parent] == caller:
			part[i] = x.id
		default:
			part[i] = part[x.parent]
		}
		if part[i] != none {
			k := parts[part[i]]
			add(&k, x.own)
			parts[part[i]] = k
		}
	}
	return parts
}

// moreCalls reports whether a function is only called more often: three parts of it or more have all grown alike, by
// chi-squared. Code that got slower does so in one place, and more calls make every part of it cost more. Then
// nothing is wrong with the function, and its caller is asked.
func (c *comparing) moreCalls(at id) bool {
	parts := map[id][2]float64{}
	var sum [2]float64
	inside := make([]bool, len(c.nodes))
	for i := range c.nodes {
		x := &c.nodes[i]
		if inside[i] = i > 0 && inside[x.parent] || x.id == at && x.kind == tree.Function; !inside[i] {
			continue
		}
		part := process // what only one build has
		if k := c.own[x.id]; k[before] >= few && k[now] >= few {
			part = x.id
		}
		k := parts[part]
		add(&k, x.own)
		parts[part] = k
		add(&sum, x.own)
	}
	chi, freedom := 0.0, -1.0
	for _, k := range parts {
		if n := k[before] + k[now]; n >= leastRest {
			p := sum[now] / (sum[now] + sum[before])
			chi += (k[now] - n*p) * (k[now] - n*p) / (n * p * (1 - p)) / unmeasured
			freedom++
		}
	}
	return freedom >= 2 && chi < freedom+3.3*math.Sqrt(2*freedom)
}
