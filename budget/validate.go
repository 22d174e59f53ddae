package budget

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/unit"
)

// Validate returns nil for a budget that can be judged, and otherwise an error that lists all
// its mistakes. Budgets from Parse are valid.
func (b Budget) Validate() error {
	var errs []error
	for _, m := range b.mistakes() {
		text := "budget " + strconv.Quote(clipped(b.identity())) + ": expected " + plain(m.expected) + ", found " + strconv.Quote(clipped(b.text(m.part)))
		if m.advice != "" {
			text += ": " + plain(m.advice)
		}
		errs = append(errs, errors.New(text))
	}
	return errors.Join(errs...)
}

// Validate returns nil for a set that can be judged, and otherwise an error
// that lists the mistakes of all its budgets, and the names that occur twice.
func (s Set) Validate() error {
	var errs []error
	first := map[string]int{}
	for i := range s {
		if err := s[i].Validate(); err != nil {
			errs = append(errs, err)
			continue
		}
		name := s[i].identity()
		if earlier, taken := first[name]; taken {
			errs = append(errs, fmt.Errorf("budget %q: expected a unique name for each budget, found this one at places %d and %d of the set: rename one, or remove it",
				clipped(name), earlier+1, i+1))
			continue
		}
		first[name] = i
	}
	return errors.Join(errs...)
}

// identity returns the name or the sentence, which is unique in a set.
func (b *Budget) identity() string {
	if b.Name != "" {
		return b.Name
	}
	return b.String()
}

// A mistake is a wrong part of a budget.
type mistake struct {
	part     part
	expected string // "" if there is no mistake
	advice   string // what to do, unless expected says it
}

// mistakes lists the mistakes of a budget, the most useful first. The clauses depend on the
// subject and the rule.
func (b *Budget) mistakes() (list []mistake) {
	if b.Name != "" {
		list = append(list, nameMistake(b.Name))
	}
	switch subject, rule := b.subjectMistake(), b.ruleMistake(); {
	case subject.expected != "":
		list = append(list, subject)
	case rule.expected != "":
		list = append(list, rule)
	default:
		list = append(list, b.clauseMistakes()...)
	}
	return slices.DeleteFunc(list, func(m mistake) bool { return m.expected == "" })
}

// longestName is a name that labels of metrics and names of files have room for.
const longestName = 100

func nameMistake(name string) mistake {
	switch {
	case !unit.IsName(name):
		return mistake{partName, nameExpected, nameAdvice}
	case len(name) > longestName:
		return mistake{partName, shortExpected, nameAdvice}
	}
	return mistake{}
}

// clauseMistakes are the mistakes after the rule. Entries without expected are no mistakes.
func (b *Budget) clauseMistakes() (list []mistake) {
	for p := partMeasure; p < parts; p++ {
		if !b.takes(p) && b.text(p) != "" {
			list = append(list, mistake{p, "only clauses that go with " + b.about(), "leave it out"})
		}
	}
	if b.takes(partKind) && b.Kind != "" && !slices.Contains(kinds.Names(), string(b.Kind)) {
		return append(list, mistake{partKind, kindExpected(), ""})
	}
	if b.Label() != "" && !b.values().HasLabels {
		return append(list, mistake{partKind, labelKinds + ` after "of"`, "the runtime writes labels into profiles of these two kinds only"})
	}
	list = append(list, b.limitMistake(), b.workMistake(), b.When.mistake(), b.forMistake())
	if b.In != "" {
		list = append(list, patternMistake(b.In, partIn))
	}
	for _, text := range b.Except {
		e := b.exceptionOf(text)
		list = append(list, e.mistake())
		if e.from != "" && b.Rule != RuleLimit {
			list = append(list, mistake{partExcept, `patterns without "from", as growth counts a function from all its callers`, `leave out "from ` + e.from + `"`})
		}
		if e.pattern == "none" && len(b.Except) > 1 {
			list = append(list, mistake{partExcept, `"except none" alone, or patterns`, `leave out "none", or leave out the patterns`})
		}
	}
	return list
}

func (b *Budget) subjectMistake() mistake {
	switch {
	case subjectOf(b.Subject) == &ofLabel && b.Label() == "":
		return mistake{partSubject, labelExpected, labelAdvice}
	case classOf(b.Subject) != judge.Pattern:
		return mistake{}
	}
	switch {
	case b.Subject == "":
		return mistake{partSubject, subjectExpected, ""}
	case isQuantity(b.Subject):
		return mistake{partSubject, quantityExpected, `a kind of profile follows "of", as in "of allocs"; no profile has latency or threads`}
	}
	return patternMistake(b.Subject, partSubject)
}

// patternMistake returns what is wrong with a pattern.
func patternMistake(text string, part part) mistake {
	m := mistake{part, patternExpected, ""}
	file, _, place := strings.Cut(text, ":")
	_, err := pattern.Parse(text)
	switch {
	case text == "":
		m.advice = "leave out the empty one"
	case part == partSubject && text[0] == '"' && classOf(strings.Trim(text, `"`)) != judge.Pattern:
		m.advice = "leave out the quotes: " + strings.Trim(text, `"`)
	case isKeyword(text):
		m.advice = `"` + text + `" is a word of the language: something is missing in front of it; a name like that goes in double quotes`
	case strings.HasSuffix(file, ".go") && text[0] != '/' && (place || !strings.Contains(text, "/")):
		m.advice = "patterns match functions, not files and lines: write the function, as in main.(*Server).ServeHTTP"
	case !isWord(text):
		m.advice = `a pattern is one word of visible characters: a name with blanks, commas or "#" goes in double quotes`
	case err != nil:
		m.advice = errors.Unwrap(err).Error() // the message shows the pattern already
	default:
		return mistake{}
	}
	return m
}

