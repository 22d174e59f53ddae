package release

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/tree"
)

// Values are what is known of the values of a label: the samples of each, as [Pieces] know those of functions. They are
// of the pieces in which the label was looked for, which may be fewer than all.
type Values struct {
	Counts          // by value
	Without float64 // samples without the label
	Lost    float64 // how many samples one value may have at the most that are in no HitSum
}

const (
	// mostValues is the number of values of a label that are kept. Those with a share that is compared are 200 at the most.
	mostValues = 250
	// MostLabels is the number of labels whose values are kept.
	MostLabels = 8
)

// include adds a piece.
func (v *Values) include(x tree.Values, samples float64, work map[string]float64) {
	v.add(x.Hits, samples, work)
	v.Without, v.Lost = v.Without+x.Without, v.Lost+x.Lost
	v.Lost += v.forget(mostValues)
}

// values are those of a label, which are made if there are none.
func (p *Pieces) values(label string) *Values {
	v := p.Values[label]
	if v == nil && len(p.Values) < MostLabels {
		if p.Values == nil {
			p.Values = map[string]*Values{}
		}
		v = &Values{Counts: Counts{Hits: map[string]*HitSum{}}}
		p.Values[label] = v
	}
	return v
}

// AddValues adds the values of labels of which nothing is known yet, by the tree of the whole profile.
func (p *Pieces) AddValues(t *tree.Tree, labels []string) {
	for _, label := range labels {
		if x, counted := t.Values[label]; counted && p.Values[label] == nil {
			if v := p.values(label); v != nil {
				v.include(x, t.N(), nil)
			}
		}
	}
}

// by are the pieces as they know values in the place of functions. How a value goes with the work is known only where
// both are of all pieces.
func (p *Pieces) by(v *Values) *Pieces {
	x := *p
	x.Counts = v.Counts
	if v.Count != p.Count {
		x.Hits = map[string]*HitSum{}
		for name, h := range v.Hits {
			x.Hits[name] = &HitSum{H: h.H, HH: h.HH, HN: h.HN}
		}
	}
	return &x
}

// values compares the values of a label, each by itself. What they cost does not move from one to another, as
// that of functions does, but it may have got the label, or lost it.
func (c *comparing) values() {
	sides := [2]*Values{c.sides[before].Pieces.Values[c.Label], c.sides[now].Pieces.Values[c.Label]}
	c.result.Label = c.Label
	if why := c.unknownValues(sides); why != "" {
		c.result.Why = cmp.Or(c.result.Why, why)
		return
	}
	v := *c
	v.merged, v.tests = merge([2]*tree.Tree{sides[before].flat(), sides[now].flat()}, false), evidence.Tests(1, c.Limit)
	for side, of := range sides {
		v.sides[side] = &Side{Build: c.sides[side].Build, Pieces: *c.sides[side].Pieces.by(of)}
	}
	was, is := sides[before].Without/v.n[before], sides[now].Without/v.n[now]
	c.result.Without = is
	v.cut = [2]float64{
		sides[before].Lost + v.n[before]*max(0, was-c.scale.Low*is),
		sides[now].Lost + v.n[now]*max(0, is-was/c.scale.High),
	}
	var list []Function
	for i, k := range v.hits {
		if max(k[now]/v.n[now], k[before]/v.n[before]) < notable || slices.Contains(c.Except, v.names[i]) {
			continue
		}
		f := v.compare(id(i))
		switch {
		case c.result.Why != "":
			f.Status = Undecided
		case f.Status == Grown && f.Points.Low > c.Limit:
			f.Named = true
		case f.Status == Grown && f.Points.High < evidence.Edge(c.Limit):
			f.Status = Same
		case f.Status == Grown:
			f.Status = Undecided
		}
		list = append(list, f)
	}
	sort.SliceStable(list, func(i, j int) bool { // smaller than an instance of slices.SortStableFunc
		a, b := &list[i], &list[j]
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), -cmp.Compare(c.result.weight(a), c.result.weight(b)), cmp.Compare(a.Name, b.Name)) < 0
	})
	c.result.Functions = list
}

// unknownValues says why the values of the sides cannot be compared, "" if they can. What was not looked for is not zero.
func (c *comparing) unknownValues(sides [2]*Values) string {
	for side, when := range [2]string{"before", "now"} {
		switch v := sides[side]; {
		case v == nil || !(v.Samples > 0):
			return fmt.Sprintf("the costs of the values of %s are unknown %s: a build keeps them for the labels in its budgets, and a profile must have the label", c.Label, when)
		case len(v.Hits) == 0:
			return fmt.Sprintf("no sample has the label %s %s", c.Label, when)
		case v.Lost >= notable*v.Samples:
			return fmt.Sprintf("%s has too many values %s to keep the cost of each: use labels with at most a few hundred values, such as tenants, not request IDs", c.Label, when)
		}
	}
	return ""
}

// flat is the tree of the values, which call nothing.
func (v *Values) flat() *tree.Tree {
	hits := map[string]float64{}
	for name, h := range v.Hits {
		hits[name] = h.H
	}
	return tree.Flat(v.Samples, hits)
}
