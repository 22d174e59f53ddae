package budget

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
)

// clauses reads what follows the rule and its amount, to the end of the line.
func (p *parser) clauses() {
	var last part
	for p.err == nil && p.tok.kind != tokenEnd {
		at := p.tok
		part, ok := clauseParts[at.raw]
		switch {
		case !ok || at.kind != tokenWord:
			p.noClause(at, last)
			return
		case p.said[part].raw != "":
			p.twice(at, part)
			return
		case part == partWhere:
			p.advanceIn(modeKey)
		case part == partPer:
			p.advanceIn(modeWork)
		default:
			p.advance()
		}
		switch part {
		case partMeasure:
			p.b.Flat = at.raw == "flat"
		case partPer:
			p.b.Per = p.word(`the name of a unit of work after "per"`, " request")
		case partKind:
			p.b.Kind = p.word(`a kind of profile after "of": `+orList(kinds.Names()), "")
		case partExcept:
			p.b.Except = p.patterns(partExcept)
		case partIn:
			p.b.In = strings.Join(p.patterns(partIn), "")
		case partWhere:
			p.b.Where = p.labels()
		case partWhen:
			p.b.When = p.condition()
		case partFor:
			p.duration()
		}
		if p.err == nil {
			p.said[part] = token{kind: tokenWord, off: at.off, raw: strings.TrimRightFunc(p.lex.line[at.off:p.tok.off], isSpace)}
			last = part
		}
	}
}

// twice explains a clause that is there already.
func (p *parser) twice(at token, part part) {
	m := mistake{expected: "each clause once", advice: `"` + clipped(p.said[part].raw) + `" is there already`}
	var lines []string
	switch part {
	case partMeasure:
		if m.expected = "one of cumulative and flat"; p.said[part].raw == at.raw {
			m.expected = at.raw + " once"
		}
	case partExcept, partWhere: // except a except b
		lines = p.instead(at, ",")
	}
	p.refuse(at, m, lines)
}

// noClause explains a word that begins no clause, behind one of the last part.
func (p *parser) noClause(at token, last part) {
	next := p.peek()
	list := wordsMeant(clauseWords, at.raw, "cumulative", "flat", "per", "of", "except", "in", "where", "when", "for")
	for _, kind := range wordsMeant(kindWords, at.raw, kinds.Names()...) {
		list = append(list, "of "+kind)
	}
	if startsWithNumber(at.raw) {
		list = append(list, "for "+at.raw)
	}
	advice := ""
	if after := p.lex; isRule(next.raw) || (at.kind == tokenComma || at.raw == "and" && last != partWhen) && isRule(after.second()) {
		advice = "one budget a line: move what follows to a line of its own"
	}
	lines := p.instead(at, list...)
	if advice != "" {
		lines = nil // none of them has both budgets
	}
	said := p.span(p.said[last], at)
	switch last {
	case partExcept: // except a b
		lines = append(lines, p.instead(at, ", "+at.raw)...)
	case partPer: // per http request
		if !slices.Contains(latencies, at.raw) && !startsWithNumber(p.b.Per) {
			lines = append(lines, p.instead(said, "per "+at.raw)...)
		}
	case partKind: // of CPU time
		lines = append(lines, p.instead(said, p.said[last].raw)...)
	}
	p.refuse(at, mistake{expected: "a clause (cumulative, flat, per, of, except, in, where, when, for) or the end of the line", advice: advice}, lines)
}

// word reads one word; missing is what the end of the line may stand for.
func (p *parser) word(expected, missing string) string {
	at := p.tok
	switch {
	case at.kind == tokenEnd:
		p.fail(at, expected, "", missing)
	case at.raw == "the" && p.peek().kind == tokenWord: // of the total
		p.fail(at, expected, "", "")
	case at.kind != tokenWord:
		p.fail(at, expected, "", at.text)
	}
	p.advance()
	return at.raw
}

// patterns reads the patterns of a clause, with commas between them.
func (p *parser) patterns(clause part) []string {
	var list []string
	var comma token
	for {
		at := p.tok
		switch {
		case len(list) > 0 && (at.kind == tokenEnd || at.kind == tokenWord && isKeyword(at.raw)):
			p.fail(comma, "a pattern after the comma", "", "")
		case !at.isPattern():
			if p.b.In = "main.handler"; clause == partExcept { // for the example
				p.b.In, p.b.Except = "", []string{"runtime/..."}
			}
			p.fail(at, `a pattern: a package, a path, a function, "a name in full", or /regexp/`, "")
		case isNamed(at.raw) && p.peek().isPattern() && !isKeyword(p.peek().raw): // in package main
			next := p.peek()
			p.refuse(at, mistake{expected: `a name, which says itself what it is the name of`}, p.instead(p.span(at, next), next.raw))
		case at.raw != "none" || clause != partExcept:
			if m, wrong := patternMistake(at.raw, clause); wrong {
				p.fail(at, m.expected, m.advice, append(plainPatterns(at.raw), "")...)
			}
		}
		list = append(list, at.raw)
		p.advance()
		if p.err != nil || p.tok.kind != tokenComma {
			return list
		}
		comma = p.tok
		if clause == partIn {
			p.b.In = list[0] // for the example
			p.fail(comma, `one pattern after "in"`, "write a budget for each, or a regular expression, /main.a|main.b/", "")
			return list
		}
		p.advance()
	}
}

