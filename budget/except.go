package budget

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/pattern"
)

// An exception is one element of [Budget.Except].
type exception struct {
	pattern string // or the value of a label, as the sentence has it
	from    string // a pattern: it holds only below what this matches, "" for everywhere
	day     string // the last one on which it holds, "" for no end
	value   bool   // it is the value of a label
}

// exceptionOf reads an element. What is no exception is a pattern that is refused.
func (b *Budget) exceptionOf(text string) exception {
	l, e, mode := lexer{line: text}, exception{value: b.Label() != ""}, modeWord
	if e.value {
		mode = modeValue
	}
	whole := exception{pattern: text, value: e.value}
	e.pattern = l.next(mode).raw
	next := l.next(modeWord)
	if next.kind == tokenEnd {
		return whole
	}
	for _, clause := range [...]struct {
		word string
		into *string
	}{{"from", &e.from}, {"until", &e.day}} {
		if next.raw == clause.word {
			*clause.into = l.next(modeWord).raw
			if next = l.next(modeWord); *clause.into == "" {
				return whole
			}
		}
	}
	if next.kind != tokenEnd {
		return whole
	}
	return e
}

// valueText is the value of a label, without quotes.
func (e exception) valueText() string {
	l := lexer{line: e.pattern}
	return l.next(modeValue).text
}

// valueMistake is what is wrong with the value of a label.
func (e exception) valueMistake() mistake {
	l := lexer{line: e.pattern}
	t := l.next(modeValue)
	switch {
	case e.from != "":
		return mistake{partExcept, `values without "from"`, `leave out "from ` + e.from + `", or say "in"`}
	case !t.isText("") || t.text == "" || l.next(modeValue).kind != tokenEnd:
		return mistake{partExcept, valueExpected, `one with blanks or commas goes in double quotes`}
	case t.kind == tokenWord && (isKeyword(t.raw) || hasWildcard(t.raw)):
		return mistake{partExcept, valueExpected, "it is compared for equality, without wildcards; a word of the language goes in double quotes"}
	}
	return mistake{}
}

func (e exception) String() string {
	text := e.pattern
	if e.value && e.valueMistake().expected == "" {
		text = labelText(e.valueText(), "")
		if isKeyword(text) {
			text = strconv.Quote(text)
		}
	}
	if e.from != "" {
		text += " from " + e.from
	}
	if e.day != "" {
		text += " until " + e.day
	}
	return text
}

// end is when the exception ends: when its day is over, in UTC.
func (e exception) end() time.Time {
	day, err := time.Parse(time.DateOnly, e.day)
	if err != nil {
		return time.Time{}
	}
	return day.AddDate(0, 0, 1)
}

// mistake is what is wrong with the exception.
func (e exception) mistake() mistake {
	switch {
	case e.value && e.valueMistake().expected != "":
		return e.valueMistake()
	case e.value && e.day != "" && e.end().IsZero():
		return mistake{partExcept, dayExpected, ""}
	case e.value:
		return mistake{}
	case e.pattern == "none" && e.from != "":
		return mistake{partExcept, `"except none" alone, or patterns`, `leave out "from ` + e.from + `"`}
	case e.pattern == "none" && e.day != "":
		return mistake{partExcept, `"except none" without a day`, `leave out "until ` + e.day + `"`}
	case e.pattern != "none" && patternMistake(e.pattern, partExcept).expected != "":
		return patternMistake(e.pattern, partExcept)
	case e.from != "" && patternMistake(e.from, partExcept).expected != "":
		return patternMistake(e.from, partExcept)
	case e.day != "" && e.end().IsZero():
		return mistake{partExcept, dayExpected, ""}
	}
	return mistake{}
}

// valuesText are the values after "except" as the canonical form has them.
func (b *Budget) valuesText() string {
	list := make([]string, len(b.Except))
	for i, text := range b.Except {
		list[i] = b.exceptionOf(text).String()
	}
	return strings.Join(list, ", ")
}

// accept sets the exceptions of a rule: those that hold at a time.
func (b *Budget) accept(r *judge.Rule, at time.Time) {
	for _, text := range b.Except {
		e := b.exceptionOf(text)
		if e.day != "" {
			if !at.Before(e.end()) {
				continue
			}
			r.Ending = append(r.Ending, judge.Ending{Exception: e.String(), At: e.end()})
		}
		switch {
		case e.value:
			r.Except = append(r.Except, e.valueText())
		case e.pattern == "none":
			r.Literal = true
		case e.from != "":
			r.Routes = append(r.Routes, judge.Route{Of: e.pattern, From: e.from})
		default:
			r.Except = append(r.Except, e.pattern)
		}
	}
}

// lapsed is the last exception of a function or package that is over, without a day if there is none.
func (b *Budget) lapsed(name string) (last exception) {
	for _, text := range b.Except {
		e := b.exceptionOf(text)
		if e.day == "" || e.day <= last.day || time.Now().Before(e.end()) {
			continue
		}
		if e.value {
			if e.valueText() == name {
				last = e
			}
			continue
		}
		if p, err := pattern.Parse(e.pattern); err == nil && p.Match(name) {
			last = e
		}
	}
	return last
}

// lapsed says of the offenders, and of what most of their cost is in, which were accepted for a while that is
// over, "" if none was: while a function is accepted, its samples are not charged to its callers either. What it
// calls is charged all the time.
func (r *Result) lapsed() string {
	var list []string
	for i := range r.Offenders {
		for _, f := range append([]Frame{r.Offenders[i].Frame}, r.Offenders[i].Callees...) {
			e := r.Budget.lapsed(f.Function)
			e.pattern = pattern.Visible(f.Function) + " was accepted" // perhaps from one caller only
			if note := e.String() + ", which is over"; e.day != "" && !slices.Contains(list, note) {
				list = append(list, note)
			}
		}
	}
	return strings.Join(list, "; ")
}
