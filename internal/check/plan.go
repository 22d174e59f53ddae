package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/unit"
	"github.com/profguard/profguard/internal/work"
)

// A way is how a budget is judged.
type way int

const (
	sampled way = iota // by CPU samples, block by block
	counted            // CPU of the process, and its allocations, per call; CPU is sampled where counters do not tell
	gained             // profiles of what happened (allocs, mutex, block): the difference while work runs
	most               // the most goroutines of work at one time
	levels             // goroutines and heap between calls
	left               // the goroutines of work that are left in the end
	state              // profiles of a moment (heap), when work is over
	figure             // figures of the process
)

// waysOf are the ways of rules, and says which budgets a test cannot judge.
func waysOf(set budget.Set, rules []judge.Rule, c Config) (ways []way, wrong []string) {
	for i := range rules {
		w, problem := wayOf(&rules[i], c)
		if problem != "" {
			wrong = append(wrong, fmt.Sprintf("%s: %s", set[i], problem))
		}
		ways = append(ways, w)
	}
	return ways, wrong
}

func wayOf(r *judge.Rule, c Config) (w way, problem string) {
	needs := r.Needs()
	_, given := c.Work[r.Per]
	switch {
	case r.EachByWork():
		return 0, fmt.Sprintf("a test has no counter for each %s: limit shares, as in \"no %[1]s above 30%%\", or one value, as in \"process below 5ms per call where %[1]s=...\"", r.Label)
	case r.Per != "" && r.Per != work.Call && !given:
		return 0, fmt.Sprintf("nobody counts %q: write \"per call\", or set Checker.Work[%q]", r.Per, r.Per)
	case needs.Baseline && needs.Profile != kinds.CPU:
		// A limit on a count needs no baseline: unlike CPU, counts are the same on every machine.
		return 0, fmt.Sprintf("a baseline holds CPU samples, so only CPU can grow against it: limit %s by an amount", r.Kind)
	case needs.Baseline && c.BaselineFile == "":
		return 0, "there is no baseline to compare with: set Checker.BaselineFile, and write it with Checker.Update"
	case needs.Calls && r.When.Figure != "":
		return 0, "a test cannot judge \"steady\" under a condition: drop \"when\""
	case needs.Calls:
		return levels, ""
	case needs.Profile == kinds.GoroutineLeak:
		return left, ""
	case needs.Profile == kinds.Goroutine, needs.Profile == "" && r.Subject == "goroutines":
		return most, "" // these have the check's label, so that those of work can be followed while it runs
	case needs.Profile == "":
		return figure, ""
	case needs.Profile == kinds.CPU && needs.Counters && r.When.Figure == "":
		return counted, ""
	case needs.Profile == kinds.CPU:
		return sampled, ""
	case len(r.Where) > 0:
		return 0, "only CPU and goroutine profiles carry labels: drop \"where\""
	case kinds.Of(needs.Profile).Taken == kinds.State:
		return state, ""
	case r.Dimension != unit.Share && r.Per == "":
		return 0, "a test has no window to count in: give the limit \"per call\""
	case needs.Counters:
		return counted, ""
	}
	return gained, ""
}

// of are the budgets that are judged in some ways, by their indices.
func (b *budgets) of(ways ...way) (of []int) {
	for i, w := range b.ways {
		if slices.Contains(ways, w) {
			of = append(of, i)
		}
	}
	return of
}

// ofGoroutines reports whether a budget is judged by the goroutines with the check's label.
func (b *budgets) ofGoroutines(i int) bool {
	return b.ways[i] == left || b.ways[i] == most || b.ways[i] == levels && b.rules[i].Subject == "goroutines"
}

func part(rules []judge.Rule, indices []int) []judge.Rule {
	var out []judge.Rule
	for _, i := range indices {
		out = append(out, rules[i])
	}
	return out
}

// budgets are those of a check, and how they are judged.
type budgets struct {
	set      budget.Set
	rules    []judge.Rule      // of the set
	ways     []way             // likewise; see counted
	unlinked map[string]string // patterns that match no function, with the nearest name
}

// ineffective says which budgets could never fail, because their pattern matches no function.
func (b *budgets) ineffective() (wrong []string) {
	for i, rule := range b.rules {
		texts := slices.DeleteFunc(rule.Patterns(), func(text string) bool { return !b.isUnlinked(text) })
		if len(texts) == 0 {
			continue
		}
		advice, near := "check the spelling, make work call it, or drop the budget", b.unlinked[texts[0]]
		switch {
		case near != "":
			advice = fmt.Sprintf("did you mean %s? If %s is right, write it in double quotes: %q", near, texts[0], texts[0])
		case texts[0] == rule.Subject && rule.Test == judge.Absent: // the best possible pass
			continue
		}
		wrong = append(wrong, fmt.Sprintf("%s: no function linked into this test matches %s: %s", b.set[i], texts[0], advice))
	}
	return wrong
}

func (b *budgets) isUnlinked(pattern string) bool {
	_, unlinked := b.unlinked[pattern]
	return unlinked
}

// mainAsTested replaces package main in rules by the import path of the tested package: go test
// makes a main package of its own, and nothing says whether the tested one is a package main.
// So the same budgets can be used in a service and in its tests.
func mainAsTested(rules []judge.Rule, tested string) {
	rename := func(text string) string {
		if name, ok := strings.CutPrefix(text, "main"); ok && tested != "" && (name == "" || name[0] == '.') {
			text = tested + name
			if _, err := pattern.Parse(text); err != nil { // a path with a "+", for example
				text = strconv.Quote(text)
			}
		}
		return text
	}
	for i := range rules {
		r := &rules[i]
		r.Subject, r.In, r.Except = rename(r.Subject), rename(r.In), slices.Clone(r.Except)
		if r.Class == judge.EachValue {
			continue // values
		}
		for k, text := range r.Except {
			r.Except[k] = rename(text)
		}
		r.Routes = slices.Clone(r.Routes)
		for k, route := range r.Routes {
			r.Routes[k] = judge.Route{Of: rename(route.Of), From: rename(route.From)}
		}
	}
}

// byKind are the indices of budgets by their kinds of profile.
func (b *budgets) byKind(indices []int) map[string][]int {
	of := map[string][]int{}
	for _, i := range indices {
		kind := b.rules[i].Kind
		of[kind] = append(of[kind], i)
	}
	return of
}

// isShare reports whether a rule limits a share of the profile, or the growth of one.
func isShare(r judge.Rule) bool {
	return r.Test == judge.Limited && r.Dimension == unit.Share || r.Dimension == unit.Points
}
