package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
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
	values map[any][]value
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
		for k, list := range p.values {
			for _, e := range list {
				if !p.test(e.Pos()) {
					f.values[k] = append(f.values[k], value{p, e})
				}
			}
		}
	}
	for _, p := range pkgs {
		for _, file := range p.Files {
			if !p.test(file.Package) {
				ast.Inspect(file, func(n ast.Node) bool { f.start(p, n); return true })
			}
		}
	}
	return f
}

// learn takes what statements and declarations set.
func (p *Package) learn() {
	p.values, p.embedded, p.files = map[any][]ast.Expr{}, map[any]string{}, map[string]*token.File{}
	for _, file := range p.Files {
		dir := filepath.Dir(p.Fset.Position(file.Package).Filename)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				p.set(n.Lhs, n.Rhs)
			case *ast.GenDecl:
				for _, s := range n.Specs {
					if v, ok := s.(*ast.ValueSpec); ok {
						var names []ast.Expr
						for _, name := range v.Names {
							names = append(names, name)
						}
						p.set(names, v.Values)
						if name, k := embedded(n.Doc, v.Doc), p.key(names[0]); name != "" && k != nil {
							p.embedded[k] = filepath.Join(dir, filepath.FromSlash(name))
						}
					}
				}
			case *ast.FuncDecl:
				if n.Recv == nil && n.Body != nil {
					ast.Inspect(n.Body, func(m ast.Node) bool {
						if r, ok := m.(*ast.ReturnStmt); ok {
							for _, e := range r.Results {
								p.set([]ast.Expr{n.Name}, []ast.Expr{e})
							}
						}
						_, inner := m.(*ast.FuncLit)
						return !inner
					})
				}
			}
			return true
		})
	}
}

// set notes what names are set to. One value for several is as in set, err := budget.Parse(text).
func (p *Package) set(names, values []ast.Expr) {
	for i, name := range names {
		if len(values) != len(names) {
			i = 0
		}
		if k := p.key(name); k != nil && len(values) > 0 {
			p.values[k] = append(p.values[k], values[i])
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
