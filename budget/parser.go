package budget

import (
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/profguard/profguard/internal/unit"
)

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

// A parser reads one sentence. After the first mistake all further tokens are the end of the
// line, so that the methods need not check for an error after each step.
type parser struct {
	lex    lexer
	tok    token
	b      Budget       // what has been read
	places [parts]token // the place of each part in the sentence
	clause part         // the clause that is being read
	err    *SyntaxError
	wrong  token  // the place of the mistake
	advice string // what to do about it, unless err says it
}

func (p *parser) advance() { p.advanceIn(modeWord) }

func (p *parser) advanceIn(m mode) {
	if p.err != nil {
		return
	}
	p.tok = p.lex.next(m)
	if p.tok.kind == tokenBad {
		p.fail(p.tok, p.tok.text, "")
	}
}

// peek returns the word after the present one.
func (p *parser) peek() token {
	ahead := p.lex
	return ahead.next(modeWord)
}

// span returns the text from the beginning of one token to the end of another.
func (p *parser) span(from, to token) token {
	return token{kind: tokenWord, off: from.off, raw: p.lex.line[from.off:to.end()]}
}

// fail reports that something else than the word at a place was expected.
func (p *parser) fail(at token, expected, advice string) {
	if p.err == nil {
		p.err = &SyntaxError{
			Column:   utf8.RuneCountInString(p.lex.line[:at.off]) + 1,
			Text:     p.lex.line,
			Word:     at.raw,
			Expected: plain(expected),
		}
		p.wrong, p.advice = at, advice
	}
	p.lex.pos = len(p.lex.line)
	p.tok = token{kind: tokenEnd, off: len(p.lex.line)}
}

// check reports the first mistake in the budget that was read, at its place in the sentence.
func (p *parser) check() {
	list := p.b.mistakes()
	if p.err != nil || len(list) == 0 {
		return
	}
	m := list[0]
	at := p.places[m.part]
	if at.raw == "" { // the mistake is a part that is missing
		at = token{kind: tokenEnd, off: p.lex.last}
	}
	p.fail(at, m.expected, m.advice)
}
