package web

import (
	"slices"

	"github.com/profguard/profguard/internal/decode"
)

const (
	// maxDepth is the 128 frames of a stack that runtime/pprof records. Inlined frames make
	// a stack deeper; then its deepest frames are cut.
	maxDepth = 128
	// minShare is the smallest part of the profile that has a frame: half a pixel of a wide
	// screen. So a level has at most 2,000 frames, and all levels together make 8 MB of JSON at
	// the very worst.
	minShare = 0.0005
	// longestName is how much of a name is shown, of which JSON may make six times as much.
	longestName = 1000
)

// A flame is the content of flame.json: the tree of the stacks of one profile, with the value
// of each frame and its callees, and that of its own body. Values are in the profile's own unit.
type flame struct {
	Unit    string  `json:"unit"`
	Total   float64 `json:"total"` // of the whole profile
	Module  string  `json:"module,omitempty"`
	Warning string  `json:"warning,omitempty"` // about the quality of the profile
	// Cut: some stacks are deeper than the graph.
	Cut bool `json:"cut,omitempty"`

	// Names are the functions. Frame i is function Names[Name[i]], called by frame
	// Parent[i], which comes before it. Frame 0 is the whole profile.
	Names  []string  `json:"names"`
	Parent []int     `json:"parent"`
	Name   []int     `json:"name"`
	Value  []float64 `json:"value"`
	Self   []float64 `json:"self"`
}

// A stack is the stack of a sample, root first, by the numbers of names.
type stack struct {
	frames []int
	value  float64
}

// A node is a frame of the tree.
type node struct {
	parent      int
	name        int // -1: the whole profile
	value, self float64
}

// shown is the column of a profile that is drawn, or -1.
func shown(t *decode.Table) int {
	if t.DefaultType < 0 { // the last one, as in pprof
		return len(t.Types) - 1
	}
	return t.DefaultType
}

// newFlame makes the flame graph of a profile. The table may be reused afterwards. The time is
// bounded by the number of frames that the decoder accepts (BenchmarkFlame).
func newFlame(t *decode.Table, module string) flame {
	f := flame{Module: module}
	column := shown(t)
	if column < 0 {
		return f
	}
	f.Unit = t.Types[column].Unit
	if stacks := f.stacks(t, column); f.Total > 0 {
		f.draw(stacks, t.Symbols)
	}
	return f
}

// stacks are those of a profile, whose values it adds up.
func (f *flame) stacks(t *decode.Table, column int) (list []*stack) { // of pointers, because sorting code for these is linked anyway
	frames := make([]int, 0, t.Frames)
	for i, sample := range t.Samples {
		v := float64(t.Values[i*len(t.Types)+column])
		if v <= 0 {
			continue
		}
		from := len(frames)
		for _, at := range t.Stacks[sample.StackLo:sample.StackHi] {
			for _, line := range t.Lines[t.Locations[at].LineLo:t.Locations[at].LineHi] {
				frames = append(frames, int(line.Name))
			}
		}
		slices.Reverse(frames[from:])
		if len(frames)-from > maxDepth {
			frames, f.Cut = frames[:from+maxDepth], true
		}
		f.Total += v
		list = append(list, &stack{frames[from:], v})
	}
	return list
}

// draw makes the tree of the stacks.
func (f *flame) draw(stacks []*stack, symbols *decode.Symbols) {
	// Now stacks with common callers are neighbours.
	slices.SortFunc(stacks, func(a, b *stack) int { return slices.Compare(a.frames, b.frames) })
	nodes := []node{{parent: -1, name: -1}}
	path := []int{0} // the nodes of the last stack
	for _, s := range append(stacks, &stack{}) {
		same := 0
		for same < min(len(path)-1, len(s.frames)) && nodes[path[same+1]].name == s.frames[same] {
			same++
		}
		// The others of the path are complete. What a small one calls is smaller, and gone
		// already, so that the small one is the last node.
		for ; len(path) > same+1; path = path[:len(path)-1] {
			if at := path[len(path)-1]; nodes[at].value < minShare*f.Total {
				nodes = nodes[:at]
			}
		}
		for _, name := range s.frames[same:] {
			nodes = append(nodes, node{parent: path[len(path)-1], name: name})
			path = append(path, len(nodes)-1)
		}
		for _, at := range path {
			nodes[at].value += s.value
		}
		nodes[path[len(path)-1]].self += s.value
	}
	index := map[int]int{-1: -1}
	for _, n := range nodes {
		at, known := index[n.name]
		if !known {
			at = len(f.Names)
			index[n.name] = at
			name := symbols.Name(decode.ID(n.name))
			f.Names = append(f.Names, name[:min(len(name), longestName)])
		}
		f.Parent, f.Name = append(f.Parent, n.parent), append(f.Name, at)
		f.Value, f.Self = append(f.Value, n.value), append(f.Self, n.self)
	}
}
