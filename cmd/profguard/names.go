package main

import (
	"fmt"
	"strconv"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/process"
)

// doubtMisspelt makes a budget undecided if it passes because no function of the profiles
// matches it, but one has a name that is nearly the same: a budget on a misspelt name could
// never fail. If there is no such name, the function may just not be in the profiles. A name in
// double quotes is taken to be right. Of a budget that has no sample within its "in", it says
// which name that may be.
func doubtMisspelt(set budget.Set, findings []judge.Finding, results []budget.Result, profiles ...*decode.Table) error {
	rules, err := set.Rules()
	if err != nil {
		return err
	}
	outOfScope := func(i int) bool {
		_, out := findings[i].Reason.(judge.OutOfScope)
		return out
	}
	var names []string
	for i, rule := range rules {
		if rule.Class == judge.Pattern && results[i].Verdict == budget.Pass && rule.Subject[0] != '"' {
			names = append(names, rule.Subject)
		}
		if outOfScope(i) && rule.In != "" && rule.In[0] != '"' {
			names = append(names, rule.In)
		}
	}
	missing, err := process.Missing(names, func(yield func(string) bool) error {
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
		if near := missing[b.In]; near != "" && outOfScope(i) {
			results[i].Reason += ": did you mean " + near + "?"
		}
		if near := missing[b.Subject]; near != "" {
			text := b.Subject
			b.Subject = strconv.Quote(text)
			results[i].Verdict = budget.Inconclusive
			results[i].Reason = fmt.Sprintf("no function of this profile matches %s: did you mean %s? If %s is right, write it in double quotes: %s", text, near, text, b)
		}
	}
	return nil
}
