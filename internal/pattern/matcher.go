package pattern

import (
	"cmp"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxNeeded bounds how many literals stand in for one expression. Beyond a
// handful, looking for all of them costs as much as the expression itself.
const maxNeeded = 16

// maxClauses bounds how many parts of one expression are looked for.
const maxClauses = 6

// A matcher is a regular expression with a quick way to say no. An expression
// takes about a microsecond for a name, which 1,000 of them and 5,000 names make
// five seconds; looking for a literal takes some ten nanoseconds.
type matcher struct {
	re *regexp.Regexp
	// A name that matches contains one literal at least of each clause. Without
	// clauses nothing is known.
	needed [][]string
	fold   bool // needed is in lower case and is compared without case
}

func newMatcher(re *regexp.Regexp) *matcher {
	m := &matcher{re: re}
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil { // impossible: re compiled
		return m
	}
	m.fold = folds(tree)
	for _, clause := range needed(tree) {
		if m.fold {
			for i := range clause {
				clause[i] = strings.ToLower(clause[i])
			}
			// Case folding beyond ASCII has exceptions that lower case does not follow.
			if !isASCII(strings.Join(clause, "")) {
				continue
			}
		}
		m.needed = append(m.needed, clause)
	}
	return m
}

func (m *matcher) match(s *symbol) bool {
	return m.possible(s) && m.re.MatchString(s.canonical())
}

// effort is what the expression takes for a name of so many bytes. Long ones have
// more states to be in, and are charged for each 64 bytes of theirs.
func (m *matcher) effort(name int) Effort { return Effort(name * (1 + len(m.re.String())/64)) }

func (m *matcher) possible(s *symbol) bool {
	if m.needed == nil {
		return true
	}
	name := s.canonical()
	if m.fold {
		folded, ok := s.lower()
		if !ok { // the Kelvin sign matches (?i)k
			return true
		}
		name = folded
	}
	for _, clause := range m.needed {
		if !containsAny(name, clause) {
			return false
		}
	}
	return true
}

func containsAny(name string, literals []string) bool {
	for _, literal := range literals {
		if strings.Contains(name, literal) {
			return true
		}
	}
	return false
}

// among returns the matcher with the clauses first that are rarest among all:
// of expressions for the methods of one package, few share the method.
func (m *matcher) among(all map[string]int) *matcher {
	frequent := func(clause []string) int {
		n := 0
		for _, literal := range clause {
			n += all[literal]
		}
		return n
	}
	sorted := *m
	sorted.needed = slices.Clone(m.needed)
	slices.SortStableFunc(sorted.needed, func(a, b []string) int {
		return cmp.Or(cmp.Compare(frequent(a), frequent(b)), cmp.Compare(shortest(b), shortest(a)))
	})
	return &sorted
}

// needed returns lists of literals: every match contains one at least of each.
func needed(tree *syntax.Regexp) [][]string {
	switch tree.Op {
	case syntax.OpLiteral:
		literal := string(tree.Rune)
		if strings.ContainsRune(literal, utf8.RuneError) {
			return nil // matches any byte that is not UTF-8
		}
		return [][]string{{literal}}
	case syntax.OpCapture, syntax.OpPlus:
		return needed(tree.Sub[0])
	case syntax.OpRepeat:
		if tree.Min > 0 {
			return needed(tree.Sub[0])
		}
	case syntax.OpConcat:
		var clauses [][]string
		for _, sub := range tree.Sub {
			clauses = append(clauses, needed(sub)...)
		}
		// The longest say most.
		slices.SortStableFunc(clauses, func(a, b []string) int { return cmp.Compare(shortest(b), shortest(a)) })
		return clauses[:min(len(clauses), maxClauses)]
	case syntax.OpAlternate:
		var all []string
		for _, sub := range tree.Sub {
			clauses := needed(sub)
			if len(clauses) == 0 || len(all)+len(clauses[0]) > maxNeeded {
				return nil
			}
			all = append(all, clauses[0]...)
		}
		return [][]string{all}
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
