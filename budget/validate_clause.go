package budget

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// checkClauses reports what is wrong inside the clauses.
func (b Budget) checkClauses(report func(mistake)) {
	if b.Per != "" {
		if m, wrong := perMistake(b.Per); wrong {
			report(m)
		}
	}
	for _, p := range b.Except {
		if p == "none" {
			if len(b.Except) > 1 {
				report(mistake{partExcept, "except " + strings.Join(b.Except, ", "), `"except none" alone, or patterns`,
					`"none" lifts the exemption of scaffolding too: leave it out, or leave out the patterns`})
			}
			continue
		}
		if m, wrong := patternMistake(p, partExcept); wrong {
			report(m)
		}
	}
	if b.In != "" {
		if m, wrong := patternMistake(b.In, partIn); wrong {
			report(m)
		}
	}
	if b.When != (Condition{}) {
		if m, wrong := conditionMistake(b.When); wrong {
			report(m)
		}
	}
	switch {
	case b.ForWindows < 0:
		report(mistake{partFor, strconv.Itoa(b.ForWindows), "a whole number of windows, 1 or more", "use 0 to leave it out"})
	case b.ForTime < 0:
		report(mistake{partFor, b.ForTime.String(), "a duration above zero", "use 0 to leave it out"})
	case b.ForWindows > 0 && b.ForTime > 0:
		report(mistake{partFor, durationText(b.ForTime), "windows or time, not both", "set one of ForWindows and ForTime"})
	}
}

// nameOK reports whether text can be a name, or a unit of work.
func nameOK(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case i > 0 && (c == '_' || c == '.' || c == '-'):
		default:
			return false
		}
	}
	return text != ""
}

func nameMistake(name string) (mistake, bool) {
	m := mistake{partName, name, `a name of letters, digits, "_", "." and "-" that begins with a letter or a digit`, ""}
	switch {
	case nameOK(name):
		return mistake{}, false
	case name == "":
		m.remedy = `write a name in front of the colon, or leave both out`
	default:
		m.remedy = "metrics and file names carry it: keep it plain, like checkout-tls"
	}
	return m, true
}

func perMistake(per string) (mistake, bool) {
	m := mistake{partPer, "per " + per, `the name of a unit of work after "per"`, `write it as the guard's Work names it: "per request"`}
	switch {
	case isKeyword(per):
	case isPerTime(per):
		m.remedy = `"per" divides by work, not by time: CPU per time is cores, "process below 1.5 cores"`
	case nameOK(per) && !startsWithNumber(per):
		return mistake{}, false
	}
	return m, true
}

// isPerTime reports whether a unit of work is none but a span of time.
func isPerTime(per string) bool {
	switch strings.ToLower(per) {
	case "s", "sec", "second", "m", "min", "minute", "h", "hour", "day":
		return true
	}
	return false
}

func kindMistake(kind string) (mistake, bool) {
	kinds := []string{"cpu", "heap", "allocs", "goroutine", "mutex", "block"}
	if slices.Contains(kinds, kind) {
		return mistake{}, false
	}
	m := mistake{partKind, "of " + kind, `a kind of profile after "of": ` + strings.Join(kinds[:5], ", ") + " or block", `leave "of" out for cpu`}
	if meant := kindMeant(kind); meant != "" {
		m.remedy = didYouMean("of " + meant)
	}
	return m, true
}

// patternMistake returns what is wrong with a pattern.
func patternMistake(text string, part part) (mistake, bool) {
	const expected = "a pattern: a package, a path, a function, or /regexp/"
	m := mistake{part, text, expected, ""}
	head, tail, colon := strings.Cut(text, ":")
	switch {
	case text == "" && part == partSubject:
		m.expected = `a subject: "no function", "no package", "no goroutine", process, goroutines, heap, rss, gc, or a pattern`
		m.remedy = "name what the budget is about"
	case text == "":
		m.remedy = "leave out the empty one"
	case isKeyword(text):
		m.remedy = keywordRemedy(text)
	case !isWord(text):
		m.remedy = `a pattern is one word: blanks, commas, ";" and "#" need a regular expression, /like this/`
	case colon && tail == "":
		m.remedy = `a name's colon stands once, in front of the subject`
	// type:.eq.T and go:buildid are symbols, and a::b is C++.
	case colon && part == partSubject && nameOK(head) && head != "type" && head != "go" && tail[0] != ':' && tail[0] != '.':
		m.expected, m.remedy = "white space after the name", didYouMean(head+": "+tail)
	default:
		err := checkPattern(text)
		if err == nil {
			return mistake{}, false
		}
		m.remedy = err.Error()
	}
	return m, true
}

func figureMistake(figure string) (mistake, bool) {
	switch figure {
	case "process", "goroutines", "heap", "rss", "gc":
		return mistake{}, false
	}
	m := mistake{partWhen, figure, `process, goroutines, heap, rss or gc after "when"`, example("when process above 0.1 cores")}
	switch strings.ToLower(figure) {
	case "cpu", "load", "cores", "busy":
		m.remedy = didYouMean("when process above 0.1 cores")
	case "memory", "mem":
		m.remedy = didYouMean(`heap" or "rss`)
	default:
		if meant := nearest(figure, "process", "goroutines", "heap", "rss", "gc"); meant != "" {
			m.remedy = didYouMean(meant)
		}
	}
	return m, true
}

// conditionMistake returns what is wrong with a condition. Its figures take
// the units that they have as subjects, and the process has cores.
func conditionMistake(c Condition) (mistake, bool) {
	if m, wrong := figureMistake(c.Figure); wrong {
		return m, true
	}
	m := mistake{part: partWhen, found: c.String()}
	if m.expected, m.remedy = amountMistake(c.Amount); m.expected != "" {
		return m, true
	}
	list := fits(classOf(c.Figure), Budget{Subject: c.Figure})[:1]
	if c.Amount.dimension() != list[0].dim {
		m.expected = fmt.Sprintf(`%s after "when %s"`, fitsText(list), c.Figure)
		m.remedy = example("when " + conditionExample(c.Figure))
		return m, true
	}
	wrong := false
	(Budget{Limit: c.Amount}).checkRange(list[0], func(r mistake) {
		m.expected, m.remedy, wrong = r.expected, r.remedy, true
	})
	return m, wrong
}

func conditionExample(figure string) string {
	switch figure {
	case "goroutines":
		return "goroutines above 5000"
	case "heap", "rss":
		return figure + " above 64MiB"
	case "gc":
		return "gc above 5%"
	}
	return "process above 0.1 cores"
}

// checkPattern returns what the pattern language has against text.
func checkPattern(text string) error {
	if strings.HasPrefix(text, "/") {
		if _, err := regexp.Compile(text[1 : len(text)-1]); err != nil {
			return err
		}
	}
	return nil
}
