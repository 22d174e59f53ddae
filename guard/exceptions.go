package guard

import (
	"fmt"
	"slices"
	"time"

	"github.com/profguard/profguard/internal/judge"
)

// warnAhead is how long before an exception ends an event says so.
const warnAhead = 24 * time.Hour

// renew compiles the budgets anew of which an exception has ended, so that they count from the next window on what it
// accepted, and tells of those that will end.
func (g *Guard) renew(now time.Time) {
	p := g.inForce()
	ended := slices.ContainsFunc(p.entries, func(e *entry) bool { return e.ended(now) })
	if ended && g.setting.TryLock() { // or SetBudgets compiles them
		defer g.setting.Unlock()
		cfg := g.cfg
		cfg.Budgets = p.set
		next, err := g.seams.compile(&cfg, p)
		if g.off("exceptions", err); err == nil {
			g.mu.Lock()
			g.replace(next, "an exception has ended, so the budget is judged anew")
			g.mu.Unlock()
		}
	}
	g.expiring(now)
}

// ended reports whether an exception has ended that the compiled budget still has.
func (e *entry) ended(now time.Time) bool {
	return slices.ContainsFunc(e.Rule.Ending, func(x judge.Ending) bool { return !now.Before(x.At) })
}

// expiring tells once of each exception that is about to end.
func (g *Guard) expiring(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, e := range g.budgets.entries {
		for _, x := range e.Rule.Ending {
			if now.Before(x.At.Add(-warnAhead)) || slices.Contains(e.expiring, x.Exception) {
				continue
			}
			e.expiring = append(e.expiring, x.Exception)
			g.emit(Event{Name: EventExpiring, Time: now, Budget: e.Name, Result: e.known.Last, Message: fmt.Sprintf(
				"budget %s stops accepting %s on %s: fix it by then, or choose a later day", e.Name, x.Exception, x.At.Format("2006-01-02 15:04 MST"))})
		}
	}
}
