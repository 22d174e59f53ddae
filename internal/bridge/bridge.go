// Package bridge gives the packages of this module what package budget knows of its types and does not
// export, because internal types are in it: the rules of a set, and the words of a finding. Budget imports
// this package and connects itself, so what is asked here never comes before that. The types of budget
// are type parameters, because this package cannot import budget.
package bridge

import (
	"time"

	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/words"
)

// Words are the reason of a finding, as a sentence.
type Words func(words.Terms, *judge.Finding) string

// What budget has connected: functions of its own types.
var rules, result any

// Connect is called by package budget, with the methods of its Set and Budget.
func Connect[Set, Budget, Result any](rulesOf func(Set, time.Time) ([]judge.Rule, error), resultOf func(Budget, *judge.Finding, Words) Result) {
	rules, result = rulesOf, resultOf
}

// Rules are the rules of a budget.Set, or an error that lists all its mistakes.
func Rules[Set any](s Set) ([]judge.Rule, error) { return RulesAt(s, time.Now()) }

// RulesAt is [Rules] at another time: exceptions with a day may have ended.
func RulesAt[Set any](s Set, at time.Time) ([]judge.Rule, error) {
	return rules.(func(Set, time.Time) ([]judge.Rule, error))(s, at)
}

// Result puts a finding about a budget.Budget into the words of a budget.Result.
func Result[R, Budget any](b Budget, f judge.Finding) R {
	return result.(func(Budget, *judge.Finding, Words) R)(b, &f, words.Reason)
}

// CheckResult is [Result] for findings of package check, whose words only programs with a check link.
func CheckResult[R, Budget any](b Budget, f judge.Finding) R {
	return result.(func(Budget, *judge.Finding, Words) R)(b, &f, words.OfCheck)
}