// labelOperators are what queries elsewhere have in the place of "=". In quotes they
// may stand in a key.
const labelOperators = "!<>~"

// labels reads k=v, k2=v2. The present word is the first key.
func (p *parser) labels() map[string]string {
	const equality = "key=value: labels are compared for equality"
	p.b.Where = map[string]string{"endpoint": "/checkout"} // for the example
	labels := map[string]string{}
	for {
		key := p.tok
		_, twice := labels[key.text]
		switch {
		case key.kind != tokenWord && key.kind != tokenQuoted:
			p.fail(key, "a label, key=value", "")
		case key.kind == tokenWord && strings.ContainsAny(key.raw, labelOperators):
			p.fail(key, equality, "")
		case twice:
			p.fail(key, "each label once", "a sample has one value of a label: write a budget for each value")
		}
		p.advanceIn(modeKey)
		if p.tok.kind != tokenEquals {
			p.fail(key, `"=" after the label's key`, "", strings.Replace(key.raw, ":", "=", 1))
		}
		p.advanceIn(modeValue)
		value := p.tok
		switch {
		case value.kind != tokenWord && value.kind != tokenQuoted:
			p.fail(value, "the label's value", `write key=value; an empty value is written ""`)
		case value.kind == tokenWord && strings.ContainsAny(value.raw[:1], "=~'`"):
			p.fail(value, equality, "", strings.Trim(value.raw, "='`"))
		}
		labels[key.text] = value.text
		p.advance()
		if p.err != nil || p.tok.kind != tokenComma {
			return labels
		}
		comma := p.tok
		p.advanceIn(modeKey)
		if after := p.lex; clauseParts[p.tok.raw] != 0 && after.next(modeKey).kind != tokenEquals {
			p.fail(comma, "a label after the comma", "", "")
		}
	}
}

// condition reads "process above 0.1 cores".
func (p *parser) condition() Condition {
	c := Condition{Figure: p.tok.raw}
	p.b.When = Condition{Figure: "process", Amount: Amount{0.1, "cores"}} // for the example
	if !slices.Contains(figures, c.Figure) {
		p.fail(p.tok, orList(figures)+` after "when"`, "", wordsMeant(figureWords, c.Figure, figures...)...)
	}
	p.advance()
	if at := p.tok; at.raw != "above" && at.raw != "below" {
		p.fail(at, `"above" or "below" after "`+c.Figure+`"`, "", wordsMeant(ruleWords, at.raw, "above", "below")...)
	}
	c.Below = p.tok.raw == "below"
	p.advance()
	c.Amount, _ = p.amount()
	return c
}

// duration reads "3 windows" or "5m".
func (p *parser) duration() {
	at, next := p.tok, p.peek()
	windows, err := strconv.Atoi(at.raw)
	if counted := next.raw == "window" || next.raw == "windows"; counted && err == nil && windows > 0 && at.raw[0] != '+' {
		p.b.ForWindows = windows
		p.advance()
		p.advance()
		return
	}
	if d, err := time.ParseDuration(at.raw); err == nil && d > 0 && at.raw[0] != '+' {
		p.b.ForTime = d
		p.advance()
		return
	}
	digits, suffix := splitNumber(at.raw)
	if suffix == "" && next.kind == tokenWord { // 5 minutes
		at, suffix = p.span(at, next), next.raw
	}
	var list []string
	if u, ok := unit.Meant(suffix); ok {
		list = append(list, withUnit(digits, u))
	}
	if suffix == "window" || suffix == "windows" {
		list = append(list, digits+" windows")
	}
	lines := p.instead(at, list...)
	if digits == "" && at.kind == tokenWord { // for more than 5 minutes
		lines = append(lines, p.toAmount(at, "")...)
	}
	p.b.ForWindows = 3 // for the example
	p.refuse(at, mistake{expected: "a number of windows, or a duration such as 5m or 1h30m"}, lines)
}
