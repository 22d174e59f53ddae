package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// An expression is a regular expression with a quick way to say no: it takes
// microseconds for a name, and looking for a literal some ten nanoseconds.
type expression struct {
	*regexp.Regexp
	literals []string // one of them is in every name that matches; nil if nothing is known
}

// maxLiterals bounds how many literals stand in for one expression.
const maxLiterals = 16

func (e *expression) match(name string) bool {
	contains := func(literal string) bool { return strings.Contains(name, literal) }
	return (e.literals == nil || slices.ContainsFunc(e.literals, contains)) && e.MatchString(name)
}

// required returns literals of which every match has one, the longest that there are.
func required(tree *syntax.Regexp) (best []string) {
	switch tree.Op {
	case syntax.OpLiteral:
		// What matches without case, or any byte that is not UTF-8, is no literal.
		if text := string(tree.Rune); tree.Flags&syntax.FoldCase == 0 && !strings.ContainsRune(text, utf8.RuneError) {
			return []string{text}
		}
	case syntax.OpConcat, syntax.OpCapture, syntax.OpPlus:
		for _, sub := range tree.Sub {
			if literals := required(sub); shortest(literals) > shortest(best) {
				best = literals
			}
		}
	case syntax.OpAlternate:
		for _, sub := range tree.Sub {
			literals := required(sub)
			if literals == nil || len(best)+len(literals) > maxLiterals {
				return nil
			}
			best = append(best, literals...)
		}
	}
	return best
}

// shortest is the length of the shortest literal, which says the least.
func shortest(literals []string) int {
	n := 0
	for i, literal := range literals {
		if i == 0 || len(literal) < n {
			n = len(literal)
		}
	}
	return n
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
			return &expression{regexp.MustCompile(expr.String()), required(tree)}, asDisplayed(expr.String())
		default:
			expr.WriteByte(text[i])
		}
	}
	return nil, errors.New("a / at the start opens a regular expression, and no / closes it; write /regexp/, or a package path without the first slash")
}

// linkersDot is how the linker writes a dot in the last element of a path.
var linkersDot = regexp.MustCompile(`(?i)%2e`)

// asDisplayed refuses an expression that was made from a name as pprof shows it:
// it would never match, as names are compared without the linker's escapes and
// the directory in which a package is vendored.
func asDisplayed(expr string) error {
	if linkersDot.MatchString(expr) {
		return fmt.Errorf(`names are compared without the linker's escapes; write \. for %%2e: /%s/`, strings.ReplaceAll(linkersDot.ReplaceAllLiteralString(expr, `\.`), "/", `\/`))
	}
	if rest, ok := strings.CutPrefix(expr, "^vendor/"); ok {
		return fmt.Errorf(`names are compared without the vendor directory; write /^%s/`, strings.ReplaceAll(rest, "/", `\/`))
	}
	if _, rest, ok := strings.Cut(expr, "/vendor/"); ok {
		return fmt.Errorf(`names are compared without the vendor directory; write /^%s/`, strings.ReplaceAll(rest, "/", `\/`))
	}
	return nil
}
