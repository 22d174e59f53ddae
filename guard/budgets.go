package guard

import (
	"fmt"
	"slices"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/loop"
)

// budgets are the budgets in force, and what is known of each.
type budgets struct {
	compiled *loop.Set
	set      budget.Set
	entries  []*entry
	of       map[*loop.Budget]*entry
}

// An entry is the status of one budget. It is kept when other budgets change.
type entry struct {
	*loop.Budget
	status BudgetStatus // without the fields that [entry.now] computes
	alert  alert.Alert
	seen   loop.Seen
	told   bool // an event has told that it fires
}

func newEntry(b *loop.Budget) *entry {
	e := &entry{Budget: b}
	e.status.Name, e.status.Budget, e.status.Since, e.status.Verdicts = b.Name, b.Of, time.Now(), map[string]int64{}
	e.status.Result.Budget, e.status.additive = b.Of, b.Rule.Additive()
	if b.Rule.InShares() {
		e.status.OffenderUnit = "ratio"
	}
	return e
}

// newBudgets compiles the budgets of a configuration. Budgets that are in old too, with the same
// name and sentence, keep their entries.
func newBudgets(cfg *Config, old *budgets) (*budgets, error) {
	if old == nil {
		old = new(budgets)
	}
	compiled, err := loop.Compile(cfg.Budgets, cfg.Every, cfg.Window, old.compiled)
	if err != nil {
		return nil, err
	}
	p := &budgets{compiled: compiled, set: cfg.Budgets, of: map[*loop.Budget]*entry{}}
	for _, b := range compiled.Budgets {
		e := old.of[b]
		if e == nil {
			e = newEntry(b)
		}
		p.entries, p.of[b] = append(p.entries, e), e
	}
	return p, nil
}

// SetBudgets replaces the budgets from the next window on. Budgets that are in both sets,
// with the same name and sentence, keep their state, counts and evidence. A firing budget
// that is not in the new set is resolved, with a message that says so. On an error the old
// budgets stay in force. Nil stands for [budget.Default], and an empty set is an error.
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
	var next *budgets
	if err == nil {
		next, err = g.seams.compile(&cfg, g.inForce())
	}
	if err != nil {
		return fmt.Errorf("guard.SetBudgets: the old budgets stay in force: %w", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.status.State == Stopped {
		return fmt.Errorf("guard.SetBudgets: the guard has stopped: call Stop, and Start another one")
	}
	if slices.Equal(next.entries, g.budgets.entries) {
		return nil // to replace equal budgets would begin the differences of profiles anew
	}
	for _, e := range g.budgets.entries {
		if next.of[e.Budget] == nil && e.told {
			g.emit(e.removed())
		}
	}
	g.budgets = next
	return nil
}

func (g *Guard) inForce() *budgets {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.budgets
}

// removed is the event about a budget that SetBudgets has removed while it was firing.
func (e *entry) removed() Event {
	r := e.status.Result
	r.Verdict, r.Reason = budget.Inconclusive, "removed by SetBudgets"
	return Event{Name: EventResolved, Budget: e.Name, Result: r, Message: fmt.Sprintf("budget %s was removed or changed while it was firing", e.Name)}
}
