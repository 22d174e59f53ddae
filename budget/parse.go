package budget

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mostErrors limits the errors for a text that does not contain budgets at all. People read
// no more than a screenful.
const mostErrors = 20

// Parse reads budgets, one a line; the package documentation is the language's
// reference. Empty lines and comments, from "#" at the beginning of a line or
// after white space, are skipped.
//
// Every wrong line is reported. [errors.As] finds the first as a [*SyntaxError]. The set is
// nil if and only if there is an error. A text without a budget is an empty set, which a guard
// refuses; for a guard nil would mean the default budgets.
func Parse(text string) (Set, error) {
	var (
		set   = Set{}
		errs  []error
		count int
		first = map[string]int{} // the line that a name is from
		line  int
	)
	text = strings.TrimPrefix(text, "\ufeff") // some editors leave a byte order mark
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

// A parser reads one sentence. After the first mistake all further tokens are the end of the
// line, so that the methods need not check for an error after each step.
type parser struct {
	line  int
	lex   lexer
	tok   token
	b     Budget       // what has been read
	at    part         // the clause that is being read
	said  [parts]token // the place of each part in the sentence
	err   *SyntaxError
	wrong mistake  // the mistake of err
	place token    // the place of the mistake
	left  int      // how much of the line is wrong or was not read, 0 if it was read to its end
	read  Budget   // the budget up to the mistake
	lines []string // right sentences that may be meant, the most likely first
}

// advance moves on to the next word.
func (p *parser) advance() { p.advanceIn(modeWord) }

func (p *parser) advanceIn(m mode) {
	if p.err != nil {
		return
	}
	p.tok = p.lex.next(m)
	if p.tok.kind == tokenBad {
		p.refuse(p.tok, mistake{p.at, p.tok.expected, p.tok.remedy}, nil)
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

// identity returns the part of the sentence that is unique in a set: the name, or else the
// whole sentence.
func (p *parser) identity() token {
	first := p.said[partName]
	if p.b.Name == "" {
		first.raw = p.lex.line[first.off:p.lex.last]
	}
	return first
}

// fail reports that something else than at was expected. The remedy is the sentence with one
// of the replacements in the place of at, if that is a right sentence.
func (p *parser) fail(at token, expected, advice string, replacements ...string) {
	p.refuse(at, mistake{p.at, expected, advice}, p.instead(at, replacements...))
}

// instead is the line with each of the replacements in the place of a token.
func (p *parser) instead(at token, replacements ...string) []string {
	var lines []string
	for _, r := range replacements {
		lines = append(lines, p.lex.line[:at.off]+r+p.lex.line[at.end():])
	}
	return lines
}

// others are similar lines: with another word in the place of a word up to the mistake, the
// last word first; with a comma at the mistake; and without the mark of a list item, quotes
// of a shell, and invisible characters.
func (p *parser) others() (lines []string) {
	if len(p.lex.line) > 2*longestLine { // too long to be proposed
		return nil
	}
	at, words := p.place, lexer{line: p.lex.line}
	for t := words.next(modeWord); t.kind != tokenEnd && t.off < at.end(); t = words.next(modeWord) {
		if t.kind == tokenComma && t.end() < len(words.line) && unicode.IsDigit(rune(words.line[t.end()])) {
			continue // 1,500 is one and a half in some countries, and a thousand times that in others
		}
		lines = append(p.instead(t, suggest(t.raw)...), lines...)
	}
	return append(lines, p.lex.line[:at.off]+", "+p.lex.line[at.off:], strings.Trim(visible(p.lex.line), " \t'`\"-*•"))
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
		p.place, p.left = at, len(p.lex.line)-at.end()
		p.wrong, p.read, p.lines = m, p.b, lines
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
	at := p.said[m.part]
	if at.raw == "" { // the mistake is a part that is missing
		at = token{kind: tokenEnd, off: p.lex.last}
	}
	p.refuse(at, m, p.b.meant(m.part))
	p.left = 0
}
