package guard

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/loop"
)

// A roster is the budgets in force, with what is known of each.
type roster struct {
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

	expiring []string // the exceptions of which an event has told that they end soon
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
			e = newEntry(b)
		}
		p.entries, p.of[b] = append(p.entries, e), e
	}
	return p, nil
}

// now is the status of the budget now.
func (e *entry) now(started time.Time) BudgetStatus {
	s, since := e.status, time.Since(started)
	r := &s.Result
	s.Budget, r.Reason = cloneBudget(e.Of), e.Reason(r, &e.alert, s.Offender, since)
	r.Budget = s.Budget
	state, entered := e.alert.At(since, e.Alert)
	if s.State = State(state); state != e.alert.State { // windows are lost
		s.Since = started.Add(entered)
	}
	s.Warning = cmp.Or(s.Warning, e.vacuous())
	s.Verdicts, s.History = maps.Clone(s.Verdicts), slices.Clone(s.History)
	active := e.alert.State == alert.Pending || e.alert.State == alert.Firing
	if active && s.Proven == budget.Pass || !active && s.Proven == budget.Fail {
		s.Proven = budget.Inconclusive
	}
	return s
}

// vacuousWindows is the number of windows without a sample in a budget's "in" and "where", or
// without a unit of its work, after which there is a warning: an hour at the defaults, or less
// while windows come more often. The binary does not tell whether there will be any.
const vacuousWindows = 60

// vacuous is the warning about a budget that has never had anything to judge, or "".
func (e *entry) vacuous() string {
	if e.seen.Judged || e.seen.Missed < vacuousWindows || e.Default {
		return ""
	}
	lacks := "no sample within its \"in\" and \"where\""
	if e.Of.Per != "" && !e.seen.Worked {
		lacks = "no " + e.Of.Per + " was done"
	}
	return fmt.Sprintf("%s in %d windows: check the spelling, or drop the budget", lacks, e.seen.Missed)
}
