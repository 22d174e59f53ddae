package guard

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
)

// budgets are compiled budgets: the status of each, and a watch for each kind of profile.
type budgets struct {
	set     budget.Set
	entries []*entry
	groups  []*group // the CPU profile comes first, because decoding another one overwrites its table
	// notLinked are the patterns that match no function of the program, once known.
	notLinked []string
}

// entry is one budget with its status and evidence. It is kept when other budgets change.
type entry struct {
	rule  judge.Rule // the budget without its words
	needs judge.Needs

	// Only alert.go writes these, but for the warning and the last dump.
	BudgetStatus // without the fields that status computes
	alert        alert.Alert
	named        map[string]bool // the offenders that events have named while it fires, else nil
	namedAt      time.Time       // when the last one was named

	missed  int              // windows in which the program worked and the budget had nothing to judge
	judged  bool             // it has had something to judge
	work    readings         // after the last window, while none of its work has been done
	worked  bool             // a unit of its work has been done, in a window or between two
	counted totals           // the counters when it was last judged by them
	parts   []judge.Offender // of a figure that fails: by the last profile of it
	watch   *judge.Watch     // judges it, as the rule with the number at
	at      int
}

func newEntry(b *budget.Budget, r *judge.Rule) *entry {
	e := &entry{rule: *r, needs: r.Needs()}
	e.Name, e.Budget, e.Since, e.Verdicts = cmp.Or(b.Name, b.String()), *b, time.Now(), map[string]int64{}
	e.Result.Budget = *b
	return e
}

// group is the budgets that are judged by one kind of profile.
type group struct {
	kind    string // "" for those that need no profile
	watch   *judge.Watch
	entries []*entry // in the order of the watch's rules
}

// newBudgets compiles the budgets of a configuration. Budgets that are in old too, with the same
// name and sentence, keep their entries.
func newBudgets(cfg *Config, old *budgets) (*budgets, error) {
	all, err := cfg.Budgets.Rules()
	if err != nil {
		return nil, err
	}
	p := &budgets{set: cfg.Budgets}
	kept := map[string]*entry{} // by the budget, which has its name
	if old != nil {
		for _, e := range old.entries {
			kept[e.Budget.String()] = e
		}
	}
	for i := range all {
		e := kept[cfg.Budgets[i].String()]
		if e == nil {
			e = newEntry(&cfg.Budgets[i], &all[i])
		}
		p.entries = append(p.entries, e)
	}
	for _, kind := range append(kinds.Names(), kinds.GoroutineLeak, "") {
		g := &group{kind: kind}
		var rules []judge.Rule
		for _, e := range p.entries {
			if e.needs.Profile == kind {
				g.entries, rules = append(g.entries, e), append(rules, e.rule)
			}
		}
		if len(rules) == 0 {
			continue
		}
		g.watch = judge.NewWatch(rules, cfg.Every)
		p.groups = append(p.groups, g)
	}
	return p, nil
}

// adopt takes over the evidence of other watches about budgets that were kept. Only the loop
// may call it, between two windows, because it uses these watches.
func (p *budgets) adopt() {
	for _, g := range p.groups {
		for i, e := range g.entries {
			if e.watch != nil {
				g.watch.Inherit(i, e.watch, e.at)
			}
			e.watch, e.at = g.watch, i
		}
	}
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
		if slices.Contains(next.entries, e) || e.named == nil {
			continue
		}
		g.emit(e.removed())
	}
	g.budgets = next
	return nil
}

func (g *Guard) inForce() *budgets {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.budgets
}
