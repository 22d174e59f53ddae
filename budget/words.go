package budget

import (
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/spelling"
)

// isKeyword reports whether word belongs to the language's grammar, so that
// it cannot stand for a pattern.
func isKeyword(word string) bool {
	return clausePart(word) != 0 || isRule(word) || word == "no" || word == "none"
}

// isRule reports whether word can follow a subject.
func isRule(word string) bool {
	switch word {
	case "above", "below", "absent", "grows", "steady", "leaked":
		return true
	}
	return false
}

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

// A synonym is an expression of the language, with words that people write in its place.
type synonym struct{ meant, words string }

// quantities are words for a measured quantity. They are no subjects: as patterns they would
// match something by accident, such as internal/cpu or sha256.block.
var quantities = []synonym{
	{"no function", "function functions func method methods"}, {"no package", "package packages"},
	{"process", "cpu cpus core cores processes"}, {"heap", "memory mem ram heaps"}, {"gc", "garbage"},
	{"goroutines", "goroutine"}, {"no goroutine", "leak leaks"}, {unmeasured, "thread threads latency p50 p90 p95 p99 request requests"},
	{"allocs", "alloc allocs allocation allocations"}, {"mutex", "mutex lock locks contention"}, {"block", "block blocking"},
}

// unmeasured stands for quantities that a profile does not have.
const unmeasured = "no figure"

// quantity returns the expression for a quantity, "" for other words.
func quantity(word string) string {
	word = strings.ToLower(word)
	if list := meanings(quantities, word); len(list) > 0 {
		return list[0]
	}
	// One letter wrong and not two: "progress" and "processor" are packages.
	for _, figure := range []string{"process", "goroutines"} {
		if len(word) <= len(figure)+1 && spelling.Distance(word, figure) == 1 {
			return figure
		}
	}
	return ""
}

func meanings(table []synonym, word string) (list []string) {
	word = strings.ToLower(word)
	for _, s := range table {
		if strings.Contains(" "+s.words+" ", " "+word+" ") {
			list = append(list, s.meant)
		}
	}
	return list
}
