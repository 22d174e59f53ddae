package guard

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/profguard/profguard/budget"
)

// remedies lists what may be done about the failed budgets, each once.
func (rep *checkReport) remedies() []string {
	var tips []string
	add := func(format string, args ...any) {
		if tip := fmt.Sprintf(format, args...); !slices.Contains(tips, tip) {
			tips = append(tips, tip)
		}
	}
	for i, res := range rep.results {
		if res.Verdict != budget.Fail {
			continue
		}
		b := res.Budget
		switch {
		case b.Subject == "no goroutine", b.Subject == "goroutines" && b.Rule == "steady":
			add("end every goroutine that work starts when it returns, or at the latest when ctx is done")
		case b.Rule == "absent":
			if o, ok := worst(res); ok && o.Blame.Function != "" {
				add("take the call at %s:%d out of this path", o.Blame.File, o.Blame.Line)
			} else {
				add("take %s out of the paths that work goes", b.Subject)
			}
		case b.Rule == "grows":
			add("look for what changed since the baseline was written: %s", rep.diff())
			if rep.base != "" {
				add("if the growth is wanted, refresh the baseline (Checker.Update)")
			}
		case b.Kind == "allocs", b.Subject == "heap", b.Subject == "gc":
			add("to see each allocation: %s", rep.memprofile())
		default:
			add("follow the way in from the bottom: do it less often, keep its result, or do it cheaper")
		}
		rep.relax(i, add)
	}
	return tips
}

// memprofile is the command that shows all allocations, without Check's own.
func (rep *checkReport) memprofile() string {
	which := "-run"
	if rep.bench {
		which = "-run '^$' -bench"
	}
	return fmt.Sprintf("go test %s '^%s$' -memprofile mem.pprof -memprofilerate 1; "+
		`go tool pprof -top -cum -sample_index=alloc_space -ignore 'profguard/guard\.\(\*|profguard/internal/' mem.pprof`, which, rep.test)
}

// diff is the command that compares the baseline with what was measured.
func (rep *checkReport) diff() string {
	base := rep.base
	if abs, err := filepath.Abs(base); err == nil && base != "" { // the reader need not be in the test's directory
		base = abs
	}
	for _, s := range rep.saved {
		if s.kind == "cpu" && s.err == nil {
			return fmt.Sprintf("go tool pprof -diff_base %s %s", base, s.path)
		}
	}
	return "go tool pprof -diff_base " + base + ", and the profile of this check"
}

// mostExempt is how many names fit a budget that somebody wants to read.
const mostExempt = 6

// relax says how to allow what was found, in the words of the budget.
func (rep *checkReport) relax(i int, add func(format string, args ...any)) {
	res := rep.results[i]
	b := res.Budget
	switch b.Subject {
	case "no function", "no package":
		names := rep.over[i]
		if len(names) == 0 || !canExempt(b) {
			return
		}
		if rep.overMore[i] || len(names) > mostExempt {
			add("to look at these first and at the others later, raise the limit of %s: %d are over it at least", b.Limit, len(names))
			return
		}
		b.Except = append(slices.Clone(b.Except), names...)
		if b.Validate() != nil {
			return
		}
		if len(names) == 1 {
			add("if %s is worth it, exempt it: %s", names[0], b)
			return
		}
		add("if they are worth it, exempt all %d that are over the limit: %s", len(names), b)
	default:
		if b.Rule == "" {
			add("if it is worth it, raise the limit of %s", b.Limit)
		}
	}
}

func worst(res budget.Result) (budget.Offender, bool) {
	if len(res.Offenders) == 0 {
		return budget.Offender{}, false
	}
	return res.Offenders[0], true
}
