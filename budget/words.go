package budget

import (
	"slices"
	"strings"
	"unicode"

	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/spelling"
)

// isKeyword reports whether word belongs to the language's grammar, so that
// it cannot stand for a pattern.
func isKeyword(word string) bool {
	_, clause := clauseParts[word]
	return clause || isRule(word) || word == "no" || word == "none"
}

// isRule reports whether word can follow a subject.
func isRule(word string) bool {
	switch word {
	case "above", "below", "absent", "grows", "steady", "leaked":
		return true
	}
	return false
}

// clauseParts are the parts of a budget that keywords begin.
var clauseParts = map[string]part{
	"cumulative": partMeasure, "flat": partMeasure, "per": partPer, "of": partKind, "except": partExcept,
	"in": partIn, "where": partWhere, "when": partWhen, "for": partFor,
}

// The words that people write in the place of one of the language. A parser proposes
// the sentence with the right word only where that sentence is right.
var (
	// "no" for a word that is one too many before "function".
	subjectWords = map[string]string{
		"function": "no function", "functions": "no function", "func": "no function", "method": "no function", "methods": "no function",
		"package": "no package", "packages": "no package", "any": "no", "every": "no", "each": "no", "all": "no",
	}
	ruleWords = map[string]string{
		"under": "below", "<": "below", "<=": "below", "=": "below", "==": "below", "max": "below", "over": "above", ">": "above", ">=": "above",
		"never": "absent", "missing": "absent", "forbidden": "absent", "forbid": "absent", "banned": "absent",
		"stable": "steady", "constant": "steady", "leaks": "leaked", "leak": "leaked",
		"more": "above", "greater": "above", "exceeds": "above", "less": "below", "lower": "below",
		"is": "", "are": "", "must": "", "should": "", "stays": "", "uses": "", "takes": "", "has": "",
	}
	// leads may stand in front of a sentence.
	leads = strings.Fields("the my our limit keep alert fail warn ensure if max")
	// fillers may stand between a subject and its amount, beside the words above.
	fillers = strings.Fields("above below not no never at most up to than be use take exceed maximum limit limited by")
	// notWords stand behind "not".
	notWords = map[string]string{
		"present": "absent", "allowed": "absent", "called": "absent", "used": "absent", "appear": "absent",
		"growing": "steady", "grow": "steady", "leaking": "leaked", "leak": "leaked",
	}
	clauseWords = map[string]string{
		"exclude": "except", "excluding": "except", "without": "except", "ignoring": "except", "but": "except",
		"inside": "in", "within": "in", "from": "in", "//": "#", "--": "#",
		"with": "where", "label": "where", "if": "when", "while": "when", "during": "for", "cum": "cumulative", "total": "cumulative",
		"self": "flat", "own": "flat", "each": "per", "every": "per", "and": ",", "or": ",", ",": "",
	}
	kindWords = map[string]string{
		"memory": "heap", "mem": "heap", "alloc": "allocs", "allocations": "allocs", "allocates": "allocs", "lock": "mutex", "locks": "mutex",
		"contention": "mutex", "blocking": "block", "time": "cpu", "total": "cpu",
	}
	figureWords = map[string]string{"cpu": "process", "load": "process", "memory": "heap", "mem": "heap"}
)

// isNamed reports whether a word calls what follows it a function or a package, which the
// language does not, or is an article.
func isNamed(word string) bool {
	meant := subjectWords[strings.ToLower(word)]
	return meant != "" && meant != "no" || word == "the" || word == "my" || word == "our"
}

// isFiller reports whether a word may stand between a subject and its amount and add
// nothing that a rule does not say: "must not use more than". Behind a figure or a quantity
// that is any word, as in "gc time".
func isFiller(t token, subject string) bool {
	word := strings.ToLower(t.raw)
	_, rule := ruleWords[word]
	switch c := classOf(subject); {
	case t.kind != tokenWord:
		return false
	case rule, kindWords[word] != "", slices.Contains(fillers, word), slices.Contains(kinds.Names(), word):
		return true
	case isKeyword(t.raw), c != classProcess && c != classFigure && quantity(strings.ToLower(subject)) == nil:
		return false
	}
	return !strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) })
}

// isLeast reports whether some words make an amount the least that there must be. No budget
// asks for that.
func isLeast(words []string) bool {
	has := func(list ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, strings.ToLower(w)) })
	}
	return has("least", "min", "minimum") || has("not", "no", "never") && has("below", "under", "less", "lower", "<")
}

// latencies are what no profile has.
var latencies = []string{"latency", "p50", "p90", "p95", "p99"}

// figures are what a condition compares.
var figures = []string{"process", "goroutines", "heap", "rss", "gc"}

// wordsMeant returns what a word may stand for: what the table says, and the keyword
// that is spelled like it.
func wordsMeant(table map[string]string, word string, keywords ...string) []string {
	var list []string
	if meant, ok := table[strings.ToLower(word)]; ok {
		list = append(list, meant)
	}
	if near := nearest(word, keywords...); near != "" {
		list = append(list, near)
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

// quantity has, for a word that says what is measured and not who is charged with it,
// budgets on that, the most usual first; nil for another word. As a pattern such a word
// matches something by accident (internal/cpu, sha256.block). It is no map, which would stay
// in the memory of each program.
func quantity(word string) []Budget {
	switch word {
	case "cpu", "cpus", "core", "cores", "processes":
		return []Budget{{Subject: "process", Limit: Amount{1.5, "cores"}}}
	case "latency", "p50", "p90", "p95", "p99", "request", "requests":
		return []Budget{{Subject: "process", Limit: Amount{2, "ms"}, Per: "request"}}
	case "function", "functions", "func", "method", "methods":
		return []Budget{{Subject: "no function", Limit: Amount{20, "%"}}}
	case "package", "packages":
		return []Budget{{Subject: "no package", Limit: Amount{20, "%"}}}
	case "memory", "mem", "ram", "heaps":
		return []Budget{{Subject: "heap", Limit: Amount{64, "MiB"}}}
	case "garbage":
		return []Budget{{Subject: "gc", Limit: Amount{5, "%"}}}
	case "goroutine", "threads":
		return []Budget{{Subject: "goroutines", Limit: Amount{5000, ""}}}
	case "leak", "leaks":
		return []Budget{{Subject: "no goroutine", Rule: "leaked"}}
	case "alloc", "allocs", "allocation", "allocations":
		return []Budget{
			{Subject: "process", Limit: Amount{64, "KiB"}, Per: "request", Kind: "allocs"},
			{Subject: "no function", Limit: Amount{20, "%"}, Kind: "allocs"},
		}
	case "mutex", "contention", "lock", "locks":
		return []Budget{{Subject: "no function", Limit: Amount{0.1, "cores"}, Kind: "mutex"}}
	case "block", "blocking":
		return []Budget{{Subject: "no function", Limit: Amount{0.1, "cores"}, Kind: "block"}}
	}
	return nil
}
