// Package vet reads the budgets in a program's source before they run: the sentences of budget.Must and
// budget.Parse, in constants and embedded files. It tells what is surely wrong, and nothing else.
//
// Three things are told. A sentence that does not parse, an exception that has ended, and a budget that
// accepts every function are wrong by themselves: [Package.Check] needs one package. Of the budgets that a
// guard gets, [Check] also looks at what the programs link: a pattern that matches nothing, and work that
// nobody counts. A set that is judged by hand may be about another program's profile, so its patterns are
// left alone.
//
// In _test.go files only sentences of budget.Must that do not parse are told, outside of functions that
// defer something, which may recover, and of literals without parameters, which may have to panic. A test tells the rest when it runs.
package vet

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"time"
)

// A Package is source with its types. Of Info, Defs, Uses and Types are used. Types may be
// incomplete.
type Package struct {
	Path     string
	Fset     *token.FileSet
	Files    []*ast.File
	Info     *types.Info
	ReadFile func(name string) ([]byte, error)

	values   map[any][]ast.Expr     // what constants and variables are set to, and functions return, by their keys
	embedded map[any]string         // the file of a variable
	files    map[string]*token.File // the embedded ones that were read
}

// A Finding is a mistake, and where it stands.
type Finding struct {
	Pos  token.Pos
	Text string
}

// Check tells what is wrong in one package, whatever is linked with it.
func (p *Package) Check(now time.Time) []Finding {
	list, _ := p.check(now)
	return sorted(list)
}

func (p *Package) check(now time.Time) (list []Finding, calls []*call) {
	p.learn()
	calls = p.findCalls()
	for _, c := range calls {
		list = append(list, c.wrong...)
		for i := range c.sentences {
			if !p.test(c.node.Pos()) {
				list = append(list, c.sentences[i].mistakes(now)...)
			}
		}
	}
	return list, calls
}

// test reports whether a place is in a test.
func (p *Package) test(pos token.Pos) bool {
	return strings.HasSuffix(p.Fset.Position(pos).Filename, "_test.go")
}

// sorted puts findings in order, each once: a text may be used several times.
func sorted(list []Finding) []Finding {
	slices.SortFunc(list, func(a, b Finding) int { return cmp.Or(cmp.Compare(a.Pos, b.Pos), strings.Compare(a.Text, b.Text)) })
	return slices.Compact(list)
}
