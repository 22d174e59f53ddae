package vet

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

const (
	budgetPath = "github.com/profguard/profguard/budget"
	guardPath  = "github.com/profguard/profguard/guard"
)

// key names what an identifier stands for: package.Name, or a local object. nil is anything else.
func (p *Package) key(e ast.Expr) any {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return p.key(e.X)
	case *ast.SelectorExpr:
		if id, ok := e.X.(*ast.Ident); ok {
			if name, ok := p.Info.Uses[id].(*types.PkgName); ok {
				return name.Imported().Path() + "." + e.Sel.Name
			}
		}
	case *ast.Ident:
		switch obj := p.Info.ObjectOf(e); {
		case obj == nil, obj.Pkg() == nil, isField(obj):
		case obj.Parent() == obj.Pkg().Scope():
			return obj.Pkg().Path() + "." + obj.Name()
		default:
			return obj
		}
	}
	return nil
}

func isField(obj types.Object) bool {
	v, ok := obj.(*types.Var)
	return ok && v.IsField()
}

// A value is an expression in its package.
type value struct {
	pkg  *Package
	expr ast.Expr
}

// A flow finds the calls whose budgets a guard gets.
type flow struct {
	values map[any][]value               // what variables are set to, and functions return
	starts map[*ast.CallExpr][]*starting // of Must and Parse
	direct map[*ast.CompositeLit]bool    // a Config in a call of guard.Start
}

// A starting is where a guard gets budgets: a Config, and whether guard.Start is called with it as it stands.
type starting struct {
	pkg    *Package
	config *ast.CompositeLit
	direct bool
}

// follow looks at all packages together. Tests are left out.
func follow(pkgs []*Package) *flow {
	f := &flow{map[any][]value{}, map[*ast.CallExpr][]*starting{}, map[*ast.CompositeLit]bool{}}
	for _, p := range pkgs {
		p.inspect(func(n ast.Node) { f.learn(p, n) })
	}
	for _, p := range pkgs {
		p.inspect(func(n ast.Node) { f.start(p, n) })
	}
	return f
}

// inspect calls see with the nodes of the files that are no tests.
func (p *Package) inspect(see func(ast.Node)) {
	for _, f := range p.Files {
		if !p.test(f.Package) {
			ast.Inspect(f, func(n ast.Node) bool { see(n); return true })
		}
	}
}

// learn takes what a statement or declaration sets.
func (f *flow) learn(p *Package, n ast.Node) {
	set := func(names []ast.Expr, values []ast.Expr) {
		for i, name := range names {
			if len(values) != len(names) {
				i = 0 // set, err := budget.Parse(text)
			}
			if k := p.key(name); k != nil && len(values) > 0 {
				f.values[k] = append(f.values[k], value{p, values[i]})
			}
		}
	}
	switch n := n.(type) {
	case *ast.AssignStmt:
		set(n.Lhs, n.Rhs)
	case *ast.ValueSpec:
		for i, name := range n.Names {
			if len(n.Values) == len(n.Names) {
				set([]ast.Expr{name}, n.Values[i:i+1])
			} else {
				set([]ast.Expr{name}, n.Values)
			}
		}
	case *ast.FuncDecl:
		if n.Recv == nil && n.Body != nil {
			ast.Inspect(n.Body, func(m ast.Node) bool {
				if r, ok := m.(*ast.ReturnStmt); ok {
					for _, e := range r.Results {
						set([]ast.Expr{n.Name}, []ast.Expr{e})
					}
				}
				_, inner := m.(*ast.FuncLit)
				return !inner
			})
		}
	}
}

// start follows the budgets that a node gives to a guard. A call comes before its arguments.
func (f *flow) start(p *Package, n ast.Node) {
	switch n := n.(type) {
	case *ast.CompositeLit:
		if budgets := p.field(n, "Budgets"); budgets != nil {
			f.walk(value{p, budgets}, &starting{p, n, f.direct[n]}, map[any]bool{})
		}
	case *ast.CallExpr:
		if len(n.Args) == 1 && p.key(n.Fun) == guardPath+".Start" {
			if lit, ok := n.Args[0].(*ast.CompositeLit); ok {
				f.direct[lit] = true
			}
		}
	}
}

// field is a field of a guard.Config, nil if it is not set, or what is written is something else.
func (p *Package) field(lit *ast.CompositeLit, name string) ast.Expr {
	if lit.Type == nil || p.key(lit.Type) != guardPath+".Config" {
		return nil
	}
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if id, ok := kv.Key.(*ast.Ident); ok && id.Name == name {
				return kv.Value
			}
		}
	}
	return nil
}

// walk marks the calls that a value comes from: itself, what variables were set to, and what functions return.
func (f *flow) walk(v value, to *starting, seen map[any]bool) {
	ast.Inspect(v.expr, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			f.starts[n] = append(f.starts[n], to)
		case *ast.Ident, *ast.SelectorExpr:
			if k := v.pkg.key(n.(ast.Expr)); k != nil && !seen[k] {
				seen[k] = true
				for _, from := range f.values[k] {
					f.walk(from, to, seen)
				}
			}
		}
		return true
	})
}

// shared reports whether a test may judge the budgets of a call, too: it does not stand where a guard gets them.
func (f *flow) shared(c *call) bool {
	return slices.ContainsFunc(f.starts[c.node], func(at *starting) bool {
		return c.node.Pos() < at.config.Pos() || at.config.End() <= c.node.Pos()
	})
}

// lacksWork reports whether the guard surely has no function for a unit of work.
func (s *starting) lacksWork(unit string) bool {
	if !s.direct {
		return false
	}
	for _, file := range s.pkg.Files {
		fed := false // work comes with profiles
		ast.Inspect(file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			fed = fed || ok && strings.Contains(sel.Sel.Name, "Feed")
			return !fed
		})
		if fed {
			return false
		}
	}
	work := s.pkg.field(s.config, "Work")
	if work == nil {
		return true
	}
	lit, ok := work.(*ast.CompositeLit)
	if !ok {
		return false
	}
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return false
		}
		if t, ok := s.pkg.text(kv.Key); !ok || t.value() == unit {
			return false
		}
	}
	return true
}
