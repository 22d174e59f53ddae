package budget

import (
	"math"
	"strconv"
	"strings"

	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/unit"
)

// budget reads a sentence:
//
//	[name ":"] subject rule [amount] {clause}
//
// What the words mean together is checked on the value, by the code behind
// Validate, so that both refuse the same.
func (p *parser) budget() {
	p.name()
	p.subject()
	p.rule()
	p.clauses()
	p.check()
	if p.b.Kind == "cpu" {
		p.b.Kind = ""
	}
}

// name reads "checkout-tls:" if it is there.
func (p *parser) name() {
	at := p.tok
	p.said[partName] = at // without a name, the sentence's beginning stands for it
	if at.kind != tokenWord || !strings.HasSuffix(at.raw, ":") {
		return
	}
	p.b.Name = strings.TrimSuffix(at.raw, ":")
	if !unit.IsName(p.b.Name) {
		p.fail(at, nameExpected, nameAdvice, strings.Map(func(r rune) rune {
			if unit.IsName("a" + string(r)) {
				return r
			}
			return '-'
		}, p.b.Name)+":")
	}
	p.advance()
}

// subject reads what the budget is about.
func (p *parser) subject() {
	at, next := p.tok, p.peek()
	p.said[partSubject] = at
	if at.raw == "no" {
		p.advance()
		p.no(at)
		return
	}
	// Behind a rule a quantity is refused when its limit is known.
	m := mistake{partName, subjectExpected, ""}
	wrong := !at.isPattern() || isKeyword(at.raw) || at.kind == tokenQuoted && next.kind == tokenEnd ||
		!isRule(next.raw) && len(suggest(at.raw)) > 0 || next.raw == "above" && quantity(at.raw) != ""
	if !wrong {
		m = patternMistake(at.raw, partName)
		wrong = m.expected != ""
	}
	if !wrong || quantity(at.raw) != "" {
		p.b.Subject = at.raw // for the example
	}
	if wrong && classOf(at.raw) == judge.Pattern {
		var lines []string
		if endsName(next.raw) { // cpu budget: process below 2 cores
			name := p.span(at, next)
			lines = p.instead(name, hyphenated(name.raw))
		}
		lines = append(lines, p.instead(at, suggest(at.raw)...)...)
		if name, rest, ok := strings.Cut(at.raw, ":"); ok && unit.IsName(name) && !strings.Contains(name, ".") {
			lines = append(lines, p.instead(at, name+": "+rest)...)
		}
		p.refuse(at, m, append(lines, strings.Trim(p.lex.line, " \t'`\"-*•"))) // a list's mark, a shell's quotes
	}
	p.b.Subject = at.raw
	p.advance()
}

// endsName reports whether a colon makes a word the end of a name: "below:" is a rule
// with a colon too many.
func endsName(word string) bool {
	before, ok := strings.CutSuffix(word, ":")
	return ok && !isRule(before)
}

// hyphenated makes one word of a name of several: "checkout tls:" is "checkout-tls:".
func hyphenated(name string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(name), "-"), "-:", ":")
}

// no reads what follows "no".
func (p *parser) no(no token) {
	what := p.tok
	both := p.span(no, what)
	subject := "no " + what.raw
	if c := classOf(subject); c != judge.Each && c != judge.Leak || what.kind != tokenWord {
		var lines []string
		if near := nearest(what.raw, "function", "package", "goroutine"); near != "" {
			lines = p.instead(what, near)
		}
		if classOf(what.raw) != judge.Pattern || quantity(what.raw) != "" || strings.ContainsAny(what.raw, "./") { // no regexp.Compile
			lines = append(lines, p.instead(both, append(suggest(what.raw), what.raw+" absent", what.raw)...)...)
		}
		p.refuse(what, mistake{partName, `"function", "package" or "goroutine" after "no"`, ""}, lines)
	}
	p.b.Subject, p.said[partSubject] = subject, both
	p.advance()
}

