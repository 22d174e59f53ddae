package budget

import (
	"strconv"
	"strings"
	"time"
)

// clauses reads what follows the rule and its amount, to the end of the line.
func (p *parser) clauses(b *Budget) {
	var last part // the clause before the present one
	late := ""    // the first clause that may not stand before measure, per and of
	for p.err == nil && p.tok.kind != tokenEnd {
		at := p.tok
		part, ok := clausePart(at.raw)
		if !ok || at.kind != tokenWord {
			p.noClause(b, at, last)
			return
		}
		if earlier := p.said[part]; earlier.raw != "" {
			remedy := `"` + clipped(earlier.raw) + `" is there already: leave out one of the two`
			if part == partExcept || part == partWhere {
				remedy = `"` + clipped(earlier.raw) + `" is there already: add to it, with a comma`
			}
			p.fail(at, `each clause once`, remedy)
			return
		}
		if part == partMeasure || part == partPer || part == partKind {
			if late != "" {
				if part == partKind && last == partIn {
					p.inOf(b.In)
				}
				p.fail(at, `"`+at.raw+`" before "`+late+`"`, "move it forward, right behind the amount")
				return
			}
		} else if late == "" {
			late = at.raw
		}
		last = part
		p.advanceClause(part)
		switch part {
		case partMeasure:
			b.Flat = at.raw == "flat"
		case partPer:
			b.Per = p.per(b)
		case partKind:
			b.Kind = p.kind()
		case partExcept:
			b.Except = p.patterns(partExcept, true)
		case partIn:
			if list := p.patterns(partIn, false); len(list) > 0 {
				b.In = list[0]
			}
		case partWhere:
			b.Where = p.labels()
		case partWhen:
			b.When = p.condition()
		case partFor:
			p.duration(b)
		}
		if p.err == nil {
			p.said[part] = token{kind: tokenWord, off: at.off, raw: strings.TrimRightFunc(p.lex.line[at.off:p.tok.off], isSpace)}
		}
	}
}

// clausePart returns the part of a budget that a keyword begins.
func clausePart(word string) (part, bool) {
	switch word {
	case "cumulative", "flat":
		return partMeasure, true
	case "per":
		return partPer, true
	case "of":
		return partKind, true
	case "except":
		return partExcept, true
	case "in":
		return partIn, true
	case "where":
		return partWhere, true
	case "when":
		return partWhen, true
	case "for":
		return partFor, true
	}
	return 0, false
}

// advanceClause moves past the keyword of a clause.
func (p *parser) advanceClause(part part) {
	if part == partWhere {
		p.advanceIn(modeKey)
		return
	}
	if part == partFor {
		p.route()
	}
	p.advance()
}

// noClause explains a word that begins no clause, behind the clause last.
func (p *parser) noClause(b *Budget, at token, last part) {
	const expected = "a clause (cumulative, flat, per, of, except, in, where, when, for) or the end of the line"
	next := p.peek()
	switch {
	case p.startsSentence():
		p.fail(at, "the end of the line", "one budget a line: move what follows to a line of its own")
	case at.kind == tokenComma && p.sentenceFollows():
		p.fail(at, "the end of the line", "one budget a line: move what follows to a line of its own")
	case at.kind == tokenComma:
		p.fail(at, expected, noComma)
	case isStatistic(at.raw), (at.raw == "at" || at.raw == "on") && isStatistic(next.raw):
		p.statistic(at, expected)
	case startsWithNumber(at.raw) && (next.raw == "window" || next.raw == "windows"):
		p.fail(p.span(at, next), expected, didYouMean("for "+at.raw+" "+next.raw))
	case startsWithNumber(at.raw):
		p.fail(at, expected, "a budget has one amount, behind above or below")
	case (at.raw == "and" || at.raw == "or") && (last == partExcept || last == partWhere) && next.kind == tokenWord:
		p.fail(p.span(at, next), expected, "commas stand between them: "+didYouMean(", "+next.raw))
	case at.raw == "and" || at.raw == "or":
		p.fail(at, expected, "a budget has one limit and one condition: write a line for each")
	case isRule(at.raw):
		p.fail(at, expected, "a budget has one rule: write a line for each")
	case strings.EqualFold(at.raw, "unless"):
		p.unless(at, expected)
	case clauseMeant(at.raw) != "":
		p.fail(at, expected, didYouMean(clauseMeant(at.raw)))
	case kindMeant(at.raw) != "" && kindMeant(at.raw) != "cpu" && p.said[partKind].raw == "":
		p.fail(at, expected, didYouMean("of "+kindMeant(at.raw)))
	case strings.EqualFold(at.raw, "cpu") && b.Subject == "process" && b.Rule == "" && b.Limit.Unit == "%":
		p.percentOfCPU(b, at)
	case strings.EqualFold(at.raw, "cpu"):
		p.fail(at, expected, `leave it out: cpu is what is meant where nothing else is`)
	case strings.HasPrefix(at.raw, "//") || strings.HasPrefix(at.raw, "--"):
		p.fail(at, expected, `comments begin with "#"`)
	case strings.HasPrefix(at.raw, "("):
		p.fail(at, expected, "leave out the parentheses")
	case last == partExcept:
		p.fail(at, expected, "commas stand between patterns: "+didYouMean(", "+at.raw))
	case last == partWhere:
		p.fail(at, expected, `commas stand between labels, and double quotes around blanks: a="x y", b=z`)
	default:
		p.fail(at, expected, `leave it out; a comment begins with "#"`)
	}
}

