package guard

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/judge"
)

// A panel is the budgets in force: how each stands, and a watch for those of
// each kind of profile.
type panel struct {
	entries []*entry
	groups  []*group
	// notLinked are the patterns that match nothing in the binary, once known.
	notLinked []string
	looked    bool // notLinked has been worked out
}

// entry is one budget and what is known of it. It outlives a change of the others.
type entry struct {
	name   string
	budget budget.Budget
	standing
	warning   string
	missed    missed
	breakdown breakdown // of a figure, when it was last taken
	counted   counters  // when what is counted was last judged

	dumps   []*dump // the oldest first: those that the store keeps, and recent ones
	told    bool    // that it fires, and not that it is over
	removed bool    // by SetBudgets: a window under way says nothing of it any more
}

// group is the budgets that one kind of profile is for.
type group struct {
	kind    string // "figures" for those that need no profile
	watch   *judge.Watch
	members []int // indices into entries, in the order of the watch's budgets
}

const (
	kindCPU     = "cpu"
	kindFigures = "figures"
	kindLeaks   = "goroutineleak"
)

// kindOf is the kind of profile that a budget is judged by.
func kindOf(b budget.Budget) string {
	switch {
	case b.Rule == "steady":
		return kindFigures
	case b.Rule == "leaked":
		return kindLeaks
	}
	switch b.Subject {
	case "goroutines", "heap", "rss", "gc":
		return kindFigures
	}
	if b.Kind == "" {
		return kindCPU
	}
	return b.Kind
}

// newPanel makes the panel of a configuration. Budgets that old has too, name
// and sentence, keep their standing.
func newPanel(cfg Config, old *panel) (*panel, error) {
	p := &panel{}
	kept := map[string]*entry{}
	if old != nil {
		for _, e := range old.entries {
			kept[e.name+"\x00"+e.budget.String()] = e
		}
	}
	sets := map[string]budget.Set{}
	for i, b := range cfg.Budgets {
		name := b.Name
		if name == "" {
			name = b.String()
		}
		e := kept[name+"\x00"+b.String()]
		if e == nil {
			e = &entry{name: name, budget: b, standing: standing{since: time.Now(), verdicts: map[string]int64{}, result: budget.Result{Budget: b}}}
		}
		p.entries = append(p.entries, e)
		kind := kindOf(b)
		if sets[kind] == nil {
			p.groups = append(p.groups, &group{kind: kind})
		}
		sets[kind] = append(sets[kind], b)
		for _, g := range p.groups {
			if g.kind == kind {
				g.members = append(g.members, i)
			}
		}
	}
	for _, g := range p.groups {
		if g.watch = old.watchOf(p, g); g.watch != nil {
			continue // what it has learnt stays
		}
		rules, err := sets[g.kind].Rules()
		if err != nil {
			return nil, err
		}
		if g.watch, err = judge.NewWatch(rules, cfg.Every); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// watchOf is the panel's watch for the budgets of a group of the next panel, if it
// has one for just these.
func (p *panel) watchOf(next *panel, of *group) *judge.Watch {
	if p == nil {
		return nil
	}
	for _, g := range p.groups {
		if g.kind == of.kind && slices.Equal(p.standing(g), next.standing(of)) {
			return g.watch
		}
	}
	return nil
}

// standing are the entries of a group.
func (p *panel) standing(g *group) []*entry {
	list := make([]*entry, len(g.members))
	for i, m := range g.members {
		list[i] = p.entries[m]
	}
	return list
}

// inherit takes over what the watches of the last panel have learnt about the
// budgets that stay. Only the loop may do it, between two windows: it judges with
// them.
func (p *panel) inherit(last *panel) {
	type place struct {
		watch *judge.Watch
		at    int
	}
	known := map[*entry]place{}
	for _, g := range last.groups {
		for i, e := range last.standing(g) {
			known[e] = place{g.watch, i}
		}
	}
	for _, g := range p.groups {
		for i, e := range p.standing(g) {
			if was, ok := known[e]; ok && was.watch != g.watch {
				g.watch.Inherit(i, was.watch, was.at)
			}
		}
	}
}

// remove marks the entries that next has no more, and returns those of them that
// were said to fire.
func (p *panel) remove(next *panel) (firing []*entry) {
	for _, e := range p.entries {
		if slices.Contains(next.entries, e) {
			continue
		}
		e.removed = true
		if e.told {
			firing = append(firing, e)
		}
	}
	return firing
}

// named is the entry of a name, or nil.
func (p *panel) named(name string) *entry {
	for _, e := range p.entries {
		if e.name == name {
			return e
		}
	}
	return nil
}

// has reports whether any budget needs a kind of profile.
func (p *panel) has(kind string) bool {
	for _, g := range p.groups {
		if g.kind == kind {
			return true
		}
	}
	return false
}

// only reports whether all budgets need a kind of profile.
func (p *panel) only(kind string) bool { return len(p.groups) == 1 && p.has(kind) }

// status copies the standing of all budgets.
func (p *panel) status(g *Guard) []BudgetStatus {
	list := make([]BudgetStatus, len(p.entries))
	for i, e := range p.entries {
		result := e.result
		result.Budget, result.Reason = cloneBudget(e.budget), e.reason(g)
		for _, v := range []*float64{&result.Share, &result.Low, &result.High, &result.Limit} {
			*v = finite(*v)
		}
		list[i] = BudgetStatus{
			Name: e.name, Budget: cloneBudget(e.budget), State: e.alert.State.String(), Since: e.since, Result: result,
			Verdicts: maps.Clone(e.verdicts), Samples: e.samples, Hits: e.hits, Warning: e.warning, History: slices.Clone(e.history),
			Offender: e.offender, Accept: accepting(result), Proven: budget.Verdict(e.proven), Evidence: finite(e.strength),
		}
		if unit := offenderUnit(e.budget, result.Unit); unit != result.Unit {
			list[i].OffenderUnit = unit
		}
		if last := e.lastDump(); last != nil {
			list[i].Dump, list[i].Dumped = string(last.id), last.at
		}
	}
	return list
}

// finite keeps a number within what JSON has. No result is infinite or none; one that
// is by mistake must not take status.json away.
func finite(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return min(max(v, -math.MaxFloat64), math.MaxFloat64)
}
