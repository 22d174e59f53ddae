package guard

import (
	"context"
	"fmt"
	"maps"
	"runtime/pprof"
	"slices"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/process"
)

// lookForVacuous warns of the budgets that could never fail: their patterns match no function
// that is linked into the program, or the runtime lacks their profile. For "absent" the first is
// a pass, and the pattern only counts as misspelt if there is a linked name near it.
func (l *looper) lookForVacuous(ctx context.Context, p *budgets) {
	var texts []string
	for _, e := range p.entries {
		texts = append(texts, e.rule.Patterns()...)
	}
	missing, err := process.Missing(texts, func(yield func(string) bool) error {
		return l.seams.linked(func(name string) bool { return ctx.Err() == nil && yield(name) })
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.faults.note("linked", "cannot tell which functions are linked: "+err.Error())
		return
	}
	if l.faults.clear("linked"); ctx.Err() != nil {
		return
	}
	p.notLinked = slices.Collect(maps.Keys(missing))
	for _, e := range p.entries {
		if e.needs.Profile == kinds.GoroutineLeak && pprof.Lookup(kinds.GoroutineLeak) == nil {
			l.warn(e, "the runtime was built without the profile of leaked goroutines: "+kinds.NeedsLeaks+", or drop the budget")
		}
		_, absent := missing[e.Budget.Subject]
		absent = absent && e.rule.IsAbsent() // the best possible pass
		for _, text := range e.rule.Patterns() {
			near, isMissing := missing[text]
			switch {
			case near != "":
				l.warn(e, fmt.Sprintf("no function linked into the program matches %s: did you mean %s, which is linked?", text, near))
			case isMissing && !absent:
				l.warn(e, fmt.Sprintf("no function linked into the program matches %s: check the spelling, or drop the budget", text))
			}
		}
	}
}

// vacuousWindows is the number of windows without a sample in a budget's "in" and "where", or
// without a unit of its work, after which there is a warning: an hour at the defaults, or less
// while windows come more often. The binary does not tell whether there will be any.
const vacuousWindows = 60

// works reports whether a unit of the budget's work was done since the last window. When one has
// ever been, nobody asks again.
func (e *entry) works(now readings) bool {
	if e.rule.Per == "" || e.worked {
		return false
	}
	done, _ := between(e.work, now)
	e.work = now
	return done[e.rule.Per] > 0
}

// vacuous is the warning about a budget that has never had anything to judge, or "".
func (e *entry) vacuous() string {
	if e.judged || e.missed < vacuousWindows || isDefault(e.Budget) {
		return ""
	}
	lacks := "no sample within its \"in\" and \"where\""
	if e.Budget.Per != "" && !e.worked {
		lacks = "no " + e.Budget.Per + " was done"
	}
	return fmt.Sprintf("%s in %d windows: check the spelling, or drop the budget", lacks, e.missed)
}

// warn sets a budget's warning and emits an event, once, unless the budget is one of
// budget.Default. g.mu must be held.
func (g *Guard) warn(e *entry, why string) {
	if e.Warning != "" || isDefault(e.Budget) {
		return
	}
	e.Warning = why
	g.emit(Event{Name: EventVacuous, Budget: e.Name, Result: e.Result, Message: fmt.Sprintf("budget %s cannot fail: %s", e.Name, why)})
}

// isDefault reports whether a budget is one of budget.Default, word for word. These are meant
// for every program, so it is no mistake if one of them matches nothing here. The reason of
// its result still says so.
func isDefault(b budget.Budget) bool {
	return slices.ContainsFunc(budget.Default(), func(d budget.Budget) bool { return d.String() == b.String() })
}
