package budget

import (
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/spelling"
)

// isKeyword reports whether word belongs to the language's grammar, so that
// it cannot stand for a pattern.
func isKeyword(word string) bool {
	return clausePart(word) != 0 || isRule(word) || word == "no" || word == "none"
}

// isRule reports whether word can follow a subject.
func isRule(word string) bool { return slices.Contains(rules, word) }

var rules = []string{"above", "below", "absent", "grows", "steady", "leaked"}

// clausePart is the part of a budget that a keyword begins, 0 for another word.
func clausePart(word string) part {
	for p := partMeasure; p < parts; p++ {
		if slices.Contains(clauseWords[p], word) {
			return p
		}
	}
	return 0
}

var clauseWords = [parts][]string{
	partMeasure: {"cumulative", "flat"}, partPer: {"per"}, partKind: {"of"}, partExcept: {"except"},
	partIn: {"in"}, partWhere: {"where"}, partWhen: {"when"}, partFor: {"for"},
}

// isQuantity reports whether a word is no subject, but looks like one. As a pattern it would match
// something by accident, such as internal/cpu or sha256.block.
func isQuantity(word string) bool {
	word = strings.ToLower(word)
	if classOf(word) != judge.Pattern || slices.ContainsFunc(mistakenWords, func(m mistakenWord) bool {
		return m.inSubject && m.meant != "no" && slices.Contains(strings.Fields(m.words), word)
	}) {
		return true
	}
	// One letter wrong and not two: "progress" and "processor" are packages.
	return slices.ContainsFunc([]string{"process", "goroutines"}, func(figure string) bool {
		return len(word) <= len(figure)+1 && spelling.Distance(word, figure) == 1
	})
}
