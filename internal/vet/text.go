package vet

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A text is a constant string, and where in the source each of its bytes stands.
type text struct {
	value string
	pos   []token.Pos // one for each byte, and one for the end
}

// at is where a byte of the text stands.
func (t *text) at(offset int) token.Pos { return t.pos[min(max(offset, 0), len(t.pos)-1)] }

// join puts texts one after the other, with what is between them.
func join(list []text, between string) (t text) {
	for i := range list {
		if i > 0 {
			t.value += between
			t.pos = append(t.pos[:len(t.pos)-1], slices.Repeat(t.pos[len(t.pos)-1:], len(between))...)
			t.pos = append(t.pos, list[i].pos[0])
		}
		t.value += list[i].value
		t.pos = append(t.pos[:max(len(t.pos)-1, 0)], list[i].pos...)
	}
	return t
}

// text is the value of an expression: a constant, or a variable with an embedded file.
func (p *Package) text(e ast.Expr) (text, bool) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return p.text(e.X)
	case *ast.BasicLit:
		return literal(e)
	case *ast.BinaryExpr:
		left, leftOK := p.text(e.X)
		right, rightOK := p.text(e.Y)
		if e.Op != token.ADD || !leftOK || !rightOK {
			return text{}, false
		}
		return join([]text{left, right}, ""), true
	case *ast.CallExpr: // string(embedded)
		if id, ok := e.Fun.(*ast.Ident); ok && id.Name == "string" && len(e.Args) == 1 {
			return p.text(e.Args[0])
		}
	case *ast.Ident:
		obj := p.Info.ObjectOf(e)
		if value := p.constants[obj]; value != nil && isString(obj) {
			return p.text(value)
		}
		if file := p.embedded[obj]; file != "" {
			return p.file(file)
		}
	}
	if value := p.Info.Types[e].Value; value != nil && value.Kind() == constant.String {
		s := constant.StringVal(value) // of another package: all of it is here
		return text{s, slices.Repeat([]token.Pos{e.Pos()}, len(s)+1)}, true
	}
	return text{}, false
}

// isString reports whether an object is a constant with a known text. One that is defined by itself has none.
func isString(obj types.Object) bool {
	c, ok := obj.(*types.Const)
	return ok && c.Val().Kind() == constant.String
}

// literal is the text of a string as Go writes it.
func literal(e *ast.BasicLit) (t text, ok bool) {
	value, err := strconv.Unquote(e.Value)
	if e.Kind != token.STRING || err != nil {
		return t, false
	}
	t.value = value
	for rest, at := e.Value[1:len(e.Value)-1], e.ValuePos+1; ; {
		t.pos = append(t.pos, at)
		switch {
		case rest == "":
			return t, len(t.pos) == len(value)+1
		case e.Value[0] == '`':
			if rest[0] == '\r' { // which is not in the value
				t.pos = t.pos[:len(t.pos)-1]
			}
			rest, at = rest[1:], at+1
			continue
		}
		r, multibyte, tail, err := strconv.UnquoteChar(rest, '"')
		if err != nil {
			return t, false
		}
		if multibyte {
			t.pos = append(t.pos, slices.Repeat([]token.Pos{at}, utf8.RuneLen(r)-1)...)
		}
		at += token.Pos(len(rest) - len(tail))
		rest = tail
	}
}

// file is the text of an embedded file.
func (p *Package) file(name string) (t text, ok bool) {
	content, err := p.ReadFile(name)
	if err != nil {
		return t, false
	}
	f := p.files[name]
	if f == nil {
		f = p.Fset.AddFile(name, -1, len(content))
		f.SetLinesForContent(content)
		p.files[name] = f
	}
	t.value = string(content)
	for i := range len(content) + 1 {
		t.pos = append(t.pos, f.Pos(i))
	}
	return t, true
}

// index finds the constants of the package, and the variables with one embedded file.
func (p *Package) index() {
	p.constants, p.embedded, p.files = map[types.Object]ast.Expr{}, map[types.Object]string{}, map[string]*token.File{}
	for _, f := range p.Files {
		dir := filepath.Dir(p.Fset.Position(f.Package).Filename)
		ast.Inspect(f, func(n ast.Node) bool {
			d, ok := n.(*ast.GenDecl)
			if !ok {
				return true
			}
			for _, s := range d.Specs {
				v, ok := s.(*ast.ValueSpec)
				if !ok {
					continue
				}
				if d.Tok == token.CONST && len(v.Values) == len(v.Names) {
					for i, name := range v.Names {
						p.constants[p.Info.Defs[name]] = v.Values[i]
					}
				}
				if name := embedded(d.Doc, v.Doc); name != "" && len(v.Names) == 1 {
					p.embedded[p.Info.Defs[v.Names[0]]] = filepath.Join(dir, filepath.FromSlash(name))
				}
			}
			return true
		})
	}
	delete(p.constants, nil) // of source that does not compile
	delete(p.embedded, nil)
}

// embedded is the file of //go:embed, "" if there is none, or not one alone.
func embedded(docs ...*ast.CommentGroup) (name string) {
	for _, doc := range docs {
		if doc == nil {
			continue
		}
		for _, c := range doc.List {
			rest, ok := strings.CutPrefix(c.Text, "//go:embed ")
			if !ok {
				continue
			}
			if list := strings.Fields(rest); name != "" || len(list) != 1 || strings.ContainsAny(rest, "*?[:") {
				return ""
			} else if name = list[0]; name[0] == '"' || name[0] == '`' {
				name, _ = strconv.Unquote(name)
			}
		}
	}
	return name
}
