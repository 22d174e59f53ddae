package budget

import (
	"cmp"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/spelling"
	"github.com/profguard/profguard/internal/unit"
)

// remedy says what to write instead of a wrong sentence: the word that is meant, if it is known,
// or what to do about the mistake, and a right sentence with the same subject, rule and clause.
func (p *parser) remedy() string {
	subject, r, clause := p.b.Subject, p.b.Rule, p.clause
	inSubject, expected, meant := p.wrong.off <= p.places[partSubject].off, p.err.Expected, ""
	if inSubject {
		expected = subjectExpected
	}
	if len(p.wrong.raw) <= longestWord {
		meant = meaning(p.wrong.raw, expected)
	}
	advice := "write,"
	switch {
	case meant != "":
		advice = `did you mean "` + meant + `"? Write,`
	case p.advice != "":
		advice = p.advice + ";"
	}
	switch {
	case inSubject:
		subject = meant
	case isRule(meant):
		r = Rule(meant)
	case clausePart(meant) != 0:
		clause = clausePart(meant)
	}
	return advice + ` for example, "` + example(subject, r, clause) + `"`
}

// example is a right sentence with this subject, rule and clause, as far as these go together.
func example(name string, r Rule, clause part) string {
	s := subjectOf(name)
	if b := (&Budget{Subject: name}); b.subjectMistake().expected != "" {
		s = &subjects[0]
	}
	right := s.rules[max(slices.IndexFunc(s.rules, func(has rule) bool { return has.name == r }), 0)]
	if b := (&Budget{Subject: s.name, Rule: right.name}); b.takes(clause) {
		return right.example + clauseExamples[clause]
	}
	return right.example
}

// clauseExamples are right clauses.
var clauseExamples = [parts]string{
	partExcept: " except runtime/...", partIn: " in main.handler", partWhere: " where endpoint=/checkout",
	partWhen: " when process above 0.1 cores", partFor: " for 3 windows",
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
	// One wrong letter in three, two at the most: "abov" is "above", and "cumulatve" is "cumulative".
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
