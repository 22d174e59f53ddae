package web

import (
	"cmp"
	"slices"

	"github.com/profguard/profguard/internal/decode"
)

const (
	// maxFrames makes about 300 KB of JSON, and is more than the page draws at once. The
	// rest is drawn when a user zooms in.
	maxFrames = 10_000
	// maxDepth is the 128 frames of a stack that runtime/pprof records. Inlined frames make
	// a stack deeper; then its deepest frames are cut.
	maxDepth = 128
	// minShare is the smallest part of the profile that has a frame: a tenth of a pixel, so
	// that the graph still is complete at ten times the size.
	minShare = 0.0001
)

// A flame is the content of flame.json: the tree of the stacks of one profile, with the value
// of each frame and its callees, and that of its own body. Values are in the profile's own unit.
type flame struct {
	Unit    string  `json:"unit"`
	Total   float64 `json:"total"` // of the whole profile
	Module  string  `json:"module,omitempty"`
	Warning string  `json:"warning,omitempty"` // about the quality of the profile
	// Cut: some frames are not listed that are large enough.
	Cut bool `json:"cut,omitempty"`

	// Names are the functions. Frame i is function Names[Name[i]], called by frame
	// Parent[i], which comes before it. Frame 0 is the whole profile. The callees of a
	// frame are in the order of their values, the largest first.
	Names  []string  `json:"names"`
	Parent []int     `json:"parent"`
	Name   []int     `json:"name"`
	Value  []float64 `json:"value"`
	Self   []float64 `json:"self"`
}

// column is the sample type that is drawn: the profile's default, or the last one, as
// pprof does.
func column(t *decode.Table) int {
	if t.DefaultType >= 0 {
		return t.DefaultType
	}
	return len(t.Types) - 1
}

// A stack is the stack of a sample, root first.
type stack struct {
	frames []decode.ID
	value  float64
}

// A node is a frame while the tree is built.
type node struct {
	parent, depth int
	name          decode.ID // -1: the whole profile
	value, self   float64
	stacks        []*stack // with this frame
}

// newFlame makes the flame graph of a profile. The table may be reused afterwards. The time is
// bounded by the number of frames that the decoder accepts (BenchmarkFlame).
func newFlame(t *decode.Table, module string) flame {
	f := flame{Module: module}
	if len(t.Types) == 0 {
		return f
	}
	col := column(t)
	f.Unit = t.Types[col].Unit
	var stacks []*stack
	frames := make([]decode.ID, 0, t.Frames)
	for i, s := range t.Samples {
		v := float64(t.Values[i*len(t.Types)+col])
		if v <= 0 {
			continue
		}
		from := len(frames)
		for _, at := range t.Stacks[s.StackLo:s.StackHi] {
			for _, line := range t.Lines[t.Locations[at].LineLo:t.Locations[at].LineHi] {
				frames = append(frames, line.Name)
			}
		}
		slices.Reverse(frames[from:])
		stacks = append(stacks, &stack{frames[from:], v})
		f.Total += v
	}
	if f.Total == 0 {
		return f
	}
	// Now stacks with common callers are neighbours.
	slices.SortFunc(stacks, func(a, b *stack) int { return slices.Compare(a.frames, b.frames) })
	nodes := []*node{{parent: -1, name: -1, value: f.Total, stacks: stacks}}
	index := map[decode.ID]int{-1: -1}
	// Level by level, so that the deepest frames are cut off.
	for i := 0; i < len(nodes); i++ {
		n := nodes[i]
		for _, c := range n.children(t.Symbols) {
			if c.value < minShare*f.Total {
				break // they are sorted
			}
			if len(nodes) == maxFrames || n.depth == maxDepth {
				f.Cut = true
				break
			}
			c.parent = i
			nodes = append(nodes, c)
		}
		at, known := index[n.name]
		if !known {
			at = len(f.Names)
			index[n.name] = at
			f.Names = append(f.Names, t.Symbols.Name(n.name))
		}
		f.Parent, f.Name = append(f.Parent, n.parent), append(f.Name, at)
		f.Value, f.Self = append(f.Value, n.value), append(f.Self, n.self)
	}
	return f
}

// children are the callees of a node, the largest first. It also sets the node's own value.
func (n *node) children(symbols *decode.Symbols) []*node {
	var children []*node // of pointers, because sorting code for these is linked anyway
	for i, s := range n.stacks {
		if len(s.frames) == n.depth { // the shortest stacks are the first
			n.self += s.value
			continue
		}
		if name := s.frames[n.depth]; len(children) == 0 || name != children[len(children)-1].name {
			children = append(children, &node{name: name, depth: n.depth + 1, stacks: n.stacks[i:i]})
		}
		c := children[len(children)-1]
		c.value += s.value
		c.stacks = c.stacks[:len(c.stacks)+1]
	}
	slices.SortFunc(children, func(a, b *node) int {
		return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(symbols.Name(a.name), symbols.Name(b.name)))
	})
	return children
}
