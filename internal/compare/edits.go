package compare

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"strings"

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
type span struct {
	name     string
	from, to int
}

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
	for _, edit := range e.files[file] {
		c.Line = c.Line || edit.Has(line)
	}
	for _, s := range e.spans(file) {
		c.Function = c.Function || s.from <= line && line <= s.to
	}
	return c
}

// spans are the functions of a file that the change touches.
func (e *edits) spans(file string) []span {
	list := e.files[file]
	if len(list) == 0 {
		return nil
	}
	spans, known := e.funcs[file]
	if !known {
		spans = touchedFuncs(filepath.Join(e.root, filepath.FromSlash(file)), list)
		e.funcs[file] = spans
	}
	return spans
}

// rewritten is where a benchmark of a folder is itself changed, "" if it is not: it may do more than before, by code that
// costs the same.
func (e *edits) rewritten(folder, benchmark string) string {
	benchmark, _, _ = strings.Cut(benchmark, "/")
	for file := range e.files {
		if path.Dir(file) != folder || !strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, s := range e.spans(file) {
			if s.name == benchmark {
				return fmt.Sprintf("%s:%d", file, s.from)
			}
		}
	}
	return ""
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
		s := span{f.Name.Name, set.PositionFor(f.Pos(), false).Line, set.PositionFor(f.End(), false).Line}
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
