package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// An expression is a regular expression with a fast check that rules most names out. A match
// takes microseconds for a name, the search for a literal some ten nanoseconds.
type expression struct {
	*regexp.Regexp
	literal string // is in every name that matches
}

func (e *expression) match(name string) bool {
	return strings.Contains(name, e.literal) && e.MatchString(name)
}

// required is the longest literal that every match has.
func required(tree *syntax.Regexp) (literal string) {
	switch tree.Op {
	case syntax.OpLiteral:
		// An expression that ignores case, or matches invalid UTF-8, is no literal.
		if text := string(tree.Rune); tree.Flags&syntax.FoldCase == 0 && !strings.ContainsRune(text, utf8.RuneError) {
			return text
		}
	case syntax.OpConcat, syntax.OpCapture, syntax.OpPlus:
		for _, sub := range tree.Sub {
			if text := required(sub); len(text) > len(literal) {
				literal = text
			}
		}
	}
	return literal
}

// parseRegexp reads /.../, in which \/ stands for a slash.
func parseRegexp(text string) (*expression, error) {
	var expr strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text):
			if text[i+1] != '/' {
				expr.WriteByte('\\')
			}
			i++
			expr.WriteByte(text[i])
		case text[i] == '/' && i+1 < len(text):
			return nil, fmt.Errorf(`found %q after the / that ends the regular expression; write \/ for a slash inside it`, text[i+1:])
		case text[i] == '/' && expr.Len() == 0:
			return nil, errors.New("the regular expression is empty; write what to look for between the slashes")
		case text[i] == '/':
			tree, err := syntax.Parse(expr.String(), syntax.Perl)
			if err != nil {
				return nil, err
			}
			return &expression{regexp.MustCompile(expr.String()), required(tree)}, nil
		default:
			expr.WriteByte(text[i])
		}
	}
	return nil, errors.New("a / at the start opens a regular expression, and no / closes it; write /regexp/, or a package path without the first slash")
}
