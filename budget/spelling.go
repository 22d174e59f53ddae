package budget

import (
	"strings"

	"github.com/profguard/profguard/internal/spelling"
)

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
		if d := spelling.Distance(strings.ToLower(word), strings.ToLower(c)); d <= limit {
			best, limit = c, d-1
		}
	}
	return best
}

// isKeyword reports whether word belongs to the language's grammar, so that
// it cannot stand for a pattern.
func isKeyword(word string) bool {
	switch word {
	case "no", "above", "below", "absent", "grows", "steady", "leaked",
		"cumulative", "flat", "per", "of", "except", "none", "in", "where", "when", "for":
		return true
	}
	return false
}

// isRule reports whether word can follow a subject.
func isRule(word string) bool {
	switch word {
	case "above", "below", "absent", "grows", "steady", "leaked":
		return true
	}
	return false
}

// ruleMeant returns what a word in the place of the rule stands for, "" when
// it is anybody's guess. limit is the word that the subject asks for: above or
// below.
func ruleMeant(word, limit string) string {
	switch strings.ToLower(word) {
	case "<", "<=", ">", ">=", "under", "over", "more", "less", "most", "at", "max", "maximum",
		"exceeds", "exceed", "within", "beneath", "upto", "≤", "≥", "beyond", "up":
		return limit
	case "missing", "never", "not", "gone", "forbidden", "unused", "banned", "unreachable":
		return "absent"
	case "grow", "growing", "increases", "rises":
		return "grows " + limit
	case "stable", "constant", "bounded":
		return "steady"
	case "leak", "leaks", "leaking":
		return "leaked"
	}
	return nearest(word, "above", "below", "absent", "grows", "steady", "leaked")
}

// clauseMeant returns the keyword that a word in the place of a clause stands
// for, or "".
func clauseMeant(word string) string {
	switch strings.ToLower(word) {
	case "excluding", "exclude", "without", "ignoring", "ignore", "but", "besides":
		return "except"
	case "inside", "within", "under", "on", "at", "from", "via":
		return "in"
	case "with", "label", "labels", "labelled", "tag", "tagged":
		return "where"
	case "while", "if", "once":
		return "when"
	case "after", "during":
		return "for"
	case "cum", "total", "inclusive":
		return "cumulative"
	case "self", "own", "exclusive", "leaf":
		return "flat"
	case "each", "every", "a", "an", "/":
		return "per"
	}
	return nearest(word, "cumulative", "flat", "per", "of", "except", "in", "where", "when", "for")
}

// kindMeant returns the kind of profile that a word stands for, or "".
func kindMeant(word string) string {
	switch strings.ToLower(word) {
	case "cpu", "cpus", "time", "processor", "samples":
		return "cpu"
	case "memory", "mem", "inuse", "inuse_space", "inuse_objects", "ram":
		return "heap"
	case "alloc", "allocation", "allocations", "alloc_space", "alloc_objects":
		return "allocs"
	case "lock", "locks", "contention", "contentions", "mutexes":
		return "mutex"
	case "blocking", "blocked", "delay":
		return "block"
	}
	return nearest(word, "cpu", "heap", "allocs", "goroutine", "mutex", "block")
}

// isFunctionWord reports whether a word is an attempt at "no function" or "no
// package", and at which.
func isFunctionWord(word string) (meant string, ok bool) {
	switch strings.ToLower(word) {
	case "function", "functions", "func", "funcs", "fn", "method", "methods", "any", "every", "each", "all", "none":
		return "no function", true
	case "package", "packages", "pkg", "pkgs", "module", "modules":
		return "no package", true
	}
	return "", false
}
