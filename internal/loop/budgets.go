package loop

import (
	"cmp"
	"context"
	"maps"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/reference"
	"github.com/profguard/profguard/internal/release"
)

// A Budget is a compiled budget, which does not change. Its address is its identity: what is
// known of it stays while other budgets change.
type Budget struct {
	Name  string // or its sentence
	Of    budget.Budget
	Rule  judge.Rule // without words
	Needs judge.Needs
	Alert alert.Rule // how long its alert takes
	Since time.Time  // when it was compiled

	// Default says that it is one of budget.Default, word for word. These are meant for every program,
	// so it is no mistake if one of them matches nothing here. The reason of its result still says so.
	Default bool
}

// A Set is the budgets that are in force together, in the order of their declaration.
type Set struct {
	Budgets []*Budget
	groups  []*group // the CPU profile comes first, because decoding another one overwrites its table
}

// A group is the budgets that are judged by one kind of profile.
type group struct {
	kind    string // "" for those that need no profile
	watch   *judge.Watch
	budgets []*Budget // in the order of the watch's rules
}

// Compile compiles budgets for windows of a length, one each period. Those that are in old too,
// with the same name and sentence, are the same, unless an exception has ended since.
func Compile(budgets budget.Set, every, window time.Duration, old *Set) (*Set, error) {
	return compile(budgets, every, window, old, (*judge.Rule).Needs)
}

// compile is Compile for budgets that need something else.
func compile(budgets budget.Set, every, window time.Duration, old *Set, needs func(*judge.Rule) judge.Needs) (*Set, error) {
	rules, err := bridge.RulesAt(budgets, time.Now())
	if err != nil {
		return nil, err
	}
	var defaults []string
	for _, b := range budget.Default() {
		defaults = append(defaults, b.String())
	}
	kept := map[string]*Budget{} // by the sentence with the name
	if old != nil {
		for _, b := range old.Budgets {
			kept[b.Of.String()] = b
		}
	}
	s := new(Set)
	for i, b := range budgets {
		text := b.String()
		of := kept[text]
		if r := rules[i]; of == nil || !slices.Equal(of.Rule.Ending, r.Ending) {
			of = &Budget{
				Name: cmp.Or(b.Name, text), Of: b, Rule: r, Needs: needs(&r), Alert: r.Alert(every, window), Since: time.Now(),
				Default: slices.Contains(defaults, text),
			}
		}
		s.Budgets = append(s.Budgets, of)
	}
	for _, kind := range append(kinds.Names(), kinds.GoroutineLeak, "") {
		g := &group{kind: kind}
		var rules []judge.Rule
		for _, b := range s.Budgets {
			if b.Needs.Profile == kind {
				g.budgets, rules = append(g.budgets, b), append(rules, b.Rule)
			}
		}
		if len(rules) > 0 {
			g.watch = judge.NewWatch(rules, every)
			s.groups = append(s.groups, g)
		}
	}
	return s, nil
}

// sentences are the budgets as they were declared.
func (s *Set) sentences() (list budget.Set) {
	for _, b := range s.Budgets {
		list = append(list, b.Of)
	}
	return list
}

// Labels are those whose values are kept of a build, so that it may be compared with another: those that budgets are
// about, first those on growth.
func Labels(set budget.Set) (list []string) {
	for _, grows := range []bool{true, false} {
		for i := range set {
			b := &set[i]
			if label := b.Label(); label != "" && (b.Rule == budget.RuleGrows) == grows && cmp.Or(b.Kind, budget.KindCPU) == budget.KindCPU && !slices.Contains(list, label) {
				list = append(list, label)
			}
		}
	}
	return list[:min(len(list), release.MostLabels)]
}

// needs reports whether a budget is judged by a kind of profile.
func (s *Set) needs(kind string) bool {
	return slices.ContainsFunc(s.groups, func(g *group) bool { return g.kind == kind })
}

// group is that of a kind, which has to be there.
func (s *Set) group(kind string) *group {
	return s.groups[slices.IndexFunc(s.groups, func(g *group) bool { return g.kind == kind })]
}

// onlyOncePerPeriod reports whether all budgets of the group wait for the end of their period.
func (g *group) onlyOncePerPeriod() bool {
	return !slices.ContainsFunc(g.budgets, func(b *Budget) bool { return !b.Needs.Periodic })
}

// Linked says which budgets could never fail, by what is linked into the program.
type Linked struct {
	Warnings map[*Budget]string
	Err      error // why it is not known

	missing []string // patterns that match no function
}

// linkedIn looks for the budgets that could never fail: their patterns match no function
// that is linked into the program, or the runtime lacks their profile. For "absent" the first is
// a pass, and the pattern only counts as misspelt if there is a linked name near it.
func (s *Set) linkedIn(ctx context.Context, functions func(yield func(name string) bool) error) Linked {
	var texts []string
	for _, b := range s.Budgets {
		texts = append(texts, b.Rule.Patterns()...)
	}
	missing, err := process.Missing(texts, reference.ThisBuild().Program, func(yield func(string) bool) error {
		return functions(func(name string) bool { return ctx.Err() == nil && yield(name) })
	})
	if err != nil || ctx.Err() != nil {
		return Linked{Err: err}
	}
	l := Linked{Warnings: map[*Budget]string{}, missing: slices.Collect(maps.Keys(missing))}
	for _, b := range s.Budgets {
		if why := b.neverFails(missing); why != "" {
			l.Warnings[b] = why
		}
	}
	return l
}

// neverFails says why the budget cannot fail, or "". missing are the patterns that match nothing,
// each with the nearest name that is linked.
func (b *Budget) neverFails(missing map[string]string) string {
	if b.Needs.Profile == kinds.GoroutineLeak && pprof.Lookup(kinds.GoroutineLeak) == nil {
		return "the runtime was built without the profile of leaked goroutines: " + kinds.NeedsLeaks + ", or drop the budget"
	}
	if b.Needs.Calls {
		return "only a test, which makes the calls, can judge \"steady\": give it a limit here, as in \"goroutines below 5000\", or drop the budget"
	}
	_, absent := missing[b.Of.Subject]
	absent = absent && b.Rule.Test == judge.Absent // the best possible pass
	for _, text := range b.Rule.Patterns() {
		near, isMissing := missing[text]
		switch {
		case near != "":
			return "no function linked into the program matches " + text + ": did you mean " + near + ", which is linked?"
		case isMissing && !absent:
			return "no function linked into the program matches " + text + ": check the spelling, or drop the budget"
		}
	}
	return ""
}
