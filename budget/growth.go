package budget

import "strings"

// growthMeant returns the rule that a word about growth or leaks stands for, or
// "".
func growthMeant(word string) string {
	switch strings.ToLower(word) {
	case "steady", "stable", "constant":
		return "steady"
	case "grow", "grows", "growing", "grown", "growth", "increase", "increases", "increasing", "rise", "rises", "rising":
		return "grows"
	case "leak", "leaks", "leaked", "leaking":
		return "leaked"
	}
	return ""
}

// denied returns the verb of what the present words say may not happen, as in
// "does not grow", "never leaks", "must not exceed".
func (p *parser) denied() (verb token, ok bool) {
	no := false
	for l, t := p.lex, p.tok; t.kind == tokenWord; t = l.next(modeWord) {
		switch {
		case isDenial(t.raw):
			no = true
		case isCopula(t.raw):
		default:
			return t, no
		}
	}
	return token{}, false
}

// isDenial reports whether a word says that the next may not be.
func isDenial(word string) bool {
	switch strings.ReplaceAll(strings.ToLower(word), "’", "'") {
	case "not", "never", "no", "doesn't", "don't", "won't", "can't", "cannot", "mustn't", "shouldn't", "isn't", "aren't":
		return true
	}
	return false
}

// deniedMeant returns the sentence, or the word in the place of the verb and
// what leads to it, that a denial stands for, or "".
func deniedMeant(b Budget, verb, limit string) string {
	switch strings.ToLower(verb) {
	case "exceed", "exceeds", "exceeding", "pass", "surpass":
		return limit
	}
	switch growthMeant(verb) {
	case "grows":
		class := classOf(b.Subject)
		switch {
		case b.Subject == "gc":
			return "gc below 5%"
		case class == classFigure, class == classProcess:
			return b.Subject + " steady"
		case class == classEach, class == classPattern:
			return b.Subject + " grows " + limit + " 5 points"
		}
	case "leaked":
		if b.Subject == "heap" || b.Subject == "rss" {
			return b.Subject + " steady"
		}
		return "no goroutine leaked"
	}
	return ""
}
