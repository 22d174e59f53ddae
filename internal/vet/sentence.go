package vet

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/pattern"
)

// A sentence is a budget in the source.
type sentence struct {
	budget.Budget
	text
}

// A call is one of budget.Must or budget.Parse.
type call struct {
	pkg       *Package
	node      *ast.CallExpr
	must      bool
	sentences []sentence
	wrong     []Finding
}

// findCalls finds the calls of Must and Parse.
func (p *Package) findCalls() (list []*call) {
	for _, f := range p.Files {
		for _, d := range f.Decls {
			expected := p.test(d.Pos()) && recovers(d)
			ast.Inspect(d, func(n ast.Node) bool {
				if lit, ok := n.(*ast.FuncLit); ok && p.test(lit.Pos()) && lit.Type.Params.NumFields() == 0 {
					return false // such as one that has to panic
				}
				if node, ok := n.(*ast.CallExpr); ok && !expected {
					if c := p.call(node); c != nil {
						list = append(list, c)
					}
				}
				return true
			})
		}
	}
	return list
}

// recovers reports whether a declaration may recover from a panic: something in it is deferred.
func recovers(d ast.Decl) (found bool) {
	ast.Inspect(d, func(n ast.Node) bool {
		_, deferred := n.(*ast.DeferStmt)
		found = found || deferred
		return !found
	})
	return found
}

// call reads a call, nil if it is another, or if nothing is known of its texts. A test may give Parse what
// is wrong.
func (p *Package) call(node *ast.CallExpr) *call {
	key := p.key(node.Fun)
	c := &call{pkg: p, node: node, must: key == budgetPath+".Must"}
	if !c.must && (key != budgetPath+".Parse" || p.test(node.Pos())) {
		return nil
	}
	var parts []text
	for _, arg := range node.Args {
		if t, ok := p.text(arg); ok {
			parts = append(parts, t)
		} else if len(parts) > 0 {
			c.read(join(parts, "\n"))
			parts = nil
		}
	}
	if len(parts) > 0 {
		c.read(join(parts, "\n"))
	}
	return c
}

// read parses a text.
func (c *call) read(t text) {
	bom := len(t.value) - len(strings.TrimPrefix(t.value, "\ufeff"))
	lines := []int{bom} // where they begin
	for i := range len(t.value) {
		if t.value[i] == '\n' {
			lines = append(lines, i+1)
		}
	}
	if _, err := budget.Parse(t.value); err != nil {
		for _, err := range err.(interface{ Unwrap() []error }).Unwrap() {
			if e := (*budget.SyntaxError)(nil); errors.As(err, &e) {
				c.wrong = append(c.wrong, Finding{t.at(lines[e.Line-1] + byteOf(e.Text, e.Column-1)), syntaxText(e)})
			}
		}
	}
	for _, from := range lines {
		line, _, _ := strings.Cut(t.value[from:], "\n")
		if set, err := budget.Parse(line); err == nil && len(set) == 1 {
			c.sentences = append(c.sentences, sentence{set[0], text{line, t.pos[from : from+len(line)+1]}})
		}
	}
}

// byteOf is where a character begins.
func byteOf(s string, n int) (offset int) {
	for range n {
		_, size := utf8.DecodeRuneInString(s[offset:])
		offset += size
	}
	return offset
}

// syntaxText is the message of a SyntaxError in a line: the sentence is at the place.
func syntaxText(e *budget.SyntaxError) string {
	found := "the end of the line"
	if e.Word != "" {
		found = strconv.Quote(pattern.Clipped(e.Word, 100))
	}
	s := fmt.Sprintf("expected %s, found %s", e.Expected, found)
	if e.Remedy != "" {
		s += ": " + e.Remedy
	}
	return s
}

// A word is a pattern of a sentence, and where it stands.
type word struct {
	text string
	at   token.Pos
}

// find is where a word stands behind a keyword, "" for the beginning, or else where the sentence begins.
func (s *sentence) find(keyword, text string) word {
	begin := regexp.MustCompile(`^\s*`).FindStringIndex(s.value)[1]
	const before, behind = " \t:,", " \t\r,"
	for from := begin; ; from++ {
		i := strings.Index(s.value[from:], text)
		if i < 0 {
			return word{text, s.at(begin)}
		}
		from += i
		tail, head := s.value[from+len(text):], s.value[:from]
		if (from == begin || strings.ContainsAny(head[from-1:], before)) && (tail == "" || strings.ContainsAny(tail[:1], behind)) &&
			slices.Contains(append(strings.Fields(head), ""), keyword) {
			return word{text, s.at(from)}
		}
	}
}

// An exempt is an element after "except".
type exempt struct {
	pattern, from word
	end           time.Time // zero for none
}

// exempts are the elements after "except" as written.
func (s *sentence) exempts() (list []exempt) {
	for _, text := range s.Except {
		var e exempt
		if i := strings.LastIndex(text, " until "); i >= 0 {
			if day, err := time.Parse(time.DateOnly, text[i+len(" until "):]); err == nil {
				text, e.end = text[:i], day.AddDate(0, 0, 1)
			}
		}
		of, from, routed := strings.Cut(text, " from ")
		if strings.HasPrefix(text, `"`) {
			of, routed = text, false
		}
		if e.pattern = s.find("except", of); routed {
			e.from = s.find("from", from)
		}
		list = append(list, e)
	}
	return list
}

// patterns are the patterns of a sentence. absent is the one that is right if nothing matches it.
func (s *sentence) patterns() (list []word, absent string) {
	if s.Subject == "no function" || s.Subject == "no package" {
		for _, e := range s.exempts() {
			list = append(list, e.pattern)
			if e.from.text != "" {
				list = append(list, e.from)
			}
		}
	} else if !strings.HasPrefix(s.Subject, "no ") && !slices.Contains([]string{"process", "goroutines", "heap", "rss", "gc"}, s.Subject) {
		list = append(list, s.find("", s.Subject))
		if s.Rule == budget.RuleAbsent {
			absent = s.Subject
		}
	}
	if s.In != "" {
		list = append(list, s.find("in", s.In))
	}
	return list, absent
}

// probes are names that have nothing in common.
var probes = []string{"main.main", "a.B", "x.org/y.(*T).M", "Z.Q.func1", "memcpy"}

// mistakes are what is wrong with a sentence whatever the program is.
func (s *sentence) mistakes(now time.Time) (list []Finding) {
	for _, e := range s.exempts() {
		if !e.end.IsZero() && !now.Before(e.end) {
			list = append(list, Finding{e.pattern.at, fmt.Sprintf("the exception of %s has ended on %s: the budget counts it again; take it out, or give it another day",
				pattern.Visible(e.pattern.text), e.end.AddDate(0, 0, -1).Format(time.DateOnly))})
			continue
		}
		p, err := pattern.Parse(e.pattern.text)
		all := err == nil && e.from.text == "" && (s.Subject == "no function" || s.Subject == "no package")
		if all && !slices.ContainsFunc(probes, func(name string) bool { return !p.Match(name) }) {
			list = append(list, Finding{e.pattern.at, fmt.Sprintf("the budget can never fail: %s accepts every function; name those to accept", pattern.Visible(e.pattern.text))})
		}
	}
	return list
}
