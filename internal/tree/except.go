package tree

import "github.com/profguard/profguard/internal/pattern"

// Except is the tree without what is accepted: the samples in functions that patterns match are charged neither to
// these nor to their callers. What they call is charged by itself. Patterns are matched with what has a node: neither
// with the runtime nor with what foreign code calls behind its door.
func (t *Tree) Except(patterns []string) (*Tree, error) {
	var list []*pattern.Pattern
	for _, text := range patterns {
		p, err := pattern.Parse(text)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	index := pattern.NewIndex(list)
	out := &Tree{}
	out.init()
	to := make([]int32, len(t.nodes))
	for i := range t.nodes {
		n := &t.nodes[i]
		if i > 0 {
			parent, kind := to[n.Parent], n.Kind
			if (kind == Function || kind == Entry) && len(index.Match(n.Name, nil)) > 0 {
				parent, kind = 0, Aside
			}
			to[i] = out.child(parent, kind, n.Name)
		}
		out.nodes[to[i]].join(n)
	}
	return out, nil
}
