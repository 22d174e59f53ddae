package compare

import (
	"fmt"

	"github.com/profguard/profguard/budget"
)

// A Growth is a limit on how much more a call may cost.
type Growth struct {
	Sentence string
	Limit    float64 // 0.05 is 5%
	Allocs   bool    // of allocations, their bytes and their number, instead of CPU time
}

// DefaultBudgets are those of a comparison without any.
var DefaultBudgets = []string{"process grows below 5% per call", "process grows below 5% per call of allocs"}

// ParseBudgets reads sentences of the budget language. A benchmark has one number of each cost, so
// only the growth of the process can be limited.
func ParseBudgets(sentences []string) ([]Growth, error) {
	var list []Growth
	for _, sentence := range sentences {
		set, err := budget.Parse(sentence)
		if err != nil {
			return nil, fmt.Errorf("-budget: %w", err)
		}
		if err := set.Validate(); err != nil {
			return nil, fmt.Errorf("-budget: %w", err)
		}
		if len(set) == 0 {
			return nil, fmt.Errorf("-budget %q: there is no budget in it", sentence)
		}
		for _, b := range set {
			g := Growth{Sentence: b.String(), Limit: b.Limit.Value / 100, Allocs: b.Kind == budget.KindAllocs}
			plain := budget.Budget{Name: b.Name, Subject: "process", Rule: budget.RuleGrows, Limit: budget.Amount{Value: b.Limit.Value, Unit: "%"}, Per: "call"}
			if g.Allocs {
				plain.Kind = budget.KindAllocs
			}
			if b.String() != plain.String() || !(g.Limit > 0) {
				return nil, fmt.Errorf("-budget: expected a growth of the process per call, such as %q or %q, found %q; "+
					"other budgets are for profguard check and guard.Check", DefaultBudgets[0], DefaultBudgets[1], b.String())
			}
			list = append(list, g)
		}
	}
	return list, nil
}
