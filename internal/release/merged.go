package release

import (
	"github.com/profguard/profguard/internal/names"
	"github.com/profguard/profguard/internal/tree"
)

// An id is the number of a function in both sides: the same one for names that mean the same.
type id int32

// process is the id of the caller of what has no other.
const process id = -1

// merged are the trees of both sides as one.
type merged struct {
	names   []string // by id: those of now, where there are
	was     []string // by id: those of before
	nodes   []node
	n       [2]float64   // samples, before and now
	hits    [][2]float64 // by id: that are charged to it
	all     [][2]float64 // by id: in it and all below it, also where it is the entry point
	own     [][2]float64 // by id: in its own body
	known   [][2]float64 // by id: that are charged to it, of those in cut
	isEntry []bool       // by id: it is an entry point somewhere
	cut     [2]float64   // samples with callers that are not known
}

// A node is a function below its caller.
type node struct {
	id     id // process for what is no function
	kind   tree.Kind
	parent int32
	cut    bool // it is below one of kind Cut
	own    [2]float64
	below  [2]float64 // own, and all below
	sides  [2]*tree.Node
}

const (
	before = iota
	now
)

// merge puts two trees together. Names of functions may mean the same ones though they differ, and other names not.
func merge(trees [2]*tree.Tree, functions bool) *merged {
	m := &merged{nodes: []node{{id: process}}}
	numbers := m.number(trees, functions)
	type edge struct {
		parent int32
		kind   tree.Kind
		id     id
	}
	by := map[edge]int32{}
	for side, t := range trees {
		to := make([]int32, len(t.Nodes()))
		for i, x := range t.Nodes() {
			if i > 0 {
				e := edge{to[x.Parent], x.Kind, numbers[side][x.Name]}
				at, known := by[e]
				if !known {
					at = int32(len(m.nodes))
					by[e] = at
					m.nodes = append(m.nodes, node{id: e.id, kind: e.kind, parent: e.parent, cut: x.Kind == tree.Cut || m.nodes[e.parent].cut})
				}
				to[i] = at
				m.nodes[at].sides[side] = &t.Nodes()[i]
			}
			m.nodes[to[i]].own[side] += x.Own
		}
	}
	m.sum()
	return m
}

// number gives one id to the names of both sides that mean the same.
func (m *merged) number(trees [2]*tree.Tree, functions bool) (by [2]map[string]id) {
	var has [2]map[string]bool
	for side, t := range trees {
		has[side] = map[string]bool{}
		for _, x := range t.Nodes() {
			if x.Kind != tree.Cut && x.Name != "" {
				has[side][x.Name] = true
			}
		}
	}
	var pairs map[string]string
	if functions {
		pairs = names.Pair(names.Missing(has[before], has[now]), names.Missing(has[now], has[before]))
	}
	by = [2]map[string]id{{"": process}, {"": process}}
	for _, name := range names.Missing(has[before], nil) {
		by[before][name] = id(len(m.names))
		m.names, m.was = append(m.names, name), append(m.was, name)
	}
	for _, name := range names.Missing(has[now], nil) {
		old := name
		if paired := pairs[name]; paired != "" {
			old = paired
		}
		at, known := by[before][old]
		if !known {
			at = id(len(m.names))
			m.names, m.was = append(m.names, name), append(m.was, "")
		}
		m.names[at], by[now][name] = name, at
	}
	return by
}

func (m *merged) sum() {
	n := len(m.names)
	m.isEntry = make([]bool, n)
	m.hits, m.all, m.own, m.known = make([][2]float64, n), make([][2]float64, n), make([][2]float64, n), make([][2]float64, n)
	for i := len(m.nodes) - 1; i >= 0; i-- {
		x := &m.nodes[i]
		add(&x.below, x.own)
		if i > 0 {
			add(&m.nodes[x.parent].below, x.below)
		}
		if x.kind == tree.Cut {
			add(&m.cut, x.below)
		}
		if x.id == process {
			continue
		}
		charged := x.charged()
		m.isEntry[x.id] = m.isEntry[x.id] || x.kind == tree.Entry
		add(&m.hits[x.id], charged)
		if x.cut {
			add(&m.known[x.id], charged)
		}
		if x.kind != tree.Aside {
			add(&m.own[x.id], x.own)
		}
		if x.kind == tree.Entry || x.kind == tree.Function {
			add(&m.all[x.id], x.below)
		}
	}
	m.n = m.nodes[0].below
}

// charged are the samples of a node that its function is charged with.
func (x *node) charged() [2]float64 {
	switch x.kind {
	case tree.Function:
		return x.below
	case tree.Entry:
		return x.own
	}
	return [2]float64{}
}

func add(to *[2]float64, x [2]float64) { to[before], to[now] = to[before]+x[before], to[now]+x[now] }

// callers visits the functions on the way to a node, innermost first.
func (m *merged) callers(at int32, visit func(id)) {
	for at = m.nodes[at].parent; at > 0; at = m.nodes[at].parent {
		if id := m.nodes[at].id; id != process {
			visit(id)
		}
	}
}

// entry is the entry point of a node, the outermost function on the way to it.
func (m *merged) entry(at int32) id {
	e := m.nodes[at].id
	m.callers(at, func(x id) { e = x })
	return e
}
