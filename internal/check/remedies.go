package check

import (
	"fmt"
	"path/filepath"
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
		res := o.Result
		if res.Verdict != budget.Fail {
			continue
		}
		b := res.Budget
		switch {
		case b.Subject == "no goroutine", b.Subject == "goroutines" && b.Rule == "steady":
			add("end every goroutine that work starts when it returns, or at the latest when ctx is done")
		case b.Rule == "absent":
			if len(res.Offenders) > 0 && res.Offenders[0].Blame.Function != "" {
				add("take the call at %s:%d out of this path", res.Offenders[0].Blame.File, res.Offenders[0].Blame.Line)
			} else {
				add("take %s out of the paths that work goes", b.Subject)
			}
		case b.Rule == "grows":
			add("look for what changed since the baseline was written: %s", rep.diff())
			add("if the growth is wanted, refresh the baseline (Checker.Update)")
		case b.Kind == "allocs", b.Subject == "heap", b.Subject == "gc":
			add("to see each allocation: go test -run '^%s$' -memprofile mem.pprof -memprofilerate 1; "+
				"go tool pprof -top -cum -sample_index=alloc_space -ignore 'profguard/internal/' mem.pprof", rep.test) // without Check's own
		default:
			add("follow the way in from the bottom: do it less often, keep its result, or do it cheaper")
		}
		relax(res, add)
	}
	return tips
}

// diff is the command that compares the baseline with what was measured.
func (rep *report) diff() string {
	base := rep.base
	if abs, err := filepath.Abs(base); err == nil { // the reader need not be in the test's directory
		base = abs
	}
	for _, s := range rep.saved {
		if s.kind == "cpu" && s.err == nil {
			return fmt.Sprintf("go tool pprof -diff_base %s %s", base, s.path)
		}
	}
	return "go tool pprof -diff_base " + base + ", and the profile of this check"
}

// relax says how to change the budget so that it accepts the result.
func relax(res budget.Result, add func(format string, args ...any)) {
	b := res.Budget
	switch {
	case b.Rule != "" || slices.Equal(b.Except, []string{"none"}):
	case b.Subject != "no function" && b.Subject != "no package":
		add("if it is worth it, raise the limit of %s", b.Limit)
	case len(res.Offenders) > 0:
		b.Except = slices.Clone(b.Except)
		for _, o := range res.Offenders {
			name := o.Function
			if b.Subject != "no package" {
				name = pattern.Quote(name)
			}
			b.Except = append(b.Except, name)
		}
		if b.Validate() == nil { // the language has a pattern for each name
			add("if that is worth it, make an exception: %s", b)
		}
	}
}

// noteRace says what -race does to budgets on amounts, if one has failed: the amounts
// include the time and the memory of the race detector.
func (rep *report) noteRace() {
	if rep.race && slices.ContainsFunc(rep.outcomes, func(res outcome) bool {
		b := res.Budget
		unaffected := b.Limit.Value == 0 || b.Limit.Unit == "%" && b.Per == "" || b.Limit.Unit == "points"
		return res.Verdict == budget.Fail && !unaffected && b.Subject != "goroutines" && b.Kind != "goroutine"
	}) {
		rep.notes = append(rep.notes, "this test was built with -race, under which code takes 2 to 20 times as long and allocates more. "+
			"Leave limits of time, cores, bytes and allocations to a file that begins with //go:build !race, or limit shares: "+
			"the race detector's own samples are left out of those")
	}
}
