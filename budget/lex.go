package budget

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A tokenKind tells tokens apart.
type tokenKind int

const (
	tokenEnd    tokenKind = iota // the end of the line, or a comment
	tokenWord                    // a keyword, a number, a pattern: anything without white space, or /.../
	tokenQuoted                  // "..."
	tokenSign                    // a comma, or the "=" of a label
	tokenBad                     // no token: the line is broken here
)

// A token is one word of a sentence. The end of a line is a token too, so that
// it has a place an error can point at.
type token struct {
	kind tokenKind
	off  int    // byte offset in the line
	raw  string // as it is written
	text string // what it means: unquoted; of a tokenBad, what was expected
}

// isPattern reports whether the token can be a pattern.
func (t token) isPattern() bool {
	return t.kind == tokenWord || t.kind == tokenQuoted
}

func (t token) end() int { return t.off + len(t.raw) }

// A mode says what the parser expects next, because a label's value may look
// like the beginning of a regular expression.
type mode int

const (
	modeWord  mode = iota // words, regular expressions, names with brackets
	modeKey               // a label's key: "=" ends it
	modeValue             // a label's value: only white space and "," end it
)

// A lexer cuts a line into tokens. It is a value: a copy looks ahead.
type lexer struct {
	line string
	pos  int // where the next token is looked for
	last int // where the last one ended
}

// next returns the next token, or tokenEnd for ever.
func (l *lexer) next(m mode) token {
	fresh := l.pos == 0
	for l.pos < len(l.line) {
		r, size := utf8.DecodeRuneInString(l.line[l.pos:])
		if !unicode.IsSpace(r) {
			break
		}
		fresh = true
		l.pos += size
	}
	t := l.scan(m, fresh)
	// What is in quotes is data, and escapes show.
	if at := strings.IndexFunc(t.raw, isInvisible); at >= 0 && t.kind != tokenQuoted && t.kind != tokenBad {
		_, size := utf8.DecodeRuneInString(t.raw[at:])
		t = token{kind: tokenBad, off: t.off + at, raw: t.raw[at : at+size], text: "characters that show"}
	}
	l.pos = t.end()
	if t.kind == tokenEnd {
		l.pos = len(l.line)
	}
	l.last = t.end()
	return t
}

func (l *lexer) scan(m mode, fresh bool) token {
	rest := l.line[l.pos:]
	if rest == "" || fresh && rest[0] == '#' {
		return token{kind: tokenEnd, off: l.last}
	}
	switch {
	case rest[0] == ',' || rest[0] == '=' && m == modeKey:
		return l.token(tokenSign, 1, "")
	case rest[0] == '"':
		return l.quoted(rest)
	case rest[0] == '/' && m == modeWord:
		return l.regexp(rest)
	}
	length := wordLength(rest, m)
	return l.token(tokenWord, length, rest[:length])
}

func (l *lexer) token(kind tokenKind, length int, text string) token {
	return token{kind: kind, off: l.pos, raw: l.line[l.pos : l.pos+length], text: text}
}

// quoted scans a Go string in double quotes.
func (l *lexer) quoted(rest string) token {
	raw, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return l.token(tokenBad, len(strings.TrimRightFunc(rest, unicode.IsSpace)), "a string as Go writes it, with both quotes")
	}
	text, _ := strconv.Unquote(raw)
	return l.token(tokenQuoted, len(raw), text)
}

// regexp scans a regular expression between slashes, without looking into it. A backslash
// hides what follows it.
func (l *lexer) regexp(rest string) token {
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case '/':
			return l.token(tokenWord, i+1, "")
		}
	}
	return l.token(tokenBad, wordLength(rest, modeValue), `a regular expression that ends with "/", or a path without a slash in front`)
}

// wordLength returns the length of the word that text begins with, at least that of its first
// character. Type arguments hold spaces: main.Map[go.shape.struct { A int }]. So do labels of
// a counter: requests_total{code="200", method="GET"}.
func wordLength(text string, m mode) int {
	depth, quoted := 0, 0 // of brackets, and the end of a string within them
	for i, r := range text {
		switch {
		case i < quoted:
		case i > 0 && depth == 0 && (unicode.IsSpace(r) || r == ',' || r == '=' && m == modeKey):
			return i
		case m != modeWord:
		case r == '"' && depth > 0:
			label, _ := strconv.QuotedPrefix(text[i:]) // "" where the string does not end
			quoted = i + len(label)
		case r == '[' || r == '{':
			depth++
		case (r == ']' || r == '}') && depth > 0:
			depth--
		}
	}
	return len(text)
}

// isWord reports whether text stands for itself as one word of a sentence.
func isWord(text string) bool {
	l := lexer{line: text}
	t := l.next(modeWord)
	return t.isPattern() && t.raw == text && !strings.Contains(text, "\n")
}

// isInvisible reports whether a character does not show, such as the zero width space that
// comes with text from web pages. A pattern with one would look right and match nothing. The
// few that Unicode calls letters, such as U+3164, may stand in Go names, and are accepted.
func isInvisible(r rune) bool { return !unicode.IsPrint(r) }

// splitNumber cuts "1.5GiB" into its number and the rest.
func splitNumber(word string) (digits, rest string) {
	rest = strings.TrimLeft(word, "0123456789.")
	return strings.TrimSuffix(word, rest), rest
}

func startsWithNumber(word string) bool {
	word = strings.TrimPrefix(word, ".")
	return word != "" && word[0] >= '0' && word[0] <= '9'
}

// labelOperators are what queries elsewhere have in the place of "=". In quotes they
// may stand in a key.
const labelOperators = "!<>~"

// hasWildcard reports whether a label's value looks like a pattern, which it is not.
func hasWildcard(value string) bool {
	return strings.Contains(value, "*") || strings.Contains(value, "...")
}
