package budget

import (
	"cmp"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
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
	return classOf(word) != judge.Pattern || slices.ContainsFunc(mistakenWords, func(m mistakenWord) bool {
		return m.inSubject && m.meant != "no" && slices.Contains(strings.Fields(m.words), word)
	})
}

// Label returns the label of a budget about the values of a label: "tenant" for "no tenant above
// 30%". It is "" for other budgets.
func (b Budget) Label() string {
	name, is := strings.CutPrefix(b.Subject, "no ")
	if !is || subjectOf(b.Subject) != &ofLabel {
		return ""
	}
	l := lexer{line: name}
	t := l.next(modeWord)
	if t.raw == name && (t.kind == tokenQuoted || t.kind == tokenWord && isLabelName(name)) {
		return t.text
	}
	return ""
}

// isLabelName reports whether the name of a label needs no quotes after "no". A word that looks like one
// of the language is a mistake more likely than a label.
func isLabelName(name string) bool {
	return unit.IsName(name) && !strings.Contains(name, ".") && !isKeyword(name) && !isQuantity(name) &&
		!slices.Contains(kinds.Names(), name) && meaning(name, labelExpected) == ""
}

// meaning returns the word of the language that is meant by a wrong one, where something else was
// expected, or "" if it is not known.
func meaning(word, expected string) string {
	inSubject := expected == subjectExpected || expected == figureExpected()
	_, suffix := splitNumber(word) // 64mb
	written := strings.ToLower(cmp.Or(strings.TrimSpace(suffix), word))
	if expected == unitExpected {
		return unit.Meant(written)
	}
	for _, m := range mistakenWords {
		if m.inSubject == inSubject && strings.Contains(expected, m.meant) && slices.Contains(strings.Fields(m.words), written) {
			return m.meant
		}
	}
	return ""
}

// A mistakenWord is a word of the language, and what people write in its place.
type mistakenWord struct {
	meant     string // "" for none
	inSubject bool   // only there; elsewhere the same words mean others
	words     string
}

// mistakenWords are the frequent mistakes, beside those in units; testdata/wrong.txt has a sentence for each.
var mistakenWords = []mistakenWord{
	{"no", true, "any every each all no"},
	{"no function", true, "function functions func method methods"},
	{"no package", true, "package packages"},
	{"process", true, "cpu cpus core cores processes process proces proccess"}, //nolint:misspell // which these are
	{"heap", true, "memory mem ram heap heaps"},
	{"gc", true, "garbage gc"},
	{"rss", true, "rss"},
	{"goroutines", true, "goroutine goroutines gorutines gorountines"},
	{"no goroutine", true, "leak leaks"},
	{"", true, "alloc allocs allocation allocations mutex lock locks contention block blocking"}, // kinds of profile
	{"", true, "thread threads latency p50 p90 p95 p99 request requests"},                        // in no profile

	{"function", false, "functions func funcs method methods functoin funktion"}, // which no label is called
	{"package", false, "packages pkg"},
	{"above", false, "over > >= more exceeds"},
	{"below", false, "under < <= = == max less most"},
	{"absent", false, "never missing forbidden banned"},
	{"steady", false, "stable constant"},
	{"leaked", false, "leak leaks leaking"},
	{"grows", false, "grow growing increases"},
	{"flat", false, "self own"},
	{"cumulative", false, "cum total"},
	{"per", false, "each every"},
	{"cpu", false, "cpus"},
	{"heap", false, "memory mem ram"},
	{"allocs", false, "alloc allocation allocations"},
	{"mutex", false, "lock locks contention"},
	{"block", false, "blocking"},
	{"goroutine", false, "goroutines gorutine goroutin gouroutine routine routines"},
	{"except", false, "exclude excluding without"},
	{"in", false, "inside"},
	{"where", false, "with"},
	{"when", false, "if while"},
	{"for", false, "during"},
}