const noComma = "leave out the comma: only blanks stand between clauses"

// per reads the name of a unit of work.
func (p *parser) per(b *Budget) string {
	at := p.tok
	if m, wrong := perMistake(at.raw); wrong {
		if meant := perTimeRemedy(p.ahead(b.Subject).Kind, at.raw, b.Limit); meant != "" {
			m.remedy = meant
		}
		p.fail(at, m.expected, m.remedy)
	}
	p.advance()
	return at.raw
}

// kind reads a kind of profile; cpu, which is what no kind means, is "".
func (p *parser) kind() string {
	at := p.tok
	if m, wrong := kindMistake(at.raw); wrong {
		p.fail(at, m.expected, m.remedy)
	}
	p.advance()
	if at.raw == "cpu" {
		return ""
	}
	return at.raw
}

const howLong = "a number of windows, or a duration such as 5m or 1m30s"

// duration reads "3 windows" or "5m".
func (p *parser) duration(b *Budget) {
	const expected = howLong
	at, next := p.tok, p.peek()
	if at.kind != tokenWord || !startsWithNumber(strings.TrimLeft(at.raw, "+-")) {
		p.fail(at, expected, example("for 3 windows"))
		return
	}
	if next.raw == "window" || next.raw == "windows" {
		n, err := strconv.Atoi(at.raw)
		if err != nil || n <= 0 || at.raw[0] == '+' {
			p.fail(at, "a whole number of windows, 1 or more", example("for 3 windows"))
			return
		}
		b.ForWindows = n
		p.advance()
		p.advance()
		return
	}
	d, err := time.ParseDuration(at.raw)
	digits, suffix := splitNumber(at.raw)
	switch {
	case err == nil && d > 0 && at.raw[0] != '+' && suffix != "":
		b.ForTime = d
		p.advance()
		return
	case err == nil && suffix != "":
		p.fail(at, "a duration above zero", example("for 5m"))
	case suffix == "" && unitOf(unitMeant(next.raw)).dim == dimTime && next.kind == tokenWord:
		p.fail(p.span(at, next), expected, didYouMean("for "+digits+unitMeant(next.raw)))
	case suffix == "" && unitOf(next.raw).dim == dimTime && next.kind == tokenWord:
		p.fail(p.span(at, next), expected, didYouMean("for "+digits+next.raw))
	case suffix == "":
		p.fail(at, expected, didYouMean("for "+digits+` windows" or "for `+digits+"m"))
	case strings.HasPrefix(suffix, "w"):
		p.fail(at, expected, didYouMean("for "+digits+" windows"))
	case suffix == "d":
		p.fail(at, expected, "the longest unit is the hour: a day is 24h")
	default:
		p.fail(at, expected, "durations are written as 90s, 5m, 1h30m")
	}
}
