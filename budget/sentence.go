package budget

import (
	"math"
	"strconv"
	"strings"

	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/unit"
)

// budget reads a sentence. What the words mean together is checked on the value, by the code
// behind Validate, so that both refuse the same.
func (p *parser) budget() {
	p.name()
	p.subject()
	p.rule()
	p.clauses()
	p.check()
	if p.b.Kind == KindCPU {
		p.b.Kind = ""
	}
}

// name reads "checkout-tls:" if it is there.
func (p *parser) name() {
	p.places[partName] = p.tok // without a name, the sentence's beginning stands for it
	name, ok := strings.CutSuffix(p.tok.raw, ":")
	if !ok {
		return
	}
	if m := nameMistake(name); m.expected != "" {
		p.fail(p.tok, m.expected, m.advice)
	}
	p.b.Name = name
	p.advance()
}

// subject reads what the budget is about.
func (p *parser) subject() {
	at, next := p.tok, p.peek()
	p.places[partSubject] = at
	if at.raw == "no" {
		p.advance()
		what := p.tok
		p.b.Subject, p.places[partSubject] = "no "+what.raw, p.span(at, what)
		if c := classOf(p.b.Subject); c != judge.Each && c != judge.Leak {
			p.fail(what, `"function", "package" or "goroutine" after "no"`, `a name is forbidden as in "portlist absent"`)
		}
		p.advance()
		return
	}
	p.b.Subject = at.raw
	m := p.b.subjectMistake()
	if !at.isPattern() || isKeyword(at.raw) || classOf(at.raw) == judge.Pattern && !isRule(next.raw) && meaning(at.raw, subjectExpected) != "" { // "all functions"
		m = mistake{partSubject, subjectExpected, ""}
	}
	if m.expected != "" {
		p.fail(at, m.expected, m.advice)
	}
	p.advance()
}

// rule reads what the subject must not do, and the amount that limits it.
func (p *parser) rule() {
	at := p.tok
	p.places[partRule] = at
	switch {
	case at.raw == "above" || at.raw == "below":
		p.limit()
	case isRule(at.raw):
		p.b.Rule = Rule(at.raw)
		if !p.b.hasRule() {
			p.check()
		}
		p.advance()
		if p.b.Rule == RuleGrows || p.b.Rule == RuleSteady && (p.tok.raw == "below" || p.tok.raw == "above") {
			p.limit()
		}
	default:
		p.fail(at, rulesText(p.b.Subject), "")
	}
}

// limit reads "above" or "below", whichever the subject has, and the amount.
func (p *parser) limit() {
	at, word := p.tok, limitWord(p.b.Subject, p.b.Rule)
	if at.raw != word {
		p.fail(at, `"`+word+`" after "`+clipped(p.b.Subject)+`"`, "")
		return
	}
	p.advance()
	p.b.Limit, p.places[partLimit] = p.amount()
}

// amount reads a number and its unit, attached or as the next word. The token spans
// both.
func (p *parser) amount() (Amount, token) {
	at := p.tok
	digits, suffix := splitNumber(at.raw)
	value, err := strconv.ParseFloat(digits, 64)
	if err != nil || math.IsInf(value, 0) {
		p.fail(at, "an amount, such as 20%, 0.2 cores, 64MiB, 5000", "")
		return Amount{}, at
	}
	p.advance()
	if suffix == "" {
		next := p.tok
		if _, named := unit.Named(next.raw); named || meaning(next.raw, unitExpected) != "" {
			at, suffix = p.span(at, next), next.raw
			p.advance()
		}
		group := next
		if next.raw == "," {
			group = p.peek()
		}
		if startsWithNumber(group.raw) { // "1 000", or "2,500", which may be two and a half
			p.fail(p.span(at, group), "a number in one piece", "")
		}
	}
	u, ok := unit.Named(suffix)
	if suffix != "" && !ok {
		p.fail(at, unitExpected, unitsAdvice())
	}
	return Amount{value, u.Name}, at
}

func unitsAdvice() string { return "units are " + unit.List() }

// splitNumber cuts "1.5GiB" into its number and the rest.
func splitNumber(word string) (digits, rest string) {
	rest = strings.TrimLeft(word, "0123456789.")
	return strings.TrimSuffix(word, rest), rest
}

func startsWithNumber(word string) bool {
	word = strings.TrimPrefix(word, ".")
	return word != "" && word[0] >= '0' && word[0] <= '9'
}
