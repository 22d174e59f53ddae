package main

import (
	"fmt"
	"strconv"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/process"
)

// doubtMisspelt makes a budget that passes undecided if its pattern matches no function of the profiles, and
// one of them is spelt nearly the same: on a misspelt name it could never fail. A name in double quotes is
// taken to be right.
func doubtMisspelt(set budget.Set, results []budget.Result, profiles ...*decode.Table) error {
	rules, err := bridge.Rules(set)
	if err != nil {
		return err
	}
	var texts []string
	for i, rule := range rules {
		if results[i].Verdict == budget.Pass && rule.Class == judge.Pattern && rule.Subject[0] != '"' {
			texts = append(texts, rule.Subject)
		}
	}
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
	for i, b := range set {
		text := b.Subject
		if near := missing[text]; near != "" && results[i].Verdict == budget.Pass {
			b.Subject = strconv.Quote(text)
			results[i].Verdict = budget.Inconclusive
			results[i].Reason = fmt.Sprintf("no function of this profile matches %s: did you mean %s? If %s is right, write it in double quotes: %s", text, near, text, b)
		}
	}
	return nil
}