// rule reads what the subject must not do, and the amount that limits it.
func (p *parser) rule() {
	at, limit := p.tok, limitWord(p.b.Subject, p.b.Rule)
	p.said[partRule] = at
	switch {
	case at.kind == tokenWord && (at.raw == "above" || at.raw == "below"):
		p.limit()
	case at.kind == tokenWord && isRule(at.raw):
		p.b.Rule = at.raw
		if !p.b.hasRule() {
			p.check()
		}
		p.advance()
		if p.b.Rule == "grows" || p.b.Rule == "steady" && (p.tok.raw == "below" || p.tok.raw == "above") {
			p.limit()
		}
	case endsName(at.raw): // checkout tls: portlist absent
		name := p.span(p.said[partSubject], at)
		p.fail(name, nameExpected, nameAdvice, hyphenated(name.raw))
	case startsWithNumber(at.raw):
		p.fail(at, rulesText(p.b.Subject), "", limit+" "+at.raw)
	case clausePart(at.raw) != 0:
		p.fail(at, rulesText(p.b.Subject), "clauses stand behind the amount")
	default:
		p.fail(at, rulesText(p.b.Subject), "")
	}
}

// limit reads "above" or "below", whichever the subject has, and the amount.
func (p *parser) limit() {
	at, word := p.tok, limitWord(p.b.Subject, p.b.Rule)
	if at.raw != word {
		expected := `"above" after "` + clipped(p.b.Subject) + `"`
		if word == "below" {
			expected = `"below": only "no function" and "no package" stand before "above"`
		}
		if startsWithNumber(at.raw) {
			word += " " + at.raw
		}
		p.fail(at, expected, "", word)
		return
	}
	p.advance()
	p.b.Limit, p.said[partLimit] = p.amount()
}

// amount reads a number and its unit, attached or as the next word. The token spans
// both.
func (p *parser) amount() (Amount, token) {
	at := p.tok
	digits, suffix := splitNumber(at.raw)
	value, err := strconv.ParseFloat(digits, 64)
	if at.kind != tokenWord || err != nil || math.IsInf(value, 0) {
		p.fail(at, "an amount, such as 20%, 0.2 cores, 64MiB, 5000", "", strings.TrimLeft(at.text, "<>=~≤≥+"))
		return Amount{}, at
	}
	p.advance()
	next := p.tok
	_, named := unit.Named(next.raw)
	if suffix == "" && next.kind == tokenWord && (named || len(unitsMeant(digits, next.raw)) > 0) {
		at, suffix = p.span(at, next), next.raw
		p.advance()
	} else if group := p.peek(); next.kind == tokenComma && next.off == at.end() && group.off == next.end() && startsWithNumber(group.raw) {
		p.fail(p.span(at, group), "a number without commas", "")
		return Amount{}, at
	}
	u, ok := unit.Named(suffix)
	if suffix != "" && !ok {
		p.fail(at, "a number with a known unit", unitsAdvice(), unitsMeant(digits, suffix)...)
	}
	return Amount{value, u.Name}, at
}

func unitsAdvice() string { return "units are " + unit.List() }

// unitsMeant returns the amounts that may be meant by a number with a suffix that is no
// unit.
func unitsMeant(digits, suffix string) (list []string) {
	suffix, work, per := strings.Cut(suffix, "/") // 2ms/request
	switch strings.ToLower(suffix) {
	case "mcpu", "mcpus", "mcore", "mcores", "millicpu", "millicpus", "millicore", "millicores": // as Kubernetes counts
		value, _ := strconv.ParseFloat(digits, 64)
		digits, suffix = strconv.FormatFloat(value/1000, 'f', -1, 64), "cores"
	}
	for _, u := range unit.Meant(strings.TrimRight(suffix, ".;:!")) {
		amount := digits + " " + u.Name
		if per {
			amount += " per " + work
		}
		list = append(list, amount)
	}
	return list
}

// splitNumber cuts "1.5GiB" into its number and the rest.
func splitNumber(word string) (digits, rest string) {
	end, point := 0, false
	for end < len(word) && (word[end] >= '0' && word[end] <= '9' || word[end] == '.' && !point) {
		point = point || word[end] == '.'
		end++
	}
	return word[:end], word[end:]
}

func startsWithNumber(word string) bool {
	word = strings.TrimPrefix(word, ".")
	return word != "" && word[0] >= '0' && word[0] <= '9'
}
