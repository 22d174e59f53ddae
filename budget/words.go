package budget

import (
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/kinds"
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

// A synonym is what the language has for words that people write in its place.
type synonym struct{ meant, words string }

var (
	// quantities say what is measured, and not who is charged with it. As patterns they
	// would match something by accident: internal/cpu, sha256.block.
	quantities = []synonym{
		{"no function", "function functions func method methods"}, {"no package", "package packages"},
		{"process", "cpu cpus core cores processes"}, {"heap", "memory mem ram heaps"}, {"gc", "garbage"},
		{"goroutines", "goroutine"}, {"threads", "thread threads"}, {"no goroutine", "leak leaks"}, {"latency", "latency p50 p90 p95 p99 request requests"},
		{"allocs", "alloc allocs allocation allocations"}, {"mutex", "mutex lock locks contention"}, {"block", "block blocking"},
	}
	synonyms = []synonym{
		{"no", "any every each all"}, {"above", "over > >= more exceeds"}, {"below", "under < <= = == max less most to"},
		{"absent", "never missing forbidden banned"}, {"steady", "stable constant"}, {"leaked", "leak leaks"},
		{"flat", "self own"}, {"cumulative", "cum total"}, {"per", "each every a"}, {"of goroutine", "goroutines"},
		{"except", "exclude excluding without"}, {"in", "inside within from"}, {"where", "with"}, {"when", "if while"}, {"for", "during"},
		{",", "and or"}, {"", ", the is are must stay stays keep limit uses at up by than time usage"}, {"#", "// --"},
	}
)

// keywords are all words of the language.
var keywords = slices.Concat(
	strings.Fields("no function package goroutine above below absent grows steady leaked windows"),
	slices.Concat(clauseWords[:]...), figures, kinds.Names())

// quantity returns what a word is a quantity of, "" for a name.
func quantity(word string) string {
	if list := meanings(quantities, word); len(list) > 0 {
		return list[0]
	}
	return ""
}

func meanings(table []synonym, word string) (list []string) {
	for _, s := range table {
		if slices.Contains(strings.Fields(s.words), strings.ToLower(word)) {
			list = append(list, s.meant)
		}
	}
	return list
}

// suggest returns what may stand in the place of a word. A parser proposes it only where
// the sentence is right with it.
func suggest(word string) []string {
	list := meanings(quantities, word)
	for _, kind := range append(list, word) {
		if slices.Contains(kinds.Names(), kind) {
			list = append(list, "of "+kind)
		}
	}
	list = append(list, meanings(synonyms, word)...)
	if near := nearest(word, keywords...); near != "" && near != word {
		list = append(list, near)
	}
	if slices.Contains(list, "no function") || slices.Contains(list, "no package") { // "function main.work"
		list = append(list, "")
	}
	return list
}

// nearest returns the candidate that word is most likely a misspelling of, or
// "" when none is close. Letter case is ignored.
func nearest(word string, candidates ...string) string {
	// One wrong letter in three, two at the most: "abov" is "above" and
	// "cumulatve" is "cumulative", but "foo" is not "for".
	limit := min(len(word)/3, 2)
	if len(word) > 24 {
		return "" // longer than any keyword with two letters too many
	}
	best := ""
	for _, c := range candidates {
		if d := spelling.Distance(strings.ToLower(word), c); d <= limit {
			best, limit = c, d-1
		}
	}
	return best
}
