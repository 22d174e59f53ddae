package budget

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/spelling"
	"github.com/profguard/profguard/internal/unit"
)

// Validate returns nil for a budget that can be judged, and otherwise an error
// that lists all that is wrong with it. What Parse returns is valid.
func (b Budget) Validate() error {
	var errs []error
	b.check(func(m mistake) {
		errs = append(errs, fmt.Errorf("budget %q: expected %s, found %s: %s",
			clipped(b.identity()), plain(m.expected), quoted(m.found), plain(m.remedy(b))))
	})
	return errors.Join(errs...)
}

// Validate returns nil for a set that can be judged, and otherwise an error
// that lists the mistakes of all its budgets, and the names that occur twice.
func (s Set) Validate() error {
	var errs []error
	first := map[string]int{}
	for i, b := range s {
		if err := b.Validate(); err != nil {
			errs = append(errs, err)
			continue
		}
		name := b.identity()
		if earlier, taken := first[name]; taken {
			errs = append(errs, fmt.Errorf("budget %q: expected a name of its own for each budget, found it at places %d and %d of the set: rename one, or remove it",
				clipped(name), earlier+1, i+1))
			continue
		}
		first[name] = i
	}
	return errors.Join(errs...)
}

// valid reports whether the budget can be judged.
func (b Budget) valid() bool {
	ok := true
	b.check(func(mistake) { ok = false })
	return ok
}

// identity returns what sets the budget apart from the others of its set.
func (b Budget) identity() string {
	if b.Name != "" {
		return b.Name
	}
	return b.String()
}

// A mistake is something in a budget that makes no sense.
type mistake struct {
	part     part
	found    string
	expected string
	advice   string
	meant    []Budget // what may be meant, the most likely first
	like     Budget   // an example that is right; the zero Budget for one about the same subject
}

// proposal is the budget that is meant, if there is one that is right and short enough
// for a message.
func (m mistake) proposal() (Budget, bool) {
	for _, meant := range m.meant {
		if len(meant.String()) <= longestLine && meant.valid() {
			return meant, true
		}
	}
	return Budget{}, false
}

// remedy says what to do about a mistake in a budget, and always shows a sentence that
// is right: the one that is meant, or the advice and an example.
func (m mistake) remedy(b Budget) string {
	if meant, ok := m.proposal(); ok {
		return `did you mean "` + meant.String() + `"?`
	}
	if m.like.Subject == "" {
		m.like = right(b)
	}
	text := m.like.String()
	if len(text) > longestLine {
		text = "no function above 20% cumulative"
	}
	if m.advice == "" {
		return `write, for example, "` + text + `"`
	}
	return clip(m.advice, longestAdvice) + `; for example, "` + text + `"`
}

const (
	nameExpected = `a name of letters, digits, "_", "." and "-" that begins with a letter or a digit`
	nameAdvice   = "metrics and file names carry it: keep it plain, like checkout-tls"
)

var unitsAdvice = "units are " + unit.List()

var subjectExpected = `a subject: "no function", "no package", "no goroutine", ` + strings.Join(figures, ", ") + ", or a pattern"

// check reports what is wrong with a budget, the most telling mistake first.
func (b Budget) check(report func(mistake)) {
	if b.Name != "" && !unit.IsName(b.Name) {
		report(mistake{part: partName, found: b.Name, expected: nameExpected, advice: nameAdvice})
	}
	if classOf(b.Subject) == classPattern {
		if m, wrong := subjectMistake(b); wrong {
			report(m)
			return // what it takes depends on what it is
		}
	}
	may, ok := accepted(b.Subject, b.Rule)
	if !ok {
		report(ruleMistake(b))
		return
	}
	b.checkExtras(may, report)
	if may.kind && b.Kind != "" && !slices.Contains(kinds.Names(), b.Kind) {
		m := mistake{part: partKind, found: "of " + b.Kind, expected: `a kind of profile after "of": ` + orList(kinds.Names())}
		for _, kind := range wordsMeant(kindWords, b.Kind, kinds.Names()...) {
			meant := b
			meant.Kind = kind
			m.meant = append(m.meant, meant)
		}
		report(m)
		return // which units make sense depends on it
	}
	b.checkLimit(report)
	b.checkClauses(report)
}