func (b *Budget) ruleMistake() mistake {
	m := mistake{partRule, rulesText(b.Subject), ""}
	switch {
	case b.hasRule():
		return mistake{}
	case b.Rule == "above" || b.Rule == "below" || b.Rule != RuleLimit && !isRule(string(b.Rule)): // no sentence says so
		m.advice = `a Rule is "", "absent", "grows", "steady" or "leaked"`
	}
	return m
}

// limitMistake returns the mistake in a limit.
func (b *Budget) limitMistake() mistake {
	switch limited := b.Rule == RuleLimit || b.Rule == RuleGrows; {
	case limited:
		return b.amountMistake(fits(b))
	case b.Limit != (Amount{}):
		return mistake{partLimit, `no amount after "` + string(b.Rule) + `"`, "leave it out"}
	}
	return mistake{}
}

// amountMistake returns the mistake in the number or the unit of a limit that may fit so.
func (b *Budget) amountMistake(list []fit) mistake {
	dim, base := b.Limit.dimension(), b.Limit.base()
	i := slices.IndexFunc(list, func(f fit) bool { return f.dim == dim })
	switch {
	case len(list) == 0:
		return mistake{partKind, "a kind that has a limit for " + b.about(), ""}
	case dim == unit.Unknown:
		return mistake{partLimit, "a known unit", unitsAdvice()}
	case !(base > 0) || math.IsInf(base, 1):
		return mistake{partLimit, amountExpected, "say how much is too much"}
	case i < 0 && dim == unit.Bytes && b.Kind == "" && b.takes(partPer) && b.Label() == "":
		return mistake{partLimit, fitsText(list), `of bytes, say which: "of heap", or "of allocs"`}
	case i < 0:
		return mistake{partLimit, fitsText(list), ""}
	}
	return cmp.Or(b.perMistake(list[i]), b.sizeMistake(list[i]))
}

// perMistake returns the mistake in what a limit is divided by.
func (b *Budget) perMistake(f fit) mistake {
	switch {
	case f.per == perMust && b.Per == "":
		text := fitsText([]fit{f})
		if f.dim == unit.Time && b.Kind == "" {
			text += ", which is CPU time, not latency"
		}
		return mistake{partLimit, text, `name the work, as in "per request"`}
	case f.per == perNever && b.Per != "":
		return mistake{partPer, `no "per" after ` + b.Limit.String(), `leave "per" out`}
	case f.dim == unit.Points && b.Per != "" && !b.comparesBuilds():
		return mistake{partPer, `no "per" after points, except for each function or value without flat, in and where`, `leave "per" out`}
	}
	return mistake{}
}

// comparesBuilds reports whether the growth of each function may be compared per unit of work.
func (b *Budget) comparesBuilds() bool {
	return (b.Subject == "no function" || b.Label() != "") && !b.Flat && b.In == "" && len(b.Where) == 0 && !slices.Equal(b.Except, []string{"none"})
}

// sizeMistake returns what is wrong with a number that nothing can have.
func (b *Budget) sizeMistake(f fit) mistake {
	switch v := b.Limit.Value; {
	case b.Per != "":
	case (f.dim == unit.Share || f.dim == unit.Points) && f.per != perMust && v >= 100:
		return mistake{partLimit, "less than " + Amount{100, b.Limit.Unit}.String(), "no share is larger, or grows by more"}
	case f.dim == unit.Count && v != math.Trunc(v):
		return mistake{partLimit, "a whole number", "round it"}
	}
	return mistake{}
}

// about is the subject and rule of a limit, for messages.
func (b *Budget) about() string {
	return strconv.Quote(clipped(strings.TrimSpace(b.Subject + " " + string(b.Rule))))
}

func (b *Budget) workMistake() mistake {
	text, by := unit.CutBy(b.Per)
	work, ok := unit.ParseWork(text)
	each := b.Label() != "" && b.Rule == RuleLimit
	switch {
	case b.Per == "":
	case !ok || !isWord(text) || startsWithNumber(text) || isKeyword(work.Name):
		return mistake{partPer, workExpected, workAdvice}
	case by != "" && !each:
		return mistake{partPer, `"by" only where each value of a label has a limit of its own`, `leave out "by ` + by + `"`}
	case each && by == "" && !unit.IsName(b.Label()):
		return mistake{partPer, byExpected, byAdvice}
	case each && by == b.Label(): // as it is without
		return mistake{partPer, `no "by" with the budget's own label`, `leave out "by ` + by + `"`}
	}
	return mistake{}
}

// mistake returns the mistake in a condition. Its figures have the same units as they have as
// subjects.
func (c *Condition) mistake() mistake {
	switch {
	case *c == (Condition{}):
		return mistake{}
	case !slices.Contains(figures, string(c.Figure)):
		return mistake{partWhen, figureExpected(), ""}
	case c.Amount == (Amount{}):
		return mistake{partWhen, amountExpected, "say how much is too much"}
	}
	fits := subjectOf(string(c.Figure)).limit
	if c.Figure == FigureProcess {
		fits = []fit{{unit.Cores, perNever}}
	}
	m := (&Budget{Subject: "goroutines", Limit: c.Amount}).amountMistake(fits) // as of any figure
	m.part = partWhen
	return m
}

func (b *Budget) forMistake() mistake {
	if b.ForWindows < 0 || b.ForTime < 0 || b.ForWindows > 0 && b.ForTime > 0 {
		return mistake{partFor, "a number of windows or a duration, above zero", "set one of ForWindows and ForTime, or neither"}
	}
	return mistake{}
}
