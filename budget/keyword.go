package budget

import (
	"cmp"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/spelling"
	"github.com/profguard/profguard/internal/unit"
)

// isKeyword reports whether word belongs to the language's grammar, so that
// it cannot stand for a pattern.
func isKeyword(word string) bool {
	return clausePart(word) != 0 || isRule(word) || word == "no" || word == "none" || word == "until"
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

// meaning returns the word of the language that is meant by a wrong one, where something else was
// expected, or "" if it is not known.
func meaning(word, expected string) string {
	inSubject := expected == subjectExpected || expected == figureExpected()
	fits := func(meant string) bool {
		_, isUnit := unit.Named(meant)
		return isUnit == (expected == unitExpected) && (isUnit || strings.Contains(expected, meant))
	}
	_, suffix := splitNumber(word) // 64mb
	written := strings.ToLower(cmp.Or(strings.TrimSpace(suffix), word))
	for _, m := range mistakenWords {
		if m.inSubject == inSubject && fits(m.meant) && slices.Contains(strings.Fields(m.words), written) {
			return m.meant
		}
	}
	known := slices.Concat(figures, []string{"no", "function", "package", "goroutine"}, rules, slices.Concat(clauseWords[:]...), kinds.Names())
	// One wrong letter in three, at most two: "abov" is "above", and "cumulatve" is "cumulative".
	if near := spelling.Nearest(written, min(len(word)/3, 2), known); near != word && near != "" && fits(near) {
		return near
	}
	return ""
}

// A mistakenWord is a word of the language, and what people write in its place.
type mistakenWord struct {
	meant     string // "" for none
	inSubject bool   // only there; elsewhere the same words mean others
	words     string
}

// mistakenWords are the frequent mistakes; testdata/wrong.txt has a sentence for each.
var mistakenWords = []mistakenWord{
	{"no", true, "any every each all"},
	{"no function", true, "function functions func method methods"},
	{"no package", true, "package packages"},
	{"process", true, "cpu cpus core cores processes"},
	{"heap", true, "memory mem ram heaps"},
	{"gc", true, "garbage"},
	{"goroutines", true, "goroutine"},
	{"no goroutine", true, "leak leaks"},
	{"", true, "alloc allocs allocation allocations mutex lock locks contention block blocking"}, // kinds of profile
	{"", true, "thread threads latency p50 p90 p95 p99 request requests"},                        // in no profile

	{"function", false, "func method methods"},
	{"above", false, "over > >= more exceeds"},
	{"below", false, "under < <= = == max less most"},
	{"absent", false, "never missing forbidden banned"},
	{"steady", false, "stable constant"},
	{"leaked", false, "leak leaks leaking"},
	{"grows", false, "growing increases"},
	{"flat", false, "self own"},
	{"cumulative", false, "cum total"},
	{"per", false, "each every"},
	{"heap", false, "memory mem ram"},
	{"allocs", false, "alloc allocation allocations"},
	{"mutex", false, "lock locks contention"},
	{"block", false, "blocking"},
	{"goroutine", false, "goroutines"},
	{"except", false, "exclude excluding without"},
	{"in", false, "inside"},
	{"where", false, "with"},
	{"when", false, "if while"},
	{"for", false, "during"},
	{"%", false, "percent pct"},
	{"points", false, "pp"},
	{"cores", false, "cpu cpus vcpu vcpus"},
	{"ms", false, "msec millisecond milliseconds"},
	{"s", false, "sec second seconds"},
	{"m", false, "min minute minutes"},
	{"h", false, "hour hours"},
	{"KiB", false, "k ki kib"},
	{"MiB", false, "m mi mib"},
	{"GiB", false, "g gi gib"},
	{"kB", false, "kb kilobytes"},
	{"MB", false, "mb megabytes"},
	{"GB", false, "gb gigabytes"},
}
