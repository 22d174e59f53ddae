package guard

import (
	"fmt"
	"slices"

	"github.com/profguard/profguard/budget"
)

// SetBudgets replaces the budgets from the next window on. Budgets in both sets, with the same
// name and sentence, keep their state, counts and evidence. A firing budget that is not in the new
// set is resolved, with a message that says so. On an error the old budgets stay in force. nil means
// [budget.Default], and an empty set is an error.
func (g *Guard) SetBudgets(set budget.Set) error {
	if g == nil || g.cancel == nil {
		return fmt.Errorf("guard.SetBudgets: the guard does not run: Start it first")
	}
	g.setting.Lock()
	defer g.setting.Unlock()
	cfg := g.cfg
	cfg.Budgets = set
	err := cfg.complete(&g.asking)
	// A thousand patterns take a tenth of a second to compile. That is done without g.mu, so
	// that Stop, Status and scrapes do not wait. Only constant parts of the old budgets are
	// read.
	var next *roster
	if err == nil {
		next, err = g.seams.compile(&cfg, g.inForce())
	}
	if err != nil {
		return fmt.Errorf("guard.SetBudgets: the old budgets stay in force: %w", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.status.State == ActivityStopped {
		return fmt.Errorf("guard.SetBudgets: the guard has stopped: call Stop, and Start another one")
	}
	if slices.Equal(next.entries, g.budgets.entries) {
		return nil // to replace equal budgets would begin the differences of profiles anew
	}
	g.replace(next, "SetBudgets has removed or changed it")
	return nil
}

// replace puts other budgets in force. Those that fire and are gone are resolved, with the reason.
// g.mu must be held.
func (g *Guard) replace(next *roster, why string) {
	for _, e := range g.budgets.entries {
		if next.of[e.Budget] == nil && e.told {
			g.emit(e.removed(why))
		}
	}
	g.budgets = next
	g.loop.Use(next.compiled)
}

// removed is the event about a budget that is no longer in force, although it was firing.
func (e *entry) removed(why string) Event {
	r := e.known.Last
	r.Verdict, r.Reason = budget.Inconclusive, why
	return Event{Name: EventResolved, Budget: e.Name, Result: r, Message: fmt.Sprintf("budget %s no longer fires: %s", e.Name, why)}
}
