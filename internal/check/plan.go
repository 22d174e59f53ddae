package check

import (
	"fmt"
	"slices"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/work"
)

// A plan says how each budget of a check is judged, by its index in the set.
type plan struct {
	cpu        []int // CPU samples, block by block
	counted    []int // CPU of the process, and its allocations
	profiles   []int // allocs, mutex and block profiles: the difference while work runs
	goroutines []int // the most goroutines of work at one time
	heap       []int // the heap profile, when work is over
	figures    []int // figures of the process
	steady     []int // goroutines and heap between calls
	leaks      []int // the goroutines of work that are left in the end
}

// planOf makes the plan, or says which budgets a test cannot judge.
func planOf(set budget.Set, c Config) (p plan, wrong []string) {
	for i, b := range set {
		list, problem := p.listOf(b, c)
		if problem != "" {
			wrong = append(wrong, fmt.Sprintf("%s: %s", b, problem))
			continue
		}
		*list = append(*list, i)
	}
	return p, wrong
}

// listOf is the list that a budget belongs to.
func (p *plan) listOf(b budget.Budget, c Config) (list *[]int, problem string) {
	_, counted := c.Work[b.Per]
	ofCPU := b.Kind == "" || b.Kind == kinds.CPU
	amount := b.Rule == "" && b.Limit.Unit != "%" // the limit is no share
	switch {
	case b.Per != "" && b.Per != work.Call && !counted:
		return nil, fmt.Sprintf("nobody counts %q: say \"per call\", or give Checker.Work[%q]", b.Per, b.Per)
	case b.Rule == "grows" && !ofCPU:
		// A limit on a count needs no baseline: unlike CPU, counts are the same on every machine.
		return nil, fmt.Sprintf("a baseline holds CPU samples, so only CPU can grow against it: limit %s by an amount", b.Kind)
	case b.Rule == "grows" && c.BaselineFile == "":
		return nil, "there is no baseline to compare with: set Checker.BaselineFile, and write it with Checker.Update"
	case b.Rule == "steady" && b.Subject != "goroutines" && b.Subject != "heap":
		return nil, "that shows over hours, in a running guard: in a test, say \"heap steady\" or \"process below 2ms per call\""
	case b.Rule == "steady" && b.When != (budget.Condition{}):
		return nil, "a test cannot judge \"steady\" under a condition: drop \"when\""
	case b.Rule == "steady":
		return &p.steady, ""
	case b.Subject == "no goroutine":
		return &p.leaks, ""
	case b.Subject == "goroutines":
		return &p.goroutines, ""
	case b.Subject == "heap", b.Subject == "rss", b.Subject == "gc":
		return &p.figures, ""
	case !ofCPU && b.Kind != kinds.Goroutine && len(b.Where) > 0:
		return nil, "only CPU and goroutine profiles carry labels: drop \"where\""
	case ofCPU && b.Subject == "process" && amount && b.In == "" && len(b.Where) == 0 && b.When == (budget.Condition{}):
		return &p.counted, ""
	case ofCPU:
		return &p.cpu, ""
	case b.Kind == kinds.Heap:
		return &p.heap, ""
	case b.Kind == kinds.Goroutine:
		return &p.goroutines, ""
	case amount && b.Per == "":
		return nil, "a test has no window to count in: say how much it may be \"per call\""
	case b.Subject == "process" && b.Kind == kinds.Allocs && amount:
		return &p.counted, ""
	}
	return &p.profiles, ""
}

// sampleAll moves the budgets on the CPU of the process to those that are sampled, when it
// cannot be counted.
func (p *plan) sampleAll(set budget.Set) {
	for _, i := range p.counted {
		if isCPU(set[i]) {
			p.cpu = append(p.cpu, i)
		}
	}
	p.counted = slices.DeleteFunc(p.counted, func(i int) bool { return isCPU(set[i]) })
}

// continues reports whether there are budgets that are judged after the counted ones.
func (p *plan) continues() bool {
	return len(p.cpu)+len(p.profiles)+len(p.goroutines)+len(p.figures)+len(p.steady) > 0
}

// part is the set of some of the budgets.
func part(set budget.Set, indices []int) budget.Set {
	var out budget.Set
	for _, i := range indices {
		out = append(out, set[i])
	}
	return out
}
