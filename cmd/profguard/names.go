package main

import (
	"fmt"
	"strconv"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/process"
)

// doubtMisspelt makes a budget undecided if no function of the profiles matches it, but one
// has a name that is a letter or two away: a budget on a misspelt name could never fail. If
// there is no such name, the function may just not be in the profiles. A name in double
// quotes is taken to be right.
func doubtMisspelt(results []budget.Result, profiles ...*decode.Table) error {
	for i := range results {
		rules, err := budget.Set{results[i].Budget}.Rules()
		if err != nil {
			return err
		}
		patterns := append(rules[0].Patterns(), rules[0].Except...)
		missing, err := process.Missing(patterns, namesOf(profiles))
		if err != nil {
			return err
		}
		for _, text := range patterns {
			if near := missing[text]; near != "" && text[0] != '"' {
				doubt(&results[i], text, near)
			}
		}
	}
	return nil
}

// doubt makes a result undecided because a pattern of its budget may be misspelt.
func doubt(r *budget.Result, text, near string) {
	switch {
	case r.Verdict == budget.Pass && text == r.Budget.Subject:
		b := r.Budget
		b.Subject = strconv.Quote(text)
		r.Verdict = budget.Inconclusive
		r.Reason = fmt.Sprintf("no function of this profile matches %s: did you mean %s? If %s is right, write it in double quotes: %s", text, near, text, b)
	case r.Verdict != budget.Pass:
		r.Reason += fmt.Sprintf("; for %s, did you mean %s?", text, near)
	}
}

// namesOf are the functions of profiles.
func namesOf(profiles []*decode.Table) func(func(string) bool) error {
	return func(yield func(string) bool) error {
		for _, t := range profiles {
			if t == nil {
				continue // there is no base
			}
			for _, f := range t.Funcs {
				if !yield(t.Symbols.Name(f.Name)) {
					return nil
				}
			}
		}
		return nil
	}
}
