package vet

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
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
		c, constant := p.Info.ObjectOf(e).(*types.Const)
		if values := p.values[p.key(e)]; constant && len(values) > 0 && isText(c.Val()) { // one that is defined by itself has none
			return p.text(values[0])
		}
		if file := p.embedded[p.key(e)]; file != "" {
			return p.file(file)
		}
	}
	if value := p.Info.Types[e].Value; isText(value) {
		return text{{constant.StringVal(value), func(int) token.Pos { return e.Pos() }}}, true // of another package: all of it is here
	}
	return nil, false
}

func isText(v constant.Value) bool { return v != nil && v.Kind() == constant.String }

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
