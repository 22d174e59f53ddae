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
	for sentence := range strings.SplitSeq(text, "\n") {
		line++
		p := parser{line: line, lex: lexer{line: strings.TrimSuffix(sentence, "\r")}, silent: count >= mostErrors}
		p.advance()
		if p.err == nil && p.tok.kind == tokenEnd {
			continue
		}
		p.budget()
		if p.err == nil {
			name := p.b.identity()
			if earlier, taken := first[name]; taken {
				p.fail(p.identity(), "a name of its own for each budget",
					fmt.Sprintf("line %d has this one already: rename one, or remove it", earlier))
			}
			first[name] = line
		}
		if p.err == nil {
			set = append(set, p.b)
		} else if count++; count <= mostErrors {
			errs = append(errs, p.err)
		}
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
	line   int
	lex    lexer
	tok    token
	b      Budget       // what has been read
	said   [parts]token // where the sentence says what
	err    *SyntaxError
	silent bool    // nobody reads the remedy
	fixes  int     // how many words have been replaced so far, to see what is meant
	meant  *Budget // what err proposes, if that is what is meant
}

// mostFixes is how many words of a sentence may be wrong for a proposal: "All functions
// under 20 percent" has four.
const mostFixes = 4

// advance moves on to the next word.
func (p *parser) advance() { p.advanceIn(modeWord) }

func (p *parser) advanceIn(m mode) {
	if p.err != nil {
		return
	}
	p.tok = p.lex.next(m)
	if p.tok.kind == tokenBad {
		m := mistake{expected: p.tok.expected, advice: p.tok.remedy}
		if bare := visible(p.lex.line); bare != p.lex.line && !p.silent {
			m.like, _ = p.meaning([]string{bare})
		}
		p.refuse(p.tok, m, nil)
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

// identity returns where the sentence says what sets it apart: the name, or
// all of it.
func (p *parser) identity() token {
	first := p.said[partName]
	if p.b.Name == "" {
		first.raw = p.lex.line[first.off:p.lex.last]
	}
	return first
}

// fail reports that at is not what was expected. The remedy is the sentence with one of
// the replacements in its place, if that is right, or the advice and an example.
func (p *parser) fail(at token, expected, advice string, replacements ...string) {
	p.refuse(at, mistake{expected: expected, advice: advice}, p.instead(at, replacements...))
}

// instead is the line with each of the replacements in the place of a token.
func (p *parser) instead(at token, replacements ...string) []string {
	var lines []string
	for _, r := range replacements {
		lines = append(lines, p.lex.line[:at.off]+r+p.lex.line[at.end():])
	}
	return lines
}

// refuse reports a mistake at a token. lines are what may be meant, the most likely first.
func (p *parser) refuse(at token, m mistake, lines []string) {
	if p.err == nil {
		p.err = &SyntaxError{
			Line:     p.line,
			Column:   utf8.RuneCountInString(p.lex.line[:at.off]) + 1,
			Text:     p.lex.line,
			Word:     at.raw,
			Expected: plain(m.expected),
		}
		if !p.silent {
			p.err.Remedy = plain(p.remedy(m, lines))
		}
	}
	p.lex.pos = len(p.lex.line)
	p.tok = token{kind: tokenEnd, off: len(p.lex.line)}
}

func (p *parser) remedy(m mistake, lines []string) string {
	if b, ok := p.meaning(lines); ok {
		m.meant = append([]Budget{b}, m.meant...)
	}
	if b, ok := m.proposal(); ok {
		p.meant = &b
	}
	return m.remedy(p.b)
}

// meaning returns the budget of the first line that is right, or of the first whose own
// message proposes one.
func (p *parser) meaning(lines []string) (Budget, bool) {
	var proposed *Budget
	for _, line := range lines {
		again := parser{lex: lexer{line: line}, fixes: p.fixes + 1}
		// What is too long to be proposed is not looked into.
		again.silent = again.fixes == mostFixes || len(line) > 2*longestLine
		again.advance()
		if again.budget(); again.err == nil {
			return again.b, true
		}
		if proposed == nil {
			proposed = again.meant
		}
	}
	if proposed == nil {
		return Budget{}, false
	}
	return *proposed, true
}

// report shows a mistake in the budget where the sentence makes it.
func (p *parser) report(m mistake) {
	if p.err != nil {
		return
	}
	at := p.said[m.part]
	if at.raw == "" { // the mistake is that it was not said
		at = token{kind: tokenEnd, off: p.lex.last}
	}
	p.refuse(at, m, nil)
}
