package compare

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/compare/repo"
)

// Escapes are what the compiler says of variables that are on the heap, of files that were asked for.
type escapes struct {
	*comparison
	known map[string][2]map[int][]string // by file, of both sides: by its lines
}

// now is what it says of a line of the head that did not change, and does not say at the base; "" if
// that is not known.
func (e *escapes) now(ctx context.Context, file string, line int) string {
	said, known := e.known[file]
	if !known {
		for i, side := range e.sides {
			lines, err := side.builder.Escapes(ctx, filepath.Join(side.root, filepath.FromSlash(path.Dir(file))), strings.HasSuffix(file, "_test.go"))
			if err != nil {
				said = [2]map[int][]string{}
				break
			}
			said[i] = lines[path.Base(file)]
		}
		e.known[file] = said
	}
	var before []string
	for old, list := range said[base] {
		if now, same := repo.Now(e.edits.files[file], old); same && now == line {
			before = list
		}
	}
	if said[base] == nil && said[head] == nil {
		return ""
	}
	var list []string
	for _, text := range said[head][line] {
		if !slices.Contains(before, text) {
			list = append(list, text)
		}
	}
	return strings.Join(list, ", ")
}
