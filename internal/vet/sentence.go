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

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/pattern"
)

// A sentence is a budget in the source.
type sentence struct {
	budget.Budget
	rule judge.Rule // with all exceptions, also those that have ended
	line string
	at   func(offset int) token.Pos // where a byte of the line stands
}

// A call is one of budget.Must or budget.Parse.
type call struct {
	pkg       *Package
	node      *ast.CallExpr
	sentences []sentence
	wrong     []Finding
}

// findCalls finds the calls of Must and Parse.
func (p *Package) findCalls() (list []*call) {
	for _, f := range p.Files {
		for _, d := range f.Decls {
			test := p.test(d.Pos())
			if test && recovers(d) {
				continue
			}
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncLit:
					return !test || n.Type.Params.NumFields() > 0 // others may have to panic
				case *ast.CallExpr:
					if key := p.key(n.Fun); key == budgetPath+".Must" || key == budgetPath+".Parse" && !test { // a test may give Parse what is wrong
						list = append(list, p.read(n))
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

// read parses the texts of a call that are known.
func (p *Package) read(node *ast.CallExpr) *call {
	c := &call{pkg: p, node: node}
	var all text
	for _, arg := range node.Args {
		if t, ok := p.text(arg); ok {
			all = all.line(t)
		}
	}
	value := strings.TrimPrefix(all.value(), "\ufeff")
	wrong := map[int]*budget.SyntaxError{} // by line
	if _, err := budget.Parse(value); err != nil {
		for _, err := range err.(interface{ Unwrap() []error }).Unwrap() {
			if e, ok := errors.AsType[*budget.SyntaxError](err); ok {
				wrong[e.Line] = e
			}
		}
	}
	next := len(all.value()) - len(value)
	for i, line := range strings.Split(value, "\n") {
		from := next
		next += len(line) + 1
		at := func(offset int) token.Pos { return all.at(from + offset) }
		if e := wrong[i+1]; e != nil {
			before := []rune(line)
			c.wrong = append(c.wrong, Finding{at(len(string(before[:min(e.Column-1, len(before))]))), syntaxText(e)})
		} else if set, err := budget.Parse(line); err == nil && len(set) == 1 {
			if rules, err := bridge.RulesAt(set, time.Time{}); err == nil {
				c.sentences = append(c.sentences, sentence{set[0], rules[0], line, at})
			}
		}
	}
	return c
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

// tell is a finding about some words of the sentence: where they stand, or else where the sentence begins.
func (s *sentence) tell(words, format string, args ...any) Finding {
	at := len(s.line) - len(strings.TrimLeft(s.line, " \t"))
	as := regexp.MustCompile(`(?:^|[\s,:])(` + strings.ReplaceAll(regexp.QuoteMeta(words), " ", `\s+`) + `)(?:[\s,]|$)`)
	if m := as.FindStringSubmatchIndex(s.line); m != nil {
		at = m[2]
	}
	return Finding{s.at(at), fmt.Sprintf(format, args...)}
}

// patterns are those of the sentence. If one of them matches nothing, it is of no use.
func (s *sentence) patterns() []string {
	list := s.rule.Patterns()
	if s.rule.Label == "" { // or else they are values
		list = append(list, s.rule.Except...)
		for _, r := range s.rule.Routes {
			list = append(list, r.Of, r.From)
		}
	}
	return list
}

// probes are names that have nothing in common.
var probes = []string{"main.main", "a.B", "x.org/y.(*T).M", "Z.Q.func1", "memcpy"}

// mistakes are what is wrong with a sentence whatever the program is.
func (s *sentence) mistakes(now time.Time) (list []Finding) {
	for _, x := range s.rule.Ending {
		if !now.Before(x.At) {
			list = append(list, s.tell(x.Exception, "the exception %s has ended: the budget counts it again; take it out, or give it another day", pattern.Visible(x.Exception)))
		}
	}
	if s.rule.Label != "" {
		return list
	}
	held, err := bridge.RulesAt(budget.Set{s.Budget}, now)
	if err != nil {
		return list
	}
	for _, text := range held[0].Except {
		if p, err := pattern.Parse(text); err == nil && !slices.ContainsFunc(probes, func(name string) bool { return !p.Match(name) }) {
			list = append(list, s.tell(text, "the budget can never fail: %s accepts every function; name those to accept", pattern.Visible(text)))
		}
	}
	return list
}
