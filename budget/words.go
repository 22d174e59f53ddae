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

// A synonym is an expression of the language, with words that people write in its place.
type synonym struct{ meant, words string }

// quantities are words for a measured quantity. They are no subjects: as patterns they would
// match something by accident, such as internal/cpu or sha256.block.
var quantities = []synonym{
	{"no function", "function functions func method methods"}, {"no package", "package packages"},
	{"process", "cpu cpus core cores processes"}, {"heap", "memory mem ram heaps"}, {"gc", "garbage"},
	{"goroutines", "goroutine"}, {"no goroutine", "leak leaks"},
}

// otherQuantities are words for quantities that no subject stands for.
const otherQuantities = "alloc allocs allocation allocations mutex lock locks contention block blocking " +
	"thread threads latency p50 p90 p95 p99 request requests"

// synonyms are words that people write in the place of others of the language.
var synonyms = []synonym{
	{"no", "any every each all"}, {"function", "functions func method methods"}, {"package", "packages"},
	{"above", "over > >= more exceeds"}, {"below", "under < <= = == max less most to"},
	{"absent", "never missing forbidden banned"}, {"steady", "stable constant"}, {"leaked", "leak leaks"},
	{"flat", "self own"}, {"cumulative", "cum total"}, {"per", "each every a"}, {"no goroutine", "goroutines"}, {"goroutine", "goroutines"},
	{"allocs", "alloc allocations"}, {"mutex", "lock locks contention"}, {"block", "blocking"},
	{"except", "exclude excluding without"}, {"in", "inside"}, {"where", "with"}, {"when", "if while"}, {"for", "during"},
	{"%", "percent pct"}, {"points", "pp"}, {"cores", "cpu cpus vcpu vcpus"},
	{"ms", "msec millisecond milliseconds"}, {"s", "sec second seconds"}, {"m", "min minute minutes"}, {"h", "hour hours"},
	{"KiB", "k ki kib"}, {"MiB", "m mi mib"}, {"GiB", "g gi gib"}, {"kB", "kb kilobytes"}, {"MB", "mb megabytes"}, {"GB", "gb gigabytes"},
	{",", "and"}, {"", ", the is are be must stay stays at up by than time usage use uses"}, // not needed
}

// isQuantity reports whether a word is no subject, but looks like one.
func isQuantity(word string) bool {
	word = strings.ToLower(word)
	if meanings(word, quantities) != nil || slices.Contains(strings.Fields(otherQuantities), word) || classOf(word) != judge.Pattern {
		return true
	}
	// One letter wrong and not two: "progress" and "processor" are packages.
	return slices.ContainsFunc([]string{"process", "goroutines"}, func(figure string) bool {
		return len(word) <= len(figure)+1 && spelling.Distance(word, figure) == 1
	})
}

// meanings are the expressions that are meant by a word, in any case.
func meanings(word string, tables ...[]synonym) (list []string) {
	for _, table := range tables {
		for _, s := range table {
			if slices.Contains(strings.Fields(s.words), strings.ToLower(word)) {
				list = append(list, s.meant)
			}
		}
	}
	return list
}
