package budget

import (
	"errors"
	"fmt"
	"slices"
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
		p := parser{line: line, lex: lexer{line: strings.TrimSuffix(sentence, "\r")}}
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
			p.err.Remedy = plain(p.remedy())
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

// A parser reads one sentence. The first failure sticks and turns the rest of
// the line into its end, so that the methods need not ask after each step.
type parser struct {
	line  int
	lex   lexer
	tok   token
	b     Budget       // what has been read
	at    part         // the clause that is being read
	said  [parts]token // where the sentence says what
	err   *SyntaxError
	wrong mistake  // what err says
	read  Budget   // up to there
	ahead lexer    // behind it
	lines []string // what may be meant instead, the most likely first
}

// advance moves on to the next word.
func (p *parser) advance() { p.advanceIn(modeWord) }

func (p *parser) advanceIn(m mode) {
	if p.err != nil {
		return
	}
	p.tok = p.lex.next(m)
	if p.tok.kind == tokenBad {
		p.refuse(p.tok, mistake{part: p.at, expected: p.tok.expected, advice: p.tok.remedy}, []string{visible(p.lex.line)})
	}
}

// peek returns the word after the present one.
func (p *parser) peek() token {
	ahead := p.lex
	return ahead.next(modeWord)
}

// mostAhead is how many words are looked at ahead of a mistake: no sentence has more.
const mostAhead = 32

// rest returns the words ahead.
func rest(ahead lexer) (list []token) {
	for len(list) < mostAhead {
		t := ahead.next(modeWord)
		if t.kind == tokenEnd || t.kind == tokenBad {
			break
		}
		list = append(list, t)
	}
	return list
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
// the replacements in its place, or with a word that it may stand for, if that is right.
func (p *parser) fail(at token, expected, advice string, replacements ...string) {
	if p.err == nil {
		p.refuse(at, mistake{part: p.at, expected: expected, advice: advice}, p.instead(at, append(suggest(at.raw), replacements...)...))
	}
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
		p.wrong, p.read, p.ahead, p.lines = m, p.b, p.lex, lines
	}
	p.lex.pos = len(p.lex.line)
	p.tok = token{kind: tokenEnd, off: len(p.lex.line)}
}

// remedy says what to write instead.
func (p *parser) remedy() string {
	b, m := p.read, p.wrong
	if b.Subject == "" {
		b = b.usual(partSubject)
	}
	for ahead := rest(p.ahead); b.Limit == (Amount{}) && len(ahead) > 0; ahead = ahead[1:] { // an example keeps the amount and what follows
		again := parser{lex: lexer{line: p.lex.line, pos: ahead[0].end()}, tok: ahead[0], b: b}
		if again.b.Limit, _ = again.amount(); again.err == nil {
			again.clauses()
			b = again.b
		}
	}
	if b.Limit == (Amount{}) {
		b = b.usual(partLimit)
	}
	if meant, ok := p.meaning(); ok {
		m.fix, m.meant = &meant, true
	}
	return m.remedy(b)
}

// mostTries is how many sentences are tried. Those with few other words come first: "All
// functions under 20 percent" is right with five.
const mostTries = 64

// meaning returns what is meant by a wrong sentence: the first that is right of those with
// other words in the place of what is wrong.
func (p *parser) meaning() (Budget, bool) {
	lines := p.lines                     // more are found on the way
	if len(p.lex.line) > 2*longestLine { // too long to be proposed
		return Budget{}, false
	}
	for tried := range mostTries {
		if tried == len(lines) {
			break
		}
		again := parser{lex: lexer{line: lines[tried]}}
		again.advance()
		if again.budget(); again.err == nil {
			return again.b, true
		}
		if b, ok := again.wrong.proposal(again.read); ok {
			return b, true
		}
		for _, line := range again.lines {
			if !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return Budget{}, false
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