// subjectMistake returns what is wrong with a subject that is a pattern.
func subjectMistake(b Budget) (mistake, bool) {
	word := strings.ToLower(b.Subject)
	if classOf(word) != classPattern && word != "no goroutine" { // but for its capitals it is one
		meant := b
		meant.Subject = word
		return mistake{part: partSubject, found: b.Subject, expected: "a subject in lower case", meant: []Budget{meant},
			advice: "for a package of that name write its full path"}, true
	}
	// One letter wrong and not two: "progress" and "processor" are packages.
	for figure, other := range map[string]string{"process": "processes", "goroutines": "goroutine"} {
		if quantity(word) == nil && len(word) <= len(figure)+1 && spelling.Distance(word, figure) == 1 {
			word = other
		}
	}
	if budgets := quantity(word); budgets != nil {
		m := mistake{part: partSubject, found: b.Subject, expected: "a subject, and no quantity; a package of that name goes in double quotes"}
		if isNamed(word) {
			m.expected = subjectExpected + "; a package of that name goes in double quotes"
		}
		if budgets[0].Limit.Unit == "ms" {
			m.advice, m.like = "a profile has CPU time and no latency", budgets[0]
			return m, true
		}
		if word == "threads" {
			m.advice, m.like = "threads are not counted, goroutines are", budgets[0]
			return m, true
		}
		for _, q := range budgets {
			meant := b
			meant.Subject, meant.Kind = q.Subject, q.Kind
			switch {
			case b.Rule != "leaked":
				meant.Rule = b.Rule
			case q.Subject == "heap": // memory leaks slowly
				meant.Rule = "steady"
			}
			m.meant = append(m.meant, meant)
		}
		return m, true
	}
	return patternMistake(b.Subject, partSubject)
}

// patternMistake returns what is wrong with a pattern.
func patternMistake(text string, part part) (mistake, bool) {
	m := mistake{part: part, found: text, expected: `a pattern: a package, a path, a function, "a name in full", or /regexp/`}
	file, _, place := strings.Cut(text, ":")
	_, hidden := invisibleIn(text, modeWord)
	switch {
	case text == "" && part == partSubject:
		m.expected = subjectExpected
	case text == "":
		m.advice = "leave out the empty one"
	case text[0] == '"' && isWord(text):
		if name, err := strconv.Unquote(text); err == nil && part == partSubject && classOf(name) != classPattern {
			m.advice = "leave out the quotes: " + name
			return m, true
		}
		return m.ofPattern(text)
	case hidden != "" && !strings.ContainsFunc(text, isSpace):
		m.expected, m.advice = visibleExpected, invisibleRemedy(text, hidden, modeWord)
	case isKeyword(text):
		m.advice = `"` + text + `" is a word of the language: something is missing in front of it; a name like that goes in double quotes`
	case strings.HasSuffix(file, ".go") && text[0] != '/' && (place || !strings.Contains(text, "/")):
		m.advice = "profiles are of functions, not of files and lines: write the function, as in main.(*Server).ServeHTTP"
	case !isWord(text):
		m.advice = `a pattern is one word: a name with blanks, commas or "#" goes in double quotes`
	default:
		return m.ofPattern(text)
	}
	return m, true
}

// ofPattern is the mistake that the pattern package finds, if any.
func (m mistake) ofPattern(text string) (mistake, bool) {
	_, err := pattern.Parse(text)
	if err == nil {
		return mistake{}, false
	}
	if reason := errors.Unwrap(err); reason != nil { // the message shows the pattern already
		err = reason
	}
	m.advice = err.Error()
	return m, true
}

// ruleMistake says what is wrong with a rule that the subject does not have.
func ruleMistake(b Budget) mistake {
	m := mistake{part: partRule, found: b.Rule, expected: rulesText(b.Subject)}
	if b.Rule != "" && !isRule(b.Rule) || b.Rule == "above" || b.Rule == "below" {
		m.advice = `a Rule is "", "absent", "grows", "steady" or "leaked"`
		return m
	}
	meant := b
	switch {
	case b.Rule == "leaked":
		meant = Budget{Subject: "no goroutine", Rule: "leaked"}
	case b.Rule == "grows" && classOf(b.Subject) == classFigure: // over hours
		meant.Rule, meant.Limit = "steady", Amount{}
	case b.Rule == "absent" && classOf(b.Subject) != classEach && classOf(b.Subject) != classLeak:
		m.advice = `"` + b.Subject + `" is no package here; for a package of that name write its full path`
		return m
	}
	m.meant = []Budget{meant}
	return m
}

// checkExtras reports what the budget says although its subject and rule have
// no use for it.
func (b Budget) checkExtras(may extras, report func(mistake)) {
	about := strings.TrimSpace(b.Subject + " " + b.Rule)
	refuse := func(said, allowed bool, part part, found, advice string) {
		if said && !allowed {
			report(mistake{part: part, found: found, expected: `only what goes with "` + clipped(about) + `": ` + may.String(), advice: advice})
		}
	}
	refuse(b.Flat, may.flat, partMeasure, "flat", "leave it out: a measure tells a function from what it calls")
	refuse(b.Per != "", may.per, partPer, "per "+b.Per, "leave it out")
	refuse(b.Kind != "", may.kind, partKind, "of "+b.Kind, "leave it out")
	refuse(len(b.Except) > 0, may.except, partExcept, "except "+strings.Join(b.Except, ", "), `leave it out: exceptions are for "no function" and "no package"`)
	refuse(b.In != "", may.in, partIn, "in "+b.In, "leave it out")
	refuse(len(b.Where) > 0, may.where, partWhere, "where", "leave it out: only samples of a profile have labels")
}
