package budget

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// mostErrors limits the errors for a text that does not contain budgets at all. People read
// no more than a screenful.
const mostErrors = 20

// Parse reads budgets, one a line; the package documentation is the language's reference.
//
// Every wrong line is reported, twenty at most. [errors.As] finds the first as a
// [*SyntaxError]. The set is nil if and only if there is an error. A text without a budget is
// an empty set, which a guard refuses; for a guard nil would mean the default budgets.
func Parse(text string) (Set, error) {
	set, first := Set{}, map[string]int{} // by name, the line that it is from
	var errs []error
	text = strings.TrimPrefix(text, "\ufeff") // some editors leave a byte order mark
	for i, sentence := range strings.Split(text, "\n") {
		line := i + 1
		p := parser{lex: lexer{line: strings.TrimSuffix(sentence, "\r")}}
		p.advance()
		if p.err == nil && p.tok.kind == tokenEnd {
			continue
		}
		p.budget()
		if p.err == nil {
			name := p.b.identity()
			if earlier, taken := first[name]; taken {
				at := p.places[partName]
				if p.b.Name == "" {
					at = p.span(at, token{off: p.lex.last})
				}
				p.fail(at, "a name of its own for each budget", "")
				p.err.Remedy = fmt.Sprintf("line %d has this one already: rename one, or remove it", earlier)
			}
			first[name] = line
		}
		if p.err == nil {
			set = append(set, p.b)
			continue
		}
		p.err.Line = line
		if p.err.Remedy == "" {
			p.err.Remedy = plain(p.remedy())
		}
		if errs = append(errs, p.err); len(errs) == mostErrors {
			errs = append(errs, fmt.Errorf("parse budget: what follows line %d was not read", line))
			break
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return set, nil
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
