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

// A text is a constant string, in the pieces that the source has of it.
type text []piece

type piece struct {
	value string
	at    func(offset int) token.Pos // where a byte of it stands, or its end
}

func (t text) value() (value string) {
	for _, p := range t {
		value += p.value
	}
	return value
}

// at is where a byte of the text stands.
func (t text) at(offset int) token.Pos {
	for _, p := range t[:len(t)-1] {
		if offset < len(p.value) {
			return p.at(offset)
		}
		offset -= len(p.value)
	}
	last := t[len(t)-1]
	return last.at(min(offset, len(last.value)))
}

// line is a text with another one in the next line.
func (t text) line(next text) text {
	if len(t) > 0 {
		last := t[len(t)-1]
		t = append(t, piece{"\n", func(int) token.Pos { return last.at(len(last.value)) }})
	}
	return append(t, next...)
}

// text is the value of an expression: a constant, or a variable with an embedded file.
func (p *Package) text(e ast.Expr) (text, bool) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return p.text(e.X)
	case *ast.BasicLit:
		return literal(e)
	case *ast.BinaryExpr:
		left, known := p.text(e.X)
		right, both := p.text(e.Y)
		return slices.Concat(left, right), e.Op == token.ADD && known && both
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
		return text{{constant.StringVal(value), func(int) token.Pos { return e.Pos() }}}, true // of another package: all of it is here
	}
	return nil, false
}

// isString reports whether an object is a constant with a known text. One that is defined by itself has none.
func isString(obj types.Object) bool {
	c, ok := obj.(*types.Const)
	return ok && c.Val().Kind() == constant.String
}

// literal is the text of a string as Go writes it.
func literal(e *ast.BasicLit) (text, bool) {
	value, err := strconv.Unquote(e.Value)
	return text{{value, func(offset int) token.Pos {
		at := 1
		for n := 0; at < len(e.Value)-1; {
			written, size := 1, 1
			if e.Value[0] == '"' {
				r, multibyte, rest, _ := strconv.UnquoteChar(e.Value[at:], '"')
				if written = len(e.Value) - at - len(rest); multibyte {
					size = utf8.RuneLen(r)
				}
			}
			if n += size; n > offset {
				break
			}
			at += written
		}
		return e.ValuePos + token.Pos(at)
	}}}, e.Kind == token.STRING && err == nil
}

// file is the text of an embedded file.
func (p *Package) file(name string) (text, bool) {
	content, err := p.ReadFile(name)
	if err != nil {
		return nil, false
	}
	f := p.files[name]
	if f == nil {
		f = p.Fset.AddFile(name, -1, len(content))
		f.SetLinesForContent(content)
		p.files[name] = f
	}
	return text{{string(content), f.Pos}}, true
}

// index finds the constants of the package, and the variables with one embedded file.
func (p *Package) index() {
	p.constants, p.embedded, p.files = map[types.Object]ast.Expr{}, map[types.Object]string{}, map[string]*token.File{}
	for _, f := range p.Files {
		dir := filepath.Dir(p.Fset.Position(f.Package).Filename)
		ast.Inspect(f, func(n ast.Node) bool {
			d, _ := n.(*ast.GenDecl)
			if d == nil || d.Tok != token.CONST && d.Tok != token.VAR {
				return true
			}
			for _, s := range d.Specs {
				v := s.(*ast.ValueSpec)
				for i, name := range v.Names {
					if d.Tok == token.CONST && len(v.Values) == len(v.Names) {
						p.constants[p.Info.Defs[name]] = v.Values[i]
					} else if file := embedded(d.Doc, v.Doc); file != "" {
						p.embedded[p.Info.Defs[name]] = filepath.Join(dir, filepath.FromSlash(file))
					}
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
