package check

import (
	"fmt"
	"slices"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/pattern"
)

// remedies lists what the user can do about the failed budgets, each advice once.
func (rep *report) remedies() []string {
	var tips []string
	add := func(format string, args ...any) {
		if tip := fmt.Sprintf(format, args...); !slices.Contains(tips, tip) {
			tips = append(tips, tip)
		}
	}
	for _, o := range rep.outcomes {
		b := o.Budget
		switch {
		case o.Verdict != budget.Fail:
			continue
		case b.Rule == "grows":
			add("to see what changed: go tool pprof -diff_base %s, and the profile of this check", rep.base)
			add("if the growth is wanted, refresh the baseline (Checker.Update)")
		}
		accept(o.Result, add)
		if rep.race && b.Limit.Value > 0 && !isShare(b) && b.Subject != "goroutines" && b.Kind != "goroutine" {
			add("leave limits of time, cores, bytes and allocations to a file that begins with //go:build !race: " +
				"with -race, code takes 2 to 20 times as long and allocates more")
		}
	}
	return tips
}

// accept says how to change the budget so that it accepts the offenders.
func accept(res budget.Result, add func(format string, args ...any)) {
	b := res.Budget
	if len(res.Offenders) == 0 || b.Rule != "" || b.Subject != "no function" && b.Subject != "no package" || slices.Equal(b.Except, []string{"none"}) {
		return
	}
	b.Except = slices.Clone(b.Except)
	for _, o := range res.Offenders {
		name := o.Function
		if b.Subject != "no package" {
			name = pattern.Quote(name)
		}
		b.Except = append(b.Except, name)
	}
	if b.Validate() == nil { // the language has a pattern for each name
		add("if it is worth it, make an exception: %s", b)
	}
}
