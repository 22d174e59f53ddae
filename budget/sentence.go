package budget

import (
	"strings"

	"github.com/profguard/profguard/internal/judge"
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
		if m := p.b.subjectMistake(); m.expected != "" {
			p.fail(what, m.expected, m.advice)
		}
		if key := p.b.Label(); key != "" {
			p.b.Subject = "no " + labelName(key)
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
		if p.b.Rule == RuleGrows {
			p.limit()
		}
	default:
		p.fail(at, rulesText(p.b.Subject), "")
	}
}

// limit reads "above" or "below", whichever the subject has, and the amount.
func (p *parser) limit() {
	at, word := p.tok, limitWord(p.b.Subject)
	if at.raw != word {
		p.fail(at, `"`+word+`" after "`+clipped(p.b.Subject)+`"`, "")
		return
	}
	p.advance()
	p.b.Limit, p.places[partLimit] = p.amount()
}
