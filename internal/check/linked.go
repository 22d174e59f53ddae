package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/process"
)

// unlinkedOf are the patterns of rules that match no function of the program, with the
// nearest name. If the executable cannot be read, all patterns count as linked.
func unlinkedOf(rules []judge.Rule) map[string]string {
	var texts []string
	for _, r := range rules {
		texts = append(texts, r.Patterns()...)
	}
	missing, _ := process.Missing(texts, process.Functions)
	return missing
}

// vacuous says which budgets could never fail, because their pattern matches no function.
func (r *run) vacuous() (wrong []string) {
	for i, rule := range r.rules {
		texts := slices.DeleteFunc(rule.Patterns(), func(text string) bool { return !r.isUnlinked(text) })
		if len(texts) == 0 || texts[0] == rule.Subject && rule.Test == judge.Absent { // the best possible pass
			continue
		}
		advice := "check the spelling, make work call it, or drop the budget"
		if near := r.unlinked[texts[0]]; near != "" {
			advice = fmt.Sprintf("did you mean %s?", near)
		}
		wrong = append(wrong, fmt.Sprintf("%s: no function linked into this test matches %s: %s", r.set[i], texts[0], advice))
	}
	return wrong
}

func (r *run) isUnlinked(pattern string) bool {
	_, unlinked := r.unlinked[pattern]
	return unlinked
}

// mainAsTested replaces package main in rules by the import path that it has in its own
// test, where go test makes another main package. So the same budgets can be used in a
// service and in its tests.
func mainAsTested(rules []judge.Rule, tested string) {
	rename := func(text string) string {
		if rest, ok := strings.CutPrefix(text, "main"); ok && tested != "" && (rest == "" || rest[0] == '.') {
			return tested + rest
		}
		return text
	}
	for i := range rules {
		r := &rules[i]
		r.Subject, r.In, r.Except = rename(r.Subject), rename(r.In), slices.Clone(r.Except)
		for k, text := range r.Except {
			r.Except[k] = rename(text)
		}
	}
}
