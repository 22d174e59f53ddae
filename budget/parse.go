package budget

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// mostErrors bounds what Parse says about a text that is not about budgets at
// all: nobody reads past a screenful.
const mostErrors = 20

// Parse reads budgets, one a line; the package documentation is the language's
// reference. Empty lines and comments, from "#" at the beginning of a line or
// after white space, are skipped.
//
// Every wrong line is reported. [errors.As] finds the first as a
// [*SyntaxError]. The set is nil when there is an error, and only then: a text
// without a budget is an empty set, which a guard refuses, as it would take nil
// for the default budgets.
func Parse(text string) (Set, error) {
	var (
		set   = Set{}
		errs  []error
		count int
		first = map[string]int{} // the line that a name is from
		line  int
	)
	report := func(err *SyntaxError) {
		if count++; count <= mostErrors {
			errs = append(errs, err)
		}
	}
	for sentence := range strings.SplitSeq(text, "\n") {
		line++
		p := parser{line: line, lex: lexer{line: strings.TrimSuffix(sentence, "\r")}}
		p.advance()
		if p.err == nil && p.tok.kind == tokenEnd {
			continue
		}
		p.longName()
		b := p.budget()
		if p.err == nil {
			name := b.identity()
			if earlier, taken := first[name]; taken {
				p.fail(p.identity(b), "a name of its own for each budget",
					fmt.Sprintf("line %d has this one already: rename one, or remove it", earlier))
			}
			first[name] = line
		}
		if p.err != nil {
			report(p.err)
			continue
		}
		set = append(set, b)
	}
	if count > mostErrors {
		errs = append(errs, fmt.Errorf("parse budget: %d more lines are wrong", count-mostErrors))
	}
	if len(errs) == 1 {
		return nil, errs[0]
	}
	if len(errs) > 1 {
		return nil, errors.Join(errs...)
	}
	return set, nil
}

// identity returns what sets the budget apart from the others of its set.
func (b Budget) identity() string {
	if b.Name != "" {
		return b.Name
	}
	return b.String()
}

// identity returns where the sentence says what sets it apart: the name, or
// all of it.
func (p *parser) identity(b Budget) token {
	first := p.said[partName]
	if b.Name == "" {
		first.raw = p.lex.line[first.off:p.lex.last]
	}
	return first
}

// A part is a piece of a sentence, and of the Budget that it becomes, so that a
// mistake in the value can be shown in the text.
type part int

const (
	partName part = iota
	partSubject
	partRule
	partLimit
	partMeasure
	partPer
	partKind
	partExcept
	partIn
	partWhere
	partWhen
	partFor
	parts // how many there are
)

// A parser reads one sentence. The first failure sticks and turns the rest of
// the line into its end, so that the methods need not ask after each step.
type parser struct {
	line int
	lex  lexer
	tok  token
	said [parts]token // where the sentence says what
	err  *SyntaxError

	proposal bool // the line is one that a message may propose
}

// advance moves on to the next word.
func (p *parser) advance() { p.advanceIn(modeWord) }

func (p *parser) advanceIn(m mode) {
	if p.err != nil {
		return
	}
	p.tok = p.lex.next(m)
	if p.tok.kind == tokenBad {
		p.fail(p.tok, p.tok.expected, p.tok.remedy)
	}
}

// peek returns the word after the present one.
func (p *parser) peek() token { return p.peekIn(modeWord) }

func (p *parser) peekIn(m mode) token {
	ahead := p.lex
	return ahead.next(m)
}

// fail reports that at is not what was expected.
func (p *parser) fail(at token, expected, remedy string) {
	if p.err == nil {
		p.err = &SyntaxError{
			Line:     p.line,
			Column:   utf8.RuneCountInString(p.lex.line[:at.off]) + 1,
			Text:     p.lex.line,
			Word:     at.raw,
			Expected: plain(expected),
			Remedy:   plain(remedy),
		}
	}
	p.lex.pos = len(p.lex.line)
	p.tok = token{kind: tokenEnd, off: len(p.lex.line)}
}

// span returns the text from the beginning of one token to the end of another.
func (p *parser) span(from, to token) token {
	return token{kind: tokenWord, off: from.off, raw: p.lex.line[from.off:to.end()]}
}

// budget reads the sentence:
//
//	[name ":"] subject rule [amount [measure] ["per" unit] ["of" kind]] {clause}
func (p *parser) budget() Budget {
	var b Budget
	p.quotes()
	p.name(&b)
	p.subject(&b)
	p.rule(&b)
	p.clauses(&b)
	if p.err != nil {
		return Budget{}
	}
	// What the words mean together is checked on the value, by the code behind
	// Validate, so that both refuse the same.
	stated := stated{measure: p.said[partMeasure].raw != "", kind: p.said[partKind].raw != ""}
	b.check(stated, func(m mistake) {
		at := p.said[m.part]
		if at.raw == "" { // the mistake is that it was not said
			at = token{kind: tokenEnd, off: p.lex.last}
		}
		p.fail(at, m.expected, m.remedy)
	})
	return b
}

// quotes refuses a sentence in quotes, which is what a copy from Go or a shell
// looks like.
func (p *parser) quotes() {
	const remedy = "leave out the quotes: a line holds the bare sentence"
	if p.tok.kind == tokenQuoted && strings.ContainsFunc(p.tok.text, isSpace) {
		p.fail(p.tok, "a sentence without quotes", remedy)
		return
	}
	for _, quote := range []string{"'", "`", "“", "‘"} {
		if strings.HasPrefix(p.tok.raw, quote) {
			p.fail(p.tok, "a sentence without quotes", remedy)
			return
		}
	}
}

// startsSentence reports whether the present word begins another budget.
func (p *parser) startsSentence() bool {
	next := p.peek()
	switch {
	case p.tok.kind == tokenSemicolon:
		return true
	case p.tok.kind != tokenWord && p.tok.kind != tokenRegexp:
		return false
	case p.tok.raw == "no":
		return next.raw == "function" || next.raw == "package" || next.raw == "goroutine"
	case isKeyword(p.tok.raw):
		return false
	}
	return next.kind == tokenWord && isRule(next.raw)
}

// sentenceFollows reports whether another budget begins behind the present word.
func (p *parser) sentenceFollows() bool {
	next := *p
	next.advance()
	return next.err == nil && (next.startsSentence() || next.tok.kind == tokenWord && strings.HasSuffix(next.tok.raw, ":"))
}
