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

// name reads "checkout-tls:" if it is there. Of two words it can only say how a name is
// written.
func (p *parser) name() {
	p.said[partName] = p.tok // without a name, the sentence's beginning stands for it
	for _, at := range []token{p.tok, p.peek()} {
		if at.kind != tokenWord {
			return
		}
		before, ends := strings.CutSuffix(at.raw, ":")
		switch {
		case isRule(before): // "below:" has a colon too many
			return
		case !ends:
			continue
		}
		name := p.span(p.tok, at)
		p.b.Name, p.said[partName] = strings.TrimSuffix(name.raw, ":"), name
		if !unit.IsName(p.b.Name) {
			p.fail(name, nameExpected, nameAdvice, strings.Trim(strings.Map(func(r rune) rune {
				if unit.IsName("a" + string(r)) {
					return r
				}
				return '-'
			}, p.b.Name), "-")+":")
		}
		p.advance()
		return
	}
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
	if !at.isPattern() || isKeyword(at.raw) || isAmount(at.raw) || classOf(at.raw) == judge.Pattern && !isRule(next.raw) && len(suggest(at.raw)) > 0 {
		if quantity(at.raw) != "" {
			p.b.Subject = at.raw // for the example
		}
		p.fail(at, subjectExpected, "")
		return
	}
	p.b.Subject = at.raw
	p.advance()
}

// no reads what follows "no".
func (p *parser) no(no token) {
	what := p.tok
	both := p.span(no, what)
	subject := "no " + what.raw
	if c := classOf(subject); c != judge.Each && c != judge.Leak || what.kind != tokenWord {
		var lines []string
		if classOf(what.raw) != judge.Pattern || quantity(what.raw) != "" || strings.ContainsAny(what.raw, "./") { // no regexp.Compile
			lines = p.instead(both, append(suggest(what.raw), what.raw+" absent", what.raw)...)
		}
		p.refuse(what, mistake{partName, `"function", "package" or "goroutine" after "no"`, ""}, lines)
	}
	p.b.Subject, p.said[partSubject] = subject, both
	p.advance()
}

// rule reads what the subject must not do, and the amount that limits it.
func (p *parser) rule() {
	at := p.tok
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
	default:
		advice := ""
		if clausePart(at.raw) != 0 {
			advice = "clauses stand behind the amount"
		}
		lines := p.instead(at, limitWord(p.b.Subject, "")+" "+at.raw)
		if p.b.Name == "" && strings.Contains(p.b.Subject, "-") && strings.ContainsAny(at.raw, "/.") { // a name without its colon
			lines = append(lines, p.instead(p.said[partSubject], p.b.Subject+":")...)
		}
		p.refuse(at, mistake{p.at, rulesText(p.b.Subject), advice}, lines)
	}
}

// limit reads "above" or "below", whichever the subject has, and the amount.
func (p *parser) limit() {
	at, word := p.tok, limitWord(p.b.Subject, p.b.Rule)
	if at.raw != word {
		p.fail(at, `"`+word+`" after "`+clipped(p.b.Subject)+`"`, "", word, word+" "+at.raw)
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
	group := next // 1 000 or 1,000
	if next.kind == tokenComma && next.off == at.end() {
		group = p.peek()
	}
	_, named := unit.Named(next.raw)
	_, attached := unit.Named(suffix)
	switch thousands, _ := splitNumber(group.raw); {
	case suffix == "" && next.kind == tokenWord && (named || len(unitsMeant(digits, next.raw)) > 0):
		at, suffix = p.span(at, next), next.raw
		p.advance()
	case attached && named: // 200m cores
		p.fail(p.span(at, next), "a number with one unit", "", unitsMeant(digits, suffix+next.raw)...)
		return Amount{}, at
	case suffix == "" && startsWithNumber(group.raw):
		var whole []string
		if len(thousands) == 3 && isFirstGroup(digits) && group == next { // "2,500" may be two and a half
			whole = []string{at.raw + group.raw}
		}
		p.fail(p.span(at, group), "a number in one piece", "", whole...)
		return Amount{}, at
	}
	u, ok := unit.Named(suffix)
	if suffix != "" && !ok {
		p.fail(at, "a number with a known unit", unitsAdvice(), unitsMeant(digits, suffix)...)
	}
	return Amount{value, u.Name}, at
}

// isAmount knows 20% and 5ms, which are no names of packages.
func isAmount(word string) bool {
	digits, suffix := splitNumber(word)
	_, named := unit.Named(suffix)
	return digits != "" && named
}

// isFirstGroup knows the digits before the first space of 1 000 000.
func isFirstGroup(digits string) bool {
	return len(digits) <= 3 && digits[0] != '0' && !strings.ContainsAny(digits, ".eE_xX")
}

func unitsAdvice() string { return "units are " + unit.List() }

// unitsMeant returns the amounts that may be meant by a number with a suffix that is no
// unit.
func unitsMeant(digits, suffix string) (list []string) {
	suffix, work, per := strings.Cut(suffix, "/") // 2ms/request
	lower := strings.ToLower(suffix)
	if strings.HasPrefix(lower, "mcpu") || strings.HasPrefix(lower, "mcore") || strings.HasPrefix(lower, "millic") { // as Kubernetes counts
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
