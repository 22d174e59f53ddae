// Package tree adds up what a process was charged with: a path of functions for each sample, from the
// entry point down to the function in whose body it was taken. That is all that a comparison of two
// builds needs of a profile, in a fraction of its size.
package tree

import (
	"maps"
	"slices"
)

// A Kind says how the samples of a node are charged.
type Kind uint8

const (
	Function Kind = iota // to this function, with all that it calls
	Entry                // the entry point: with its own body only
	Aside                // to nothing: the runtime's own work, or a server's
	Cut                  // the caller is not known, because the runtime has cut the stack off
)

// A Tree is a sum of samples by the path that they were charged to. The zero Tree is ready to use.
type Tree struct {
	nodes []Node
	by    map[edge]int32 // nil until it is needed: a tree that was read does not grow

	// Values are the samples by the values of labels, by label: of the tree of one profile, whose [Counter] had
	// the labels. What adds trees up keeps them beside it.
	Values map[string]Values
}

// Values are the samples of a profile by the values of a label.
type Values struct {
	Hits    map[string]float64
	Without float64 // samples without the label
	Lost    float64 // how many samples one value may have at the most that is not in Hits
}

type edge struct {
	parent int32
	kind   Kind
	name   string
}

// A Node is a function below its caller. Node 0 is the root, and has neither a name nor a caller.
type Node struct {
	Kind   Kind
	Mine   bool   // it is of the program's own module
	Parent int32  // stands before the node
	Name   string // folded: see package names
	Own    float64

	// File and Line are where most of its samples are, and Call is the line of the caller that calls it.
	File string
	Line int
	Call int

	lines, calls vote
}

// A vote is what a line has more than the others, as in the algorithm of Boyer and Moore: one line is kept, and one with
// more than half of the samples wins.
type vote float64

// count counts samples at a line.
func (v *vote) count(kept *int, line int, samples float64) {
	switch n := vote(samples); {
	case *kept == line:
		*v += n
	case *v >= n:
		*v -= n
	default:
		*kept, *v = line, n-*v
	}
}

// at counts samples of a node at a line, that are called at a line of the caller.
func (n *Node) at(file string, line, call int, samples float64) {
	n.File = file
	n.lines.count(&n.Line, line, samples)
	n.calls.count(&n.Call, call, samples)
}

// join counts the lines of another node.
func (n *Node) join(o *Node) {
	n.Own, n.Mine = n.Own+o.Own, n.Mine || o.Mine
	if o.lines > 0 {
		n.File = o.File
		n.lines.count(&n.Line, o.Line, float64(o.lines))
	}
	if o.calls > 0 {
		n.calls.count(&n.Call, o.Call, float64(o.calls))
	}
}

// Flat is a tree of what each function is charged with, where the callers are not known. Functions that call each other
// share samples, so the hits may be more than the samples: the root makes up for it.
func Flat(samples float64, hits map[string]float64) *Tree {
	t := &Tree{nodes: []Node{{Own: samples}}}
	for _, name := range slices.Sorted(maps.Keys(hits)) {
		t.nodes = append(t.nodes, Node{Name: name, Own: hits[name]})
		t.nodes[0].Own -= hits[name]
	}
	return t
}

// most is how many nodes a tree has. Those of recorded services have 23 to 135.
const most = 4096

func (t *Tree) init() {
	if t.nodes == nil {
		t.nodes = []Node{{}}
	}
}

// Nodes are all nodes, each behind its parent. They are not to be changed.
func (t *Tree) Nodes() []Node {
	t.init()
	return t.nodes
}

// N is the number of samples.
func (t *Tree) N() (n float64) {
	for i := range t.nodes {
		n += t.nodes[i].Own
	}
	return n
}

// child is a child of a node, which is made if there is none.
func (t *Tree) child(parent int32, kind Kind, name string) int32 {
	if t.by == nil {
		t.by = make(map[edge]int32, len(t.nodes))
		for i, n := range t.nodes[1:] {
			t.by[edge{n.Parent, n.Kind, n.Name}] = int32(i + 1)
		}
	}
	e := edge{parent, kind, name}
	at, known := t.by[e]
	if !known {
		at = int32(len(t.nodes))
		t.nodes = append(t.nodes, Node{Kind: kind, Name: name, Parent: parent})
		t.by[e] = at
	}
	return at
}

// Add adds the samples of another tree.
func (t *Tree) Add(other *Tree) {
	t.init()
	to := make([]int32, len(other.nodes))
	for i := range other.nodes {
		n := &other.nodes[i]
		if i > 0 {
			to[i] = t.child(to[n.Parent], n.Kind, n.Name)
		}
		t.nodes[to[i]].join(n)
	}
	t.fold()
}

// fold folds the smallest leaves into their parents while there are too many nodes. Detail is lost, and
// sums never are. An entry point is charged with its own body only, so its leaves are charged to nothing then.
func (t *Tree) fold() {
	if len(t.nodes) <= most {
		return
	}
	left, gone := len(t.nodes), make([]bool, len(t.nodes))
	children := make([]int32, len(t.nodes))
	for i := 1; i < len(t.nodes); i++ {
		children[t.nodes[i].Parent]++
	}
	for least := 1.0; left > most*3/4; least *= 2 {
		for i := len(t.nodes) - 1; i > 0 && left > most*3/4; i-- {
			n := &t.nodes[i]
			if gone[i] || children[i] > 0 || n.Own > least {
				continue
			}
			to := n.Parent
			if t.nodes[to].Kind == Entry {
				to = 0
			}
			t.nodes[to].Own += n.Own
			children[n.Parent]--
			gone[i], left = true, left-1
		}
	}
	t.drop(gone, left)
}

// drop drops nodes that have no children but such ones.
func (t *Tree) drop(gone []bool, left int) {
	to, kept := make([]int32, len(t.nodes)), make([]Node, 0, left)
	for i, n := range t.nodes {
		if gone[i] {
			continue
		}
		n.Parent = to[n.Parent]
		to[i] = int32(len(kept))
		kept = append(kept, n)
	}
	t.nodes, t.by = kept, nil
}

// Hits are the samples that are charged to each function.
func (t *Tree) Hits() map[string]float64 {
	hits, below := map[string]float64{}, t.Below()
	for i := range t.nodes {
		switch n := &t.nodes[i]; {
		case i == 0:
		case n.Kind == Function:
			hits[n.Name] += below[i]
		case n.Kind == Entry && n.Own > 0:
			hits[n.Name] += n.Own
		}
	}
	return hits
}

// Below are the samples of each node and of all below it.
func (t *Tree) Below() []float64 {
	below := make([]float64, len(t.nodes))
	for i := len(t.nodes) - 1; i >= 0; i-- {
		below[i] += t.nodes[i].Own
		if i > 0 {
			below[t.nodes[i].Parent] += below[i]
		}
	}
	return below
}
