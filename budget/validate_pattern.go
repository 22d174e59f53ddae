package budget

import (
	"errors"
	"strings"

	"github.com/profguard/profguard/internal/pattern"
)

// subjectMistake returns what is wrong with a subject that is a pattern.
func subjectMistake(b Budget) (mistake, bool) {
	if remedy := quantityRemedy(b); remedy != "" {
		return mistake{partSubject, b.Subject, "a subject", remedy}, true
	}
	return patternMistake(b.Subject, partSubject)
}

// patternMistake returns what is wrong with a pattern.
func patternMistake(text string, part part) (mistake, bool) {
	const expected = "a pattern: a package, a path, a function, or /regexp/"
	m := mistake{part, text, expected, ""}
	head, tail, colon := strings.Cut(text, ":")
	_, hidden := invisibleIn(text, modeWord)
	switch {
	case text == "" && part == partSubject:
		m.expected = `a subject: "no function", "no package", "no goroutine", process, goroutines, heap, rss, gc, or a pattern`
		m.remedy = "name what the budget is about"
	case text == "":
		m.remedy = "leave out the empty one"
	case hidden != "" && !strings.ContainsFunc(text, isSpace):
		m.expected, m.remedy = visibleExpected, invisibleRemedy(text, hidden, modeWord)
	case isKeyword(text):
		m.remedy = keywordRemedy(text)
	case part == partExcept && text == "idle":
		m.remedy = didYouMean("when process above 0.1 cores") + " For a package of that name write its full path."
	case isSourceFile(text):
		m.remedy = "profiles are of functions, not of files and lines: " + example("main.(*Server).ServeHTTP")
	case !isWord(text):
		m.remedy = `a pattern is one word: blanks, commas, ";" and "#" need a regular expression, /like this/`
	case colon && tail == "":
		m.remedy = `a name's colon stands once, in front of the subject`
	// type:.eq.T and go:buildid are symbols, and a::b is C++.
	case colon && part == partSubject && nameOK(head) && head != "type" && head != "go" && tail[0] != ':' && tail[0] != '.':
		m.expected, m.remedy = "white space after the name", didYouMean(head+": "+tail)
	default:
		_, err := pattern.Parse(text)
		if err == nil {
			return mistake{}, false
		}
		// The message shows the pattern already: its reason is enough.
		m.remedy = err.Error()
		if reason := errors.Unwrap(err); reason != nil {
			m.remedy = reason.Error()
		}
	}
	return m, true
}
