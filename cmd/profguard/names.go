package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/process"
)

// doubtMisspelt leaves a budget undecided that no function of the profile matches, where
// the profile has a name that is a letter or two away: a misspelt name would be kept for
// ever. What has no such name near is not there, which is as it may be. A name in double
// quotes is taken as it stands.
func doubtMisspelt(results []budget.Result, t *decode.Table, base *profile.Profile) error {
	for i := range results {
		rules, err := budget.Set{results[i].Budget}.Rules()
		if err != nil {
			return err
		}
		for _, text := range append(rules[0].Patterns(), rules[0].Except...) {
			if strings.HasPrefix(text, `"`) {
				continue
			}
			missing, err := process.Missing([]string{text}, namesOf(t, base))
			if err != nil {
				return err
			}
			if near := missing[text]; near != "" {
				doubt(&results[i], text, near)
			}
		}
	}
	return nil
}

// doubt says in a result that a pattern of its budget may be misspelt.
func doubt(r *budget.Result, text, near string) {
	why := fmt.Sprintf("no function of this profile matches %s: did you mean %s?", text, near)
	switch {
	case r.Verdict == budget.Pass && text == r.Budget.Subject:
		b := r.Budget
		b.Subject = strconv.Quote(text)
		r.Verdict = budget.Inconclusive
		r.Reason = fmt.Sprintf("%s If %s is right, write it in double quotes: %s", why, text, b)
	case r.Verdict != budget.Pass:
		r.Reason += "; " + why
	}
}

// namesOf are the functions of a profile and of what it is compared with.
func namesOf(t *decode.Table, base *profile.Profile) func(func(string) bool) error {
	return func(yield func(string) bool) error {
		for _, f := range t.Funcs {
			if !yield(t.Symbols.Name(f.Name)) {
				return nil
			}
		}
		if base != nil {
			for _, f := range base.Function {
				if !yield(f.Name) {
					return nil
				}
			}
		}
		return nil
	}
}
