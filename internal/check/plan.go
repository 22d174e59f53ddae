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

// A plan says how each budget of a check is judged, by its index in the set.
type plan struct {
	cpu        []int // CPU samples, block by block
	counted    []int // CPU of the process, and its allocations
	profiles   []int // profiles of what happened (allocs, mutex, block): the difference while work runs
	goroutines []int // the most goroutines of work at one time
	states     []int // profiles of a moment (heap), when work is over
	figures    []int // figures of the process
	steady     []int // goroutines and heap between calls
	leaks      []int // the goroutines of work that are left in the end
}

// planOf makes the plan, or says which budgets a test cannot judge.
func planOf(set budget.Set, rules []judge.Rule, c Config) (p plan, wrong []string) {
	for i := range rules {
		list, problem := p.listOf(&rules[i], c)
		if problem != "" {
			wrong = append(wrong, fmt.Sprintf("%s: %s", set[i], problem))
			continue
		}
		*list = append(*list, i)
	}
	return p, wrong
}

func (p *plan) listOf(r *judge.Rule, c Config) (list *[]int, problem string) {
	needs := r.Needs()
	_, given := c.Work[r.Per]
	switch {
	case r.Per != "" && r.Per != work.Call && !given:
		return nil, fmt.Sprintf("nobody counts %q: say \"per call\", or give Checker.Work[%q]", r.Per, r.Per)
	case needs.Baseline && needs.Profile != kinds.CPU:
		// A limit on a count needs no baseline: unlike CPU, counts are the same on every machine.
		return nil, fmt.Sprintf("a baseline holds CPU samples, so only CPU can grow against it: limit %s by an amount", r.Kind)
	case needs.Baseline && c.BaselineFile == "":
		return nil, "there is no baseline to compare with: set Checker.BaselineFile, and write it with Checker.Update"
	case needs.Hours && r.Subject != "goroutines" && r.Subject != "heap":
		return nil, "that shows over hours, in a running guard: in a test, say \"heap steady\" or \"process below 2ms per call\""
	case needs.Hours && r.When.Figure != "":
		return nil, "a test cannot judge \"steady\" under a condition: drop \"when\""
	case needs.Hours:
		return &p.steady, ""
	case needs.Profile == kinds.GoroutineLeak:
		return &p.leaks, ""
	case needs.Profile == kinds.Goroutine, needs.Profile == "" && r.Subject == "goroutines":
		return &p.goroutines, "" // these have the check's label, so that those of work can be followed while it runs
	case needs.Profile == "":
		return &p.figures, ""
	case needs.Profile == kinds.CPU && needs.Counters && r.When.Figure == "":
		return &p.counted, ""
	case needs.Profile == kinds.CPU:
		return &p.cpu, ""
	case len(r.Where) > 0:
		return nil, "only CPU and goroutine profiles carry labels: drop \"where\""
	case kinds.Of(needs.Profile).Taken == kinds.State:
		return &p.states, ""
	case r.Dimension != unit.Share && r.Per == "":
		return nil, "a test has no window to count in: say how much it may be \"per call\""
	case needs.Counters:
		return &p.counted, ""
	}
	return &p.profiles, ""
}

// sampleAll moves the budgets on the CPU of the process to those that are sampled, when it
// cannot be counted.
func (p *plan) sampleAll(rules []judge.Rule) {
	for _, i := range p.counted {
		if isCPU(rules[i]) {
			p.cpu = append(p.cpu, i)
		}
	}
	p.counted = slices.DeleteFunc(p.counted, func(i int) bool { return isCPU(rules[i]) })
}

// ofGoroutines are the budgets that are judged by the goroutines with the check's label.
func (p *plan) ofGoroutines(rules []judge.Rule) []int {
	steady := slices.DeleteFunc(slices.Clone(p.steady), func(i int) bool { return rules[i].Subject != "goroutines" })
	return slices.Concat(p.leaks, p.goroutines, steady)
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
	rules    []judge.Rule // of the set
	plan     plan
	unlinked map[string]string // patterns that match no function, with the nearest name
}

// vacuous says which budgets could never fail, because their pattern matches no function.
func (b *budgets) vacuous() (wrong []string) {
	for i, rule := range b.rules {
		texts := slices.DeleteFunc(rule.Patterns(), func(text string) bool { return !b.isUnlinked(text) })
		if len(texts) == 0 || texts[0] == rule.Subject && rule.IsAbsent() { // the best possible pass
			continue
		}
		advice := "check the spelling, make work call it, or drop the budget"
		if near := b.unlinked[texts[0]]; near != "" {
			advice = fmt.Sprintf("did you mean %s?", near)
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
		for k, text := range r.Except {
			r.Except[k] = rename(text)
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
