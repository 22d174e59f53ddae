package budget

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
)

// clauses reads what follows the rule and its amount, to the end of the line.
func (p *parser) clauses() {
	for p.err == nil && p.tok.kind != tokenEnd {
		at := p.tok
		part := clausePart(at.raw)
		switch {
		case part == 0:
			advice := ""
			if at.raw == "," || at.raw == "and" || strings.HasPrefix(at.raw, ";") {
				advice = "write one budget a line"
			}
			if at.raw == "until" {
				advice = `"until" and a day follow a name after "except"`
			}
			p.fail(at, "a clause (cumulative, flat, per, of, except, in, where, when, for) or the end of the line", advice)
			return
		case p.places[part].raw != "":
			p.fail(at, "each clause once", `"`+clipped(p.places[part].raw)+`" is there already`)
			return
		}
		p.clause = part
		if part == partWhere {
			p.advanceIn(modeKey)
		} else if part == partExcept {
			p.advanceIn(p.exceptMode())
		} else {
			p.advance()
		}
		switch part {
		case partMeasure:
			p.b.Flat = at.raw == "flat"
		case partPer:
			p.b.Per = p.work()
		case partKind:
			p.b.Kind = Kind(p.tok.raw)
			if !slices.Contains(kinds.Names(), p.tok.raw) {
				p.fail(p.tok, kindExpected(), "")
			}
			p.advance()
		case partExcept:
			p.b.Except = p.exceptions()
		case partIn:
			p.b.In = p.pattern(partIn)
		case partWhere:
			p.b.Where = p.labels()
		case partWhen:
			p.b.When = p.condition()
		case partFor:
			p.duration()
		}
		if p.err == nil {
			p.clause = partName
			p.places[part] = token{kind: tokenWord, off: at.off, raw: strings.TrimRightFunc(p.lex.line[at.off:p.tok.off], unicode.IsSpace)}
		}
	}
}

// work reads a unit of work, and behind "by" the label of its counter. That of the budget itself is the default.
func (p *parser) work() string {
	at, b := p.tok, p.b
	if b.Per = at.raw; at.raw == "" {
		p.fail(at, workExpected, workAdvice)
	}
	if p.advance(); p.tok.raw == "by" {
		p.advance()
		if by := p.tok; !unit.IsName(by.raw) || isKeyword(by.raw) {
			p.fail(by, byExpected, byAdvice)
		} else if by.raw != b.Label() || b.Rule != RuleLimit {
			b.Per += " by " + by.raw
		}
		p.advance()
	}
	if m := b.workMistake(); m.expected != "" {
		p.fail(at, m.expected, m.advice)
	}
	return b.Per
}

// exceptions reads patterns, each with the pattern below which it is accepted and the day until which
// it is, or without these.
func (p *parser) exceptions() []string {
	list := []string{p.exception()}
	for p.tok.raw == "," {
		p.advanceIn(p.exceptMode())
		list = append(list, p.exception())
	}
	return list
}

// exceptMode is how the word after "except" is read.
func (p *parser) exceptMode() mode {
	if p.b.Label() != "" {
		return modeValue
	}
	return modeWord
}

func (p *parser) exception() string {
	var e exception
	if e.value = p.b.Label() != ""; e.value {
		e.pattern = p.value()
	} else {
		e.pattern = p.pattern(partExcept)
	}
	if p.tok.raw == "from" {
		at := p.tok
		p.advance()
		if e.from = p.pattern(partExcept); p.err == nil {
			if m := e.mistake(); m.expected != "" {
				p.fail(at, m.expected, m.advice)
			}
		}
	}
	if p.tok.raw == "until" {
		p.advance()
		e.day = p.tok.raw
		if m := e.mistake(); e.day == "" || m.expected != "" {
			p.fail(p.tok, cmp.Or(m.expected, dayExpected), m.advice)
		}
		p.advance()
	}
	return e.String()
}

// value reads the value of a label after "except".
func (p *parser) value() string {
	at := p.tok
	if m := (exception{pattern: at.raw, value: true}).mistake(); m.expected != "" {
		p.fail(at, m.expected, m.advice)
	}
	p.advance()
	return at.raw
}

func (p *parser) pattern(of part) string {
	at := p.tok
	switch m := patternMistake(at.raw, of); {
	case of == partExcept && at.raw == "none":
	case !at.isPattern():
		p.fail(at, patternExpected, "")
	case m.expected != "":
		p.fail(at, m.expected, m.advice)
	}
	p.advance()
	return at.raw
}

// labels reads k=v, k2=v2. The present word is the first key.
func (p *parser) labels() map[string]string {
	const expected = "a label as key=value, compared for equality"
	labels := map[string]string{}
	for {
		key := p.tok
		p.advanceIn(modeKey)
		equals := p.tok
		p.advanceIn(modeValue)
		value := p.tok
		_, twice := labels[key.text]
		switch {
		case !key.isText(labelOperators) || equals.raw != "=":
			p.fail(key, expected, "")
		case !value.isText("") || value.kind == tokenWord && strings.ContainsAny(value.raw[:1], "=~'`"):
			p.fail(value, expected, `an empty value is written ""`)
		case value.kind == tokenWord && hasWildcard(value.raw):
			p.fail(value, expected, `a label has no wildcards: write the value in full; one that has "*" or "..." itself goes in double quotes`)
		case twice:
			p.fail(key, "each label once", "a sample has one value of a label: write a budget for each value")
		}
		labels[key.text] = value.text
		p.advance()
		if p.err != nil || p.tok.raw != "," {
			return labels
		}
		p.advanceIn(modeKey)
	}
}

// isText reports whether the token can be a label's key or value: a string, or a word without
// some characters.
func (t token) isText(without string) bool {
	return t.kind == tokenQuoted || t.kind == tokenWord && !strings.ContainsAny(t.raw, without)
}

// condition reads "process above 0.1 cores".
func (p *parser) condition() Condition {
	c := Condition{Figure: Figure(p.tok.raw)}
	if !slices.Contains(figures, p.tok.raw) {
		p.fail(p.tok, figureExpected(), "")
	}
	p.advance()
	if at := p.tok; at.raw != "above" && at.raw != "below" {
		p.fail(at, `"above" or "below" after "`+string(c.Figure)+`"`, "")
	}
	c.Below = p.tok.raw == "below"
	p.advance()
	c.Amount, _ = p.amount()
	return c
}

// duration reads "3 windows" or "5m".
func (p *parser) duration() {
	at, next := p.tok, p.peek()
	windows, _ := strconv.Atoi(at.raw)
	d, _ := time.ParseDuration(at.raw)
	switch {
	case windows > 0 && (next.raw == "window" || next.raw == "windows"):
		p.b.ForWindows = windows
		p.advance()
	case d > 0:
		p.b.ForTime = d
	default:
		if _, unit := splitNumber(at.raw); unit == "" && next.kind == tokenWord { // 5 minutes
			at = p.span(at, next)
		}
		p.fail(at, "a number of windows, or a duration such as 5m or 1h30m", "")
	}
	p.advance()
}
