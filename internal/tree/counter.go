package tree

import (
	"context"
	"fmt"
	"slices"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/names"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/unit"
)

// A Counter makes trees of profiles of CPU.
type Counter struct {
	Module  string   // the path of the program's own module, where it is known
	Modules []string // and of the others
	Labels  []string // whose values are counted, too
	// Entry says which functions are the entry points, also on the way in: those are charged with their own body only,
	// and all others in full. It is nil for those of package charge.
	Entry func(name, file string) bool

	charge charge.Counter
}

// Tree is what a profile's samples were charged with.
func (c *Counter) Tree(ctx context.Context, t *decode.Table) (*Tree, error) {
	layout := charge.LayoutOf(t, kinds.CPU)
	v, ok := layout.Value(kinds.CPU, unit.Count)
	if !ok {
		return nil, fmt.Errorf("expected a profile of CPU, with its samples, found one of %s", layout.Kind)
	}
	if err := charge.NoDifference(t); err != nil {
		return nil, err
	}
	if c.charge.Names == nil {
		c.charge = charge.Counter{Names: charge.NewNames(pattern.NewIndex(nil))}
		for _, label := range c.Labels {
			c.charge.Labels = append(c.charge.Labels, charge.LabelValues{Label: label})
		}
	}
	known := c.charge.Names
	known.Module, known.Modules = c.Module, c.Modules
	if err := known.Learn(ctx, t); err != nil {
		return nil, err
	}
	query := c.charge.Ask(charge.Query{Value: v.Index, Weight: v.Weight, Charge: charge.Inner, In: -1, Where: -1, Except: -1})
	var labels []int
	for i := range c.charge.Labels {
		labels = append(labels, c.charge.Ask(charge.Query{Value: v.Index, Weight: v.Weight, Unit: charge.Labelled, Of: int32(i), Charge: charge.Cumulative, In: -1, Where: -1, Except: -1}))
	}
	c.charge.Open(t)
	folded := map[decode.ID]string{}
	fold := func(id decode.ID) string {
		name, known := folded[id]
		if !known {
			name = names.Fold(t.Symbols.Name(id))
			folded[id] = name
		}
		return name
	}
	sum := &Tree{}
	sum.init()
	file := func(s charge.Step) string { return t.Symbols.Name(t.Funcs[s.Line.Func].File) }
	c.charge.Ways(query, c.Entry != nil, func(w charge.Way) {
		at, n := int32(0), float64(w.Value)
		if w.Cut {
			at = sum.child(at, Cut, "")
		}
		if w.Steps == nil {
			at = sum.child(at, Aside, fold(w.Aside))
		}
		steps := w.Steps
		if c.Entry != nil {
			steps = nil
			for i, s := range slices.Concat(w.Above, w.Steps) {
				if s.Entry = c.Entry(fold(s.Line.Name), file(s)); s.Entry || i >= len(w.Above) {
					steps = append(steps, s)
				}
			}
		}
		call := 0 // the line of the caller
		for i, step := range steps {
			name := fold(step.Line.Name)
			again := slices.ContainsFunc(steps[i+1:], func(s charge.Step) bool { return fold(s.Line.Name) == name })
			if step.Entry && sum.has(at, name, Entry) || !step.Entry && (again || i < len(steps)-1 && sum.has(at, name, Entry)) {
				continue // it calls itself, and its last call is charged; an entry point is charged with its own body, also there
			}
			kind := Function
			if step.Entry {
				kind = Entry
			}
			at = sum.child(at, kind, name)
			node := &sum.nodes[at]
			node.Mine = step.Own
			node.at(file(step), int(step.Line.Line), call, n)
			call = int(step.Line.Line)
		}
		sum.nodes[at].Own += n
	})
	sum.fold()
	for i, query := range labels {
		if sum.Values == nil {
			sum.Values = map[string]Values{}
		}
		sum.Values[c.charge.Labels[i].Label] = c.values(query)
	}
	return sum, nil
}

// values are the samples of each value that a query counts.
func (c *Counter) values(query int) Values {
	s := c.charge.Sums(query)
	v := Values{Hits: make(map[string]float64, len(s.Keys)), Without: float64(s.Without)}
	for i, key := range s.Keys {
		n := float64(s.Values[i])
		if v.Hits[c.charge.Name(query, key)] = n; s.Crowded && (v.Lost == 0 || n < v.Lost) {
			v.Lost = n // the others have no more
		}
	}
	return v
}

// has reports whether a name is on the path to a node.
func (t *Tree) has(at int32, name string, kind Kind) bool {
	for ; at > 0; at = t.nodes[at].Parent {
		if t.nodes[at].Name == name && t.nodes[at].Kind == kind {
			return true
		}
	}
	return false
}
