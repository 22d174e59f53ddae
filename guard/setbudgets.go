package guard

import (
	"fmt"

	"github.com/profguard/profguard/budget"
)

// SetBudgets replaces the budgets, from the next window on. Budgets that stay,
// name and sentence, keep their state, their counts and the evidence about them.
// One that goes while it is firing is resolved, with a message that says so. On an
// error the old ones stay in force.
func (g *Guard) SetBudgets(set budget.Set) error {
	if g == nil || g.cancel == nil {
		return fmt.Errorf("guard.SetBudgets: the guard does not run: Start it first")
	}
	cfg := g.cfg
	cfg.Budgets = set
	cfg, err := cfg.complete()
	if err != nil {
		return fmt.Errorf("guard.SetBudgets: the old budgets stay in force: %w", err)
	}
	g.setting.Lock()
	defer g.setting.Unlock()
	// A thousand patterns take a tenth of a second to compile, and Stop, Status and
	// scrapes do not wait for that. Only SetBudgets puts another panel in force, so
	// the old one is still the old one afterwards; of it, only what never changes is
	// read here.
	next, err := g.seams.compile(cfg, g.inForce())
	if err != nil {
		return fmt.Errorf("guard.SetBudgets: the old budgets stay in force: %w", err)
	}
	return g.replace(next)
}

func (g *Guard) inForce() *panel {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.panel
}

// replace puts a panel in force, and tells the end of what fires and is not in it.
func (g *Guard) replace(next *panel) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.status.State == stateStopped {
		return fmt.Errorf("guard.SetBudgets: the guard has been stopped: Start another one")
	}
	g.expect(len(g.panel.entries) + len(next.entries)) // those may all be resolved, and these fire
	for _, e := range g.panel.remove(next) {
		gone := Event{Name: eventResolved, Budget: e.name, Result: e.result, Message: fmt.Sprintf("budget %s was removed while it was firing", e.name)}
		if other := next.named(e.name); other != nil {
			gone.Message = fmt.Sprintf("budget %s was replaced while it was firing: it is %q now", e.name, other.budget)
		}
		gone.Result.Verdict, gone.Result.Reason = budget.Inconclusive, "removed by SetBudgets"
		g.emit(gone)
	}
	g.panel = next
	return nil
}
