package main

import (
	"fmt"
	"slices"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/process"
)

// doubtMisspelt makes a budget that does not fail undecided if a pattern of it matches no function of the profiles,
// and one of them is spelt nearly the same: on a misspelt name it could never fail, and more samples are no help. A
// name in double quotes is taken to be right.
func doubtMisspelt(set budget.Set, results []budget.Result, profiles ...*decode.Table) error {
	rules, err := bridge.Rules(set)
	if err != nil {
		return err
	}
	var texts []string
	for i, rule := range rules {
		if results[i].Verdict != budget.Fail {
			texts = append(texts, rule.Patterns()...)
		}
	}
	texts = slices.DeleteFunc(texts, func(text string) bool { return text[0] == '"' })
	missing, err := process.Missing(texts, "", func(yield func(string) bool) error {
		for _, t := range profiles {
			for _, f := range t.Funcs {
				if !yield(t.Symbols.Name(f.Name)) {
					return nil
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, rule := range rules {
		for _, text := range rule.Patterns() {
			if near := missing[text]; near != "" && results[i].Verdict != budget.Fail {
				results[i].Verdict = budget.Inconclusive
				results[i].Reason = fmt.Sprintf("no function of this profile matches %s: did you mean %s? If %s is right, write it in double quotes: %q", text, near, text, text)
				break
			}
		}
	}
	return nil
}
