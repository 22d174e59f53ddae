package compare

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"

	"github.com/profguard/profguard/internal/compare/growth"
	"github.com/profguard/profguard/internal/compare/repo"
)

// Edits are what the change touches: lines by git, and with them functions.
type edits struct {
	root  string // of the repository
	files map[string][]repo.Edit
	funcs map[string][]span // that are touched, by file; those that were asked for
}

// A span is a function's first and last line.
type span struct{ from, to int }

// edited reads the edits between both sides. Without them nothing is known to be touched.
func (m *comparison) edited(ctx context.Context) *edits {
	e := &edits{root: m.sides[head].root, funcs: map[string][]span{}}
	files, err := m.repo.Edits(ctx, m.from)
	if err != nil && ctx.Err() == nil {
		m.note("the changed lines are unknown: %v", err)
	}
	e.files = files
	return e
}

// touched says whether the change touches a line of the head, or the function around it.
func (e *edits) touched(file string, line int) (c growth.Change) {
	list := e.files[file]
	if len(list) == 0 {
		return c
	}
	for _, edit := range list {
		c.Line = c.Line || edit.Has(line)
	}
	spans, known := e.funcs[file]
	if !known {
		spans = touchedFuncs(filepath.Join(e.root, filepath.FromSlash(file)), list)
		e.funcs[file] = spans
	}
	for _, s := range spans {
		c.Function = c.Function || s.from <= line && line <= s.to
	}
	return c
}

// touchedFuncs are the functions of a file with lines that differ.
func touchedFuncs(path string, list []repo.Edit) (spans []span) {
	set := token.NewFileSet()
	file, _ := parser.ParseFile(set, path, nil, parser.SkipObjectResolution) // what can be read of it
	if file == nil {
		return nil
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		s := span{set.PositionFor(f.Pos(), false).Line, set.PositionFor(f.End(), false).Line}
		for _, e := range list {
			last := e.At + max(e.N, 1) - 1
			if e.At <= s.to && last >= s.from && (e.N > 0 || e.At < s.to) {
				spans = append(spans, s)
				break
			}
		}
	}
	return spans
}
