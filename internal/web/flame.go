package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/profguard/profguard/internal/decode"
)

const (
	// maxFrames is about 300 KB of JSON, and more than the page draws at once. The
	// rest shows when somebody zooms in.
	maxFrames = 10_000
	// maxDepth is what runtime/pprof records of a stack, 128 frames; inlined ones come
	// on top and are cut.
	maxDepth = 128
	// minShare is the smallest part of the profile that has a frame: a tenth of a
	// pixel, so that ten times zoomed in it is still complete.
	minShare = 0.0001
	// maxSteps bounds the time that a profile takes, whatever it holds, to about a
	// fifth of a second: a step is one frame of one stack, and BenchmarkFlame says
	// 100 ns. Its 20,000 stacks of 40 frames take 264,000 steps.
	maxSteps = 2_000_000
	// topFunctions is a screen full.
	topFunctions = 25
)

// A flame is what flame.json holds: the tree of the stacks of one profile, with what
// each frame is worth together with all that it calls, and the functions that spend
// most in their own bodies. Values are in the profile's own unit.
type flame struct {
	Unit    string  `json:"unit"`
	Total   float64 `json:"total"` // of the whole profile
	Module  string  `json:"module,omitempty"`
	Warning string  `json:"warning,omitempty"` // what is wrong with the profile
	// Cut: there were more frames than are listed, not only smaller ones.
	Cut bool `json:"cut,omitempty"`

	// Names are the functions. Frame i is function Names[Name[i]], called by frame
	// Parent[i], which comes before it. Frame 0 is the whole profile. What a frame calls
	// stands side by side, the costliest first.
	Names  []string  `json:"names"`
	Parent []int     `json:"parent"`
	Name   []int     `json:"name"`
	Value  []float64 `json:"value"`
	Self   []float64 `json:"self"`

	Top []*topFunction `json:"top"`

	steps int // how many it took
}

// A topFunction is what a function spends in its own body, and with all it calls.
type topFunction struct {
	Function string  `json:"function"`
	Flat     float64 `json:"flat"`
	Cum      float64 `json:"cum"`
}

// column is the sample type that is drawn: the profile's default, or the last one, as
// pprof does.
func column(t *decode.Table) int {
	if t.DefaultType >= 0 {
		return t.DefaultType
	}
	return len(t.Types) - 1
}

// newFlame makes the flame graph of a profile. The table may be reused afterwards.
func newFlame(t *decode.Table, module string) flame {
	f := flame{Module: module}
	if len(t.Types) == 0 {
		return f
	}
	col := column(t)
	f.Unit = t.Types[col].Unit
	b := builder{t: t, steps: maxSteps}
	for i, s := range t.Samples {
		if v := float64(t.Values[i*len(t.Types)+col]); v > 0 {
			b.samples = append(b.samples, cursor{stack: s.StackHi, end: s.StackLo, value: v})
			f.Total += v
		}
	}
	if f.Total == 0 {
		return f
	}
	index := map[decode.ID]int{}
	nodes := []*node{{parent: -1, name: -1, hi: len(b.samples), value: f.Total}}
	// Level by level, so that what is cut off is what is deepest.
	for i := 0; i < len(nodes); i++ {
		children := b.expand(nodes[i])
		for _, c := range children {
			if c.value < minShare*f.Total {
				break // they are sorted
			}
			if len(nodes) == maxFrames || nodes[i].depth == maxDepth {
				f.Cut = true
				break
			}
			c.parent, c.depth = i, nodes[i].depth+1
			nodes = append(nodes, c)
		}
	}
	f.Cut = f.Cut || b.steps <= 0
	f.steps = maxSteps - b.steps
	for _, n := range nodes {
		at := -1
		if n.name >= 0 {
			known := false
			if at, known = index[n.name]; !known {
				at = len(f.Names)
				index[n.name] = at
				f.Names = append(f.Names, t.Symbols.Name(n.name))
			}
		}
		f.Parent, f.Name = append(f.Parent, n.parent), append(f.Name, at)
		f.Value, f.Self = append(f.Value, n.value), append(f.Self, n.self)
	}
	f.Top = topOf(t)
	return f
}

// sendFlame sends a flame graph.
func (h *Handler) sendFlame(w http.ResponseWriter, r *http.Request, f flame, release func()) {
	data, err := json.Marshal(f)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	send(w, r, "application/json", int64(len(data)), bytes.NewReader(data), release)
}

// A node is a frame while the tree is built.
type node struct {
	parent, depth int
	name          decode.ID // -1: the whole profile
	value, self   float64
	lo, hi        int // its samples
}

// A cursor is how far one stack has been followed. Locations hold inlined frames, so
// there are two positions: stack is behind the next location (they are stored leaf
// first, so it counts down to end), lines is how many of its lines are left.
type cursor struct {
	stack, end int32
	lines      int32
	value      float64
}

type builder struct {
	t       *decode.Table
	samples []cursor // those of a node are neighbours
	steps   int      // left
	scratch []cursor
	group   []int32 // of each sample of the node, the child that it goes on to
}

// next moves a cursor to the frame that is called, if there is one.
func (b *builder) next(c *cursor) (decode.ID, bool) {
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

// expand follows the stacks of a node by one frame. It returns what the node calls,
// the costliest first, and sets what it keeps for itself.
func (b *builder) expand(n *node) []*node {
	if b.steps -= n.hi - n.lo; b.steps <= 0 {
		return nil
	}
	samples := b.samples[n.lo:n.hi]
	index := map[decode.ID]int32{}
	var children []*node // slices of pointers are sorted by code that others link, too
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
				children = append(children, &node{name: id})
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
	slices.SortFunc(children, func(x, y *node) int {
		return cmp.Or(cmp.Compare(y.value, x.value), cmp.Compare(b.t.Symbols.Name(x.name), b.t.Symbols.Name(y.name)))
	})
	return children
}

// topSteps bounds the frames that topOf looks at, some 10 ns each: several times
// those of sixty-four busy cores over ten seconds.
const topSteps = 8_000_000

// topOf lists the functions that spend most in their own bodies. It reads the profile
// and not the tree, which leaves out what is small: a function that is called from a
// thousand places may be large all the same.
func topOf(t *decode.Table) []*topFunction {
	col, steps := column(t), topSteps
	flat, cum := make([]float64, t.Symbols.Len()), make([]float64, t.Symbols.Len())
	counted := make([]int, t.Symbols.Len()) // the sample in which a function was counted last
	for i, s := range t.Samples {
		v := float64(t.Values[i*len(t.Types)+col])
		if v <= 0 {
			continue
		}
		leaf := true
		for _, at := range t.Stacks[s.StackLo:s.StackHi] {
			loc := t.Locations[at]
			for _, line := range t.Lines[loc.LineLo:loc.LineHi] {
				if steps--; steps < 0 {
					return nil // a part would be wrong
				}
				if leaf {
					flat[line.Name] += v
					leaf = false
				}
				if counted[line.Name] != i+1 {
					counted[line.Name] = i + 1
					cum[line.Name] += v
				}
			}
		}
	}
	var list []*topFunction
	for id, v := range flat {
		if v > 0 {
			list = append(list, &topFunction{t.Symbols.Name(decode.ID(id)), v, cum[id]})
		}
	}
	slices.SortFunc(list, func(a, b *topFunction) int {
		return cmp.Or(cmp.Compare(b.Flat, a.Flat), cmp.Compare(b.Cum, a.Cum), cmp.Compare(a.Function, b.Function))
	})
	return list[:min(len(list), topFunctions)]
}
