package guard

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/loop"
	"github.com/profguard/profguard/internal/words"
)

// A roster is the budgets in force, with what is known of each.
type roster struct {
	compiled *loop.Set
	set      budget.Set
	entries  []*entry
	of       map[*loop.Budget]*entry
}

// An entry is what a guard has of one budget. It is kept when other budgets change.
type entry struct {
	*loop.Budget
	known    loop.Standing // after the last window
	told     bool          // an event has told that it fires
	warning  string        // why it can never fail, by what is linked
	warned   bool          // an event has told that it has never had anything to judge
	expiring []string      // the exceptions of which an event has told that they end soon

	dump    string // the last one that was saved
	dumped  time.Time
	dumpURL string
}

// newRoster compiles the budgets of a configuration. Budgets that are in old too, with the same
// name and sentence, keep their entries.
func newRoster(cfg *Config, old *roster) (*roster, error) {
	if old == nil {
		old = new(roster)
	}
	compiled, err := loop.Compile(cfg.Budgets, cfg.Every, cfg.Window, old.compiled)
	if err != nil {
		return nil, err
	}
	p := &roster{compiled: compiled, set: cfg.Budgets, of: map[*loop.Budget]*entry{}}
	for _, b := range compiled.Budgets {
		e := old.of[b]
		if e == nil {
			e = &entry{Budget: b, known: b.Unjudged()}
		}
		p.entries, p.of[b] = append(p.entries, e), e
	}
	return p, nil
}

// current is the budget with what is known of it now, for metrics.
func (e *entry) current(started time.Time) loop.Current {
	c := e.Now(e.known, started)
	c.Ineffective, c.Dump, c.Dumped = c.Ineffective || e.warning != "", e.dump, e.dumped
	return c
}

// now is the status of the budget now.
func (e *entry) now(started time.Time) BudgetStatus {
	k := e.current(started)
	s := BudgetStatus{
		Name: e.Name, State: State(k.State), Since: k.Standing.Since,
		Result: k.Last, Offender: k.Offender, Accept: k.Last.Accept(1),
		Verdicts: map[string]int64{}, Samples: k.Samples, Hits: k.Hits,
		Warning: cmp.Or(e.warning, e.ineffective()), Dump: k.Dump, Dumped: k.Dumped, DumpURL: e.dumpURL,
	}
	s.Result.Budget, s.Result.Reason = cloneBudget(e.Of), e.Reason(&k.Last, &k.Standing.Alert, k.Offender, time.Since(started))
	if e.Rule.InShares() {
		s.drawn.OffenderUnit = "ratio"
	}
	for v, n := range k.Verdicts {
		if n > 0 {
			s.Verdicts[budget.Verdict(v).String()] = n
		}
	}
	s.drawn.History = slices.Clone(k.History)
	return s
}

// cannotFail is the event about a budget that never fails.
func (e *entry) cannotFail(why string) Event {
	return Event{Name: EventIneffective, Budget: e.Name, Result: e.known.Last, Message: fmt.Sprintf("budget %s cannot fail: %s", e.Name, why)}
}

// ineffective is the warning about a budget that has never had anything to judge, or "".
func (e *entry) ineffective() string {
	if !e.known.Seen.Ineffective() || e.Default {
		return ""
	}
	if label := e.Of.Label(); label != "" && e.known.Seen.Unlabelled {
		return fmt.Sprintf("no sample had the label %s in %d windows: set it with %s, or drop the budget", label, e.known.Seen.Missed, words.Setter(label))
	}
	lacks := "no sample within its \"in\" and \"where\""
	if e.Of.Per != "" && !e.known.Seen.Worked {
		lacks = "no " + e.Of.Per + " was counted"
	}
	return fmt.Sprintf("%s in %d windows: check the spelling, or drop the budget", lacks, e.known.Seen.Missed)
}
