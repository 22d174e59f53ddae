package pattern

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// maxNeeded bounds how many literals stand in for one expression. Beyond a
// handful, looking for all of them costs as much as the expression itself.
const maxNeeded = 16

// A matcher is a regular expression with a quick way to say no. An expression
// takes about a microsecond for a name, which 100 of them and 50,000 names make
// five seconds; looking for a literal takes some ten nanoseconds.
type matcher struct {
	re *regexp.Regexp
	// A name without any of needed cannot match. nil: nothing is known.
	needed []string
	fold   bool // needed is in lower case and is compared without case
}

func newMatcher(re *regexp.Regexp) *matcher {
	m := &matcher{re: re}
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil { // impossible: re compiled
		return m
	}
	m.fold = folds(tree)
	for _, literal := range needed(tree) {
		if m.fold {
			literal = strings.ToLower(literal)
		}
		m.needed = append(m.needed, literal)
	}
	// Case folding beyond ASCII has exceptions that lower case does not follow.
	if m.fold && !isASCII(strings.Join(m.needed, "")) {
		m.needed = nil
	}
	return m
}

func (m *matcher) match(s *symbol) bool {
	return m.possible(s) && m.re.MatchString(s.canonical())
}

func (m *matcher) possible(s *symbol) bool {
	if m.needed == nil {
		return true
	}
	name := s.canonical()
	if m.fold {
		if !isASCII(name) { // the Kelvin sign matches (?i)k
			return true
		}
		name = s.lower()
	}
	for _, literal := range m.needed {
		if strings.Contains(name, literal) {
			return true
		}
	}
	return false
}

// needed returns literals of which every match contains at least one, or nil.
func needed(tree *syntax.Regexp) []string {
	switch tree.Op {
	case syntax.OpLiteral:
		literal := string(tree.Rune)
		if strings.ContainsRune(literal, utf8.RuneError) {
			return nil // matches any byte that is not UTF-8
		}
		return []string{literal}
	case syntax.OpCapture, syntax.OpPlus:
		return needed(tree.Sub[0])
	case syntax.OpRepeat:
		if tree.Min > 0 {
			return needed(tree.Sub[0])
		}
	case syntax.OpConcat:
		var best []string
		for _, sub := range tree.Sub {
			if n := needed(sub); shortest(n) > shortest(best) {
				best = n
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range tree.Sub {
			n := needed(sub)
			if n == nil || len(all)+len(n) > maxNeeded {
				return nil
			}
			all = append(all, n...)
		}
		return all
	}
	return nil
}

// shortest is the length of the shortest literal, the least selective one.
func shortest(literals []string) int {
	n := 0
	for i, literal := range literals {
		if i == 0 || len(literal) < n {
			n = len(literal)
		}
	}
	return n
}

// folds reports whether any literal is compared without case.
func folds(tree *syntax.Regexp) bool {
	if tree.Op == syntax.OpLiteral && tree.Flags&syntax.FoldCase != 0 {
		return true
	}
	for _, sub := range tree.Sub {
		if folds(sub) {
			return true
		}
	}
	return false
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
