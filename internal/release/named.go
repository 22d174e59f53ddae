package release

import (
	"math"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/tree"
)

// mostNamed is how many functions are named.
const mostNamed = 8

// chosen are the functions to name, and those of the others that surely cost more, as 1 and up in their order: the one
// that has grown the most first, and of that the deepest function with two thirds of it. What one of them has grown by
// is taken off the others. Without it, those to name have grown by more than the limit, and the others surely by more
// than 0.
func (c *comparing) chosen(list []Function) (named, above map[id]int) {
	sure, dearer, others := map[id]bool{}, map[id]float64{}, map[id]float64{}
	for i := range list {
		switch f := &list[i]; {
		case f.Status == Moved || f.Points.Low <= 0:
		case f.Status == Grown && (c.inTurns() || !c.moreCalls(f.id)):
			sure[f.id], dearer[f.id] = true, c.Limit
		default:
			sure[f.id], others[f.id] = true, f.Moved+f.Points.Value-f.Points.Low
		}
	}
	left := make([][2]float64, len(c.nodes)) // of each node's own samples
	for i := range left {
		left[i] = c.nodes[i].own
	}
	if c.result.Why == "" {
		named = c.choose(dearer, sure, left)
	}
	return named, c.choose(others, sure, left)
}

// choose orders functions with their limits. What they have grown by is taken off the samples that are left.
func (c *comparing) choose(limits map[id]float64, sure map[id]bool, left [][2]float64) map[id]int {
	order := map[id]int{}
	for len(order) < mostNamed {
		points := c.growths(left, process)
		best, most := process, 0.0
		for at, limit := range limits {
			if p := points[at]; p > limit && p > c.points(c.hits[at])/2 && (p > most || p == most && at < best) {
				best, most = at, p
			}
		}
		if best == process {
			break
		}
		best = c.deepest(best, most, sure, left)
		order[best] = len(order) + 1
		delete(limits, best)
		c.take(best, left)
	}
	return order
}

// growths are the growths of functions in the samples that are left, below one of them or at all.
func (c *comparing) growths(left [][2]float64, above id) map[id]float64 {
	below := make([][2]float64, len(left))
	inside := make([]bool, len(left))
	for i := range c.nodes {
		x := &c.nodes[i]
		inside[i] = above == process || i > 0 && (inside[x.parent] || x.id == above)
	}
	points := map[id]float64{}
	for i := len(c.nodes) - 1; i > 0; i-- {
		x := &c.nodes[i]
		add(&below[i], left[i])
		add(&below[x.parent], below[i])
		switch {
		case !inside[i] || x.id == above && above != process:
		case x.kind == tree.Function:
			points[x.id] += c.points(below[i])
		case x.kind == tree.Entry:
			points[x.id] += c.points(left[i])
		}
	}
	return points
}

// deepest is the deepest function that has surely grown, with two thirds of a growth.
func (c *comparing) deepest(at id, points float64, sure map[id]bool, left [][2]float64) id {
	for seen := map[id]bool{at: true}; ; seen[at] = true {
		next, most := process, points*2/3
		for below, p := range c.growths(left, at) {
			if sure[below] && !seen[below] && p >= most && (p > most || next == process || below < next) {
				next, most = below, p
			}
		}
		if next == process {
			return at
		}
		// Where it has moved or stacks are cut off, it has grown by less than it has below the caller.
		at, points = next, min(most, c.growths(left, process)[next])
	}
}

// take takes a function's samples off those that are left.
func (c *comparing) take(at id, left [][2]float64) {
	inside := make([]bool, len(left))
	for i := range c.nodes {
		x := &c.nodes[i]
		if inside[i] = i > 0 && (inside[x.parent] || x.id == at && x.kind == tree.Function); inside[i] || x.id == at {
			left[i] = [2]float64{}
		}
	}
}

// locate finds the lines of a function: its own, and the nearest one of the program's own module on the way to it,
// where it has grown the most. It is one that serves its caller, as String of a message, only if there is no other.
func (c *comparing) locate(f *Function) {
	best, most, side := int32(-1), math.Inf(-1), now
	for i := range c.nodes {
		x := &c.nodes[i]
		if p := c.points(x.charged()); x.id == f.id && (x.kind == tree.Function || x.kind == tree.Entry) && p > most {
			best, most = int32(i), p
		}
	}
	if best < 0 {
		return
	}
	if c.nodes[best].sides[now] == nil {
		side = before
	}
	f.Line = c.frame(best, side)
	line := f.Line.Line // of the function on the way
	for at := best; at > 0; at = c.nodes[at].parent {
		x := c.nodes[at].sides[side]
		if x == nil {
			break
		}
		if x.Mine {
			above := c.nodes[c.nodes[at].parent].sides[side]
			serves := above != nil && charge.Serves(x.Name, x.File, above.Name)
			if f.Blame.Function == "" || !serves {
				f.Blame = c.frame(at, side)
				f.Blame.Line = line
			}
			if !serves {
				break
			}
		}
		line = x.Call
	}
}

// frame is a node's line on a side.
func (c *comparing) frame(at int32, side int) Frame {
	x := c.nodes[at].sides[side]
	return Frame{Function: x.Name, File: x.File, Line: x.Line, InModule: x.Mine}
}
