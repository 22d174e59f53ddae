package page

import (
	"cmp"
	"slices"

	"github.com/profguard/profguard/internal/decode"
)

const (
	// maxNodes is more frames than anybody looks at, and about 700 KB of SVG.
	maxNodes = 2500
	// maxDepth is what runtime/pprof records of a stack, 128 frames; inlined
	// ones come on top and are cut.
	maxDepth = 128
	// minShare is the narrowest frame drawn: one pixel of a wide screen.
	minShare = 0.001
	// maxSteps bounds the time that a profile takes, whatever it holds, to about
	// a fifth of a second: a step is one frame of one stack, and BenchmarkFlame
	// says 100 ns. Its 20,000 stacks of 40 frames take 264,000 steps.
	maxSteps = 2_000_000
)

// A Flame is a tree of the stacks of one profile, root first, with what each
// frame is worth together with all that it calls. It holds at most 2,500 frames
// of 128 levels; those below a thousandth of the whole are left out.
type Flame struct {
	Unit  string  // of [Amount]
	Total float64 // of the whole profile
	// Cut says that there were more frames than are drawn, for another reason
	// than being too narrow.
	Cut bool
	// Above are the frames on the way to where the drawing begins.
	Above []Frame

	nodes []node
	depth int
	steps int    // that it took
	own   string // the program's module
}

// A Frame is a function on the way to a [Flame]'s beginning.
type Frame struct {
	Name  string
	Path  Path
	Value float64
}

// node is one frame of the drawing. The first is the whole.
type node struct {
	name   string
	path   Path
	depth  int
	left   float64 // where it begins, in the unit of value
	value  float64
	self   float64
	lo, hi int // its samples, while building
}

// NewFlame makes the tree of a profile, from the frame at path on. Frames of
// module, the program's own, are marked. The table may be reused afterwards. A
// path that leads nowhere yields a Flame without frames.
func NewFlame(t *decode.Table, module string, path Path) *Flame {
	f := &Flame{own: module}
	if len(t.Types) == 0 {
		return f
	}
	column := t.DefaultType
	if column < 0 {
		column = len(t.Types) - 1 // as pprof does
	}
	unit, factor := UnitOf(t.Types[column].Unit)
	f.Unit = unit
	b := flameBuilder{t: t, steps: maxSteps}
	for i, s := range t.Samples {
		if v := float64(t.Values[i*len(t.Types)+column]); v > 0 {
			b.samples = append(b.samples, cursor{stack: s.StackHi, end: s.StackLo, value: v * factor})
			f.Total += v * factor
		}
	}
	root := node{hi: len(b.samples), value: f.Total}
	for i, rank := range path {
		children := b.expand(&root)
		if rank >= len(children) {
			return f
		}
		root = children[rank]
		root.path = path[:i+1]
		f.Above = append(f.Above, Frame{Name: root.name, Path: root.path, Value: root.value})
	}
	if root.value <= 0 {
		return f
	}
	root.depth, root.left = 0, 0
	f.nodes = append(f.nodes, root)
	// Level by level, so that what is cut off is what is deepest.
	for i := 0; i < len(f.nodes); i++ {
		n := f.nodes[i]
		children := b.expand(&n)
		f.nodes[i].self = n.self
		left := n.left
		for rank, c := range children {
			if c.value < minShare*root.value {
				break // they are sorted
			}
			if len(f.nodes) == maxNodes || n.depth == maxDepth {
				f.Cut = true
				break
			}
			c.depth, c.left = n.depth+1, left
			c.path = append(slices.Clip(n.path), rank)
			left += c.value
			f.nodes = append(f.nodes, c)
			f.depth = max(f.depth, c.depth)
		}
	}
	f.Cut = f.Cut || b.steps <= 0
	f.steps = maxSteps - b.steps
	return f
}

// cursor is how far one stack has been followed. Locations hold inlined frames,
// so there are two positions: stack points behind the location (they are stored
// leaf first, so it counts down to end), lines is how many of its lines are left.
type cursor struct {
	stack, end int32
	lines      int32
	value      float64
}

type flameBuilder struct {
	t       *decode.Table
	samples []cursor // those of a node stand together
	steps   int
	scratch []cursor
	group   []int32 // of each sample of the node, the child that it goes on to
}

// next moves a cursor to the frame that is called, if there is one.
func (b *flameBuilder) next(c *cursor) (decode.ID, bool) {
	for c.lines == 0 {
		if c.stack == c.end {
			return 0, false
		}
		c.stack--
		loc := b.t.Locations[b.t.Stacks[c.stack]]
		c.lines = loc.LineHi - loc.LineLo
	}
	// The innermost inlined frame is the first.
	c.lines--
	loc := b.t.Locations[b.t.Stacks[c.stack]]
	return b.t.Lines[loc.LineLo+c.lines].Name, true
}

// expand follows the stacks of a node by one frame and returns what it calls,
// the costliest first, and sets what it keeps for itself.
func (b *flameBuilder) expand(n *node) []node {
	if b.steps -= n.hi - n.lo; b.steps <= 0 {
		return nil
	}
	samples := b.samples[n.lo:n.hi]
	index := map[decode.ID]int32{}
	var children []node
	b.group = b.group[:0]
	last, at := decode.ID(-1), int32(-1) // neighbours often go the same way
	for i := range samples {
		s := &samples[i]
		id, ok := b.next(s)
		if !ok {
			n.self += s.value
			b.group = append(b.group, -1)
			continue
		}
		if id != last {
			known := false
			if at, known = index[id]; !known {
				at = int32(len(children))
				index[id] = at
				children = append(children, node{name: b.t.Symbols.Name(id)})
			}
			last = id
		}
		children[at].value += s.value
		children[at].hi++ // a count for now
		b.group = append(b.group, at)
	}
	// Put the samples of each child together.
	place := n.lo
	for i := range children {
		count := children[i].hi
		children[i].lo, children[i].hi = place, place
		place += count
	}
	b.scratch = append(b.scratch[:0], samples...)
	for i, g := range b.group {
		if g >= 0 {
			b.samples[children[g].hi] = b.scratch[i]
			children[g].hi++
		}
	}
	slices.SortFunc(children, func(x, y node) int {
		return cmp.Or(cmp.Compare(y.value, x.value), cmp.Compare(x.name, y.name))
	})
	return children
}
