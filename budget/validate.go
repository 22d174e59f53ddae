package budget

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/profguard/profguard/internal/judge"
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
			clipped(b.identity()), plain(m.expected), quoted(b.text(m.part)), plain(m.remedy(b))))
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
	expected string
	advice   string
	fix      *Budget // the budget without it; nil for something usual in its place
	meant    bool    // the fix is what is meant
}

// mended returns the budget without the mistake.
func (m mistake) mended(b Budget) Budget {
	if m.fix != nil {
		return *m.fix
	}
	return b.usual(m.part)
}

// right returns the budget without any of its mistakes, and whether that is what is meant.
func (b Budget) right() (right Budget, meant bool) {
	meant = true
	for range 2 * parts {
		var first *mistake
		b.check(func(m mistake) {
			if first == nil {
				first = &m
			}
		})
		if first == nil {
			return b, meant
		}
		b, meant = first.mended(b), meant && first.meant
	}
	return Budget{Subject: "no function", Limit: Amount{20, "%"}}, false
}

// proposal is the budget that is meant, if that is known and short enough for a message.
func (m mistake) proposal(b Budget) (Budget, bool) {
	right, meant := m.mended(b).right()
	return right, m.meant && meant && len(right.String()) <= longestLine
}

// remedy says what to do about a mistake in a budget, and always shows a sentence that
// is right: the one that is meant, or the advice and an example, which keeps what is right.
func (m mistake) remedy(b Budget) string {
	right, meant := m.proposal(b)
	if meant {
		return `did you mean "` + right.String() + `"?`
	}
	right.Name = ""
	text := right.String()
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
		report(mistake{part: partName, expected: nameExpected, advice: nameAdvice, fix: new(b.with(partName, Budget{}))})
	}
	if classOf(b.Subject) == judge.Pattern {
		if m, wrong := b.subjectMistake(); wrong {
			report(m)
			return // what it takes depends on what it is
		}
	}
	if !b.hasRule() {
		report(b.ruleMistake())
		return
	}
	for p := partMeasure; p < parts; p++ {
		if !b.takes(p) && b.text(p) != "" {
			about := strings.TrimSpace(b.Subject + " " + b.Rule)
			report(mistake{part: p, expected: `only what goes with "` + clipped(about) + `": ` + b.clausesText(), advice: "leave it out"})
		}
	}
	if b.takes(partKind) && b.Kind != "" && !slices.Contains(kinds.Names(), b.Kind) {
		m := mistake{part: partKind, expected: `a kind of profile after "of": ` + orList(kinds.Names()), fix: new(b.with(partKind, Budget{}))}
		for _, kind := range append(suggest(b.Kind), nearest(b.Kind, kinds.Names()...)) {
			if slices.Contains(kinds.Names(), kind) && !m.meant {
				m.fix, m.meant = new(b.with(partKind, Budget{Kind: kind})), true
			}
		}
		report(m)
		return // which units make sense depends on it
	}
	b.checkLimit(report)
	b.checkClauses(report)
}

// subjectMistake returns what is wrong with a subject that is a pattern.
func (b Budget) subjectMistake() (mistake, bool) {
	word := strings.ToLower(b.Subject)
	m := mistake{part: partSubject, meant: true}
	if classOf(word) != judge.Pattern { // but for its capitals it is one
		m.expected, m.advice = "a subject in lower case", "for a package of that name write its full path"
		m.fix = new(b.with(partSubject, Budget{Subject: word}))
		return m, true
	}
	meant := quantity(word)
	// One letter wrong and not two: "progress" and "processor" are packages.
	for _, figure := range []string{"process", "goroutines"} {
		if meant == "" && len(word) <= len(figure)+1 && spelling.Distance(word, figure) == 1 {
			meant = figure
		}
	}
	other := b
	switch other.Subject = meant; {
	case meant == "":
		return patternMistake(b.Subject, partSubject)
	case meant == "latency":
		other.Subject, other.Limit, other.Per = "process", Amount{2, "ms"}, "request"
		m.advice, m.meant = "a profile has CPU time and no latency", false
	case meant == "threads":
		other.Subject = "goroutines"
		m.advice, m.meant = "threads are not counted, goroutines are", false
	case classOf(meant) == judge.Pattern: // a kind
		other.Subject, other.Kind = "no function", meant
		if dim := b.Limit.dimension(); meant == kinds.Allocs && (dim == unit.Bytes || dim == unit.Count) {
			other.Subject = "process"
		}
	}
	m.expected = "a subject, and no quantity; a package of that name goes in double quotes"
	m.fix = &other
	return m, true
}

// patternMistake returns what is wrong with a pattern.
func patternMistake(text string, part part) (mistake, bool) {
	m := mistake{part: part, expected: `a pattern: a package, a path, a function, "a name in full", or /regexp/`}
	file, _, place := strings.Cut(text, ":")
	hidden := strings.IndexFunc(text, isInvisible)
	switch {
	case text == "" && part == partSubject:
		m.expected = subjectExpected
	case text == "":
		m.advice = "leave out the empty one"
	case text[0] == '"' && isWord(text):
		if name, err := strconv.Unquote(text); err == nil && part == partSubject && classOf(name) != judge.Pattern {
			m.advice = "leave out the quotes: " + name
			return m, true
		}
		return m.ofPattern(text)
	case hidden >= 0 && !strings.ContainsFunc(text, unicode.IsSpace):
		r, _ := utf8.DecodeRuneInString(text[hidden:])
		m.expected, m.advice = visibleExpected(r), "leave it out"
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
func (b Budget) ruleMistake() mistake {
	m := mistake{part: partRule, expected: rulesText(b.Subject)}
	memory := b.Subject == "heap" || b.Subject == "rss"
	switch c := classOf(b.Subject); {
	case b.Rule != "" && !isRule(b.Rule) || b.Rule == "above" || b.Rule == "below":
		m.advice = `a Rule is "", "absent", "grows", "steady" or "leaked"`
	case b.Rule == "leaked" && memory, b.Rule == "grows" && c == judge.Figure: // over hours
		b.Rule, b.Limit = "steady", Amount{}
		m.fix, m.meant = &b, true
	case b.Rule == "leaked":
		m.fix, m.meant = &Budget{Name: b.Name, Subject: "no goroutine", Rule: "leaked"}, true
	case b.Rule == "absent" && (c == judge.Figure || c == judge.Process):
		m.advice = `"` + b.Subject + `" is no package here; for a package of that name write its full path`
	}
	return m
}
