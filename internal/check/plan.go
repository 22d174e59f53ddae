package check

import (
	"fmt"
	"slices"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/kinds"
)

// A plan says how each budget of a check is judged, by its index in the set.
type plan struct {
	cpu      []int // CPU samples, block by block
	exact    []int // CPU of the process, counted
	counts   []int // allocations of the process, counted
	profiles []int // other profiles: what they gained while work ran
	heap     []int // the heap profile, when work is over
	figures  []int // figures of the process
	steady   []int // floors between calls
	leaks    []int // goroutines left by work

	goroutines bool // some budget is about how many there are

	grows bool            // some budget compares with the baseline
	units map[string]bool // of work, that the growing ones are per
}

// planOf makes the plan, or says which budgets a test cannot judge.
func planOf(set budget.Set, c Config) (p plan, wrong []string) {
	p.units = map[string]bool{}
	for i, b := range set {
		if problem := p.add(i, b, c); problem != "" {
			wrong = append(wrong, fmt.Sprintf("%s: %s", b, problem))
		}
	}
	return p, wrong
}

func (p *plan) add(i int, b budget.Budget, c Config) (problem string) {
	if _, ok := c.Work[b.Per]; b.Per != "" && b.Per != callUnit && !ok {
		return fmt.Sprintf("nobody counts %q: say \"per call\", or give Checker.Work[%q]", b.Per, b.Per)
	}
	if b.Rule == "grows" {
		if b.Kind != "" && b.Kind != "cpu" {
			return fmt.Sprintf("a baseline holds CPU samples, so only CPU can grow against it. Limit %s by itself: %s",
				b.Kind, insteadOfGrows[b.Kind])
		}
		if c.BaselineFile == "" {
			return "there is no baseline to compare with: set Checker.BaselineFile, and write it with Checker.Update"
		}
		p.grows = true
		if b.Per != "" {
			p.units[b.Per] = true
		}
	}
	switch b.Subject {
	case "no goroutine":
		p.leaks = append(p.leaks, i)
		return ""
	case "goroutines", "heap":
		if b.Rule == "steady" {
			p.steady = append(p.steady, i)
			return ""
		}
		p.figures = append(p.figures, i)
		p.goroutines = p.goroutines || b.Subject == "goroutines"
		return ""
	case "rss", "gc":
		if b.Rule == "steady" {
			return "resident memory follows the heap too slowly for a test: say \"heap steady\""
		}
		p.figures = append(p.figures, i)
		return ""
	case "process":
		if b.Rule == "steady" {
			return "that shows over hours, in a running guard: in a test, say \"process below 2ms per call\""
		}
	}
	kind := b.Kind
	if kind == "" {
		kind = "cpu"
	}
	if kind != kinds.CPU && kind != kinds.Goroutine && len(b.Where) > 0 {
		return "only CPU and goroutine profiles carry labels: drop \"where\""
	}
	amount := b.Rule == "" && b.Limit.Unit != "%" // and not a share
	switch {
	case kind == kinds.CPU:
		if b.Subject == "process" && amount && b.In == "" && len(b.Where) == 0 && b.When == (budget.Condition{}) {
			p.exact = append(p.exact, i)
		} else {
			p.cpu = append(p.cpu, i)
		}
	case kind == kinds.Heap:
		p.heap = append(p.heap, i)
	case kinds.Of(kind).Taken == kinds.State:
		p.profiles = append(p.profiles, i)
	default: // a difference: allocs, mutex, block
		if amount && b.Per == "" {
			return "a test has no window to count in: say how much it may be \"per call\""
		}
		if b.Subject == "process" {
			p.counts = append(p.counts, i)
		} else {
			p.profiles = append(p.profiles, i)
		}
	}
	return ""
}

// sampleAll has the CPU of the process sampled, where it cannot be counted.
func (p *plan) sampleAll() { p.cpu, p.exact = append(p.cpu, p.exact...), nil }

// insteadOfGrows are budgets that tests judge, by kind. What is counted needs no
// baseline: unlike a share of a core, it is the same on every machine.
var insteadOfGrows = map[string]string{
	"allocs":    `"process below 64KiB per call of allocs"`,
	"heap":      `"heap below 64MiB", or "heap steady"`,
	"goroutine": `"goroutines below 50", "goroutines steady", or "no goroutine leaked"`,
	"mutex":     `"no function above 1ms per call of mutex"`,
	"block":     `"no function above 1ms per call of block"`,
}

// kinds lists the profiles that a plan's budgets need, each once.
func (p *plan) kinds(set budget.Set) []string {
	var kinds []string
	for _, i := range p.profiles {
		if k := set[i].Kind; !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// callUnit is what budgets "per call" are per.
const callUnit = "call"

// part is the set of some of the budgets.
func part(set budget.Set, indices []int) budget.Set {
	var out budget.Set
	for _, i := range indices {
		out = append(out, set[i])
	}
	return out
}
