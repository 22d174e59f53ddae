package compare

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/compare/binary"
	"github.com/profguard/profguard/internal/compare/report"
)

// A benchmark that comes with a change often says what the change is for. The base does not have it, but
// it may have the code: so the head's test files are compiled with the base's code.

// withTests is a package of the head as the base has it, with the head's test files; nil if all of its
// code is new.
func (m *comparison) withTests(p *binary.Package) *binary.Package {
	inside, err := filepath.Rel(m.sides[head].root, p.Dir)
	if m.sides[base].builder == nil || err != nil || !filepath.IsLocal(inside) {
		return nil
	}
	dir := filepath.Join(m.sides[base].root, inside)
	if hasCode(p.Dir) && !hasCode(dir) {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil { // benchmarks may stand beside no code
		return nil
	}
	return &binary.Package{Path: p.Path, Dir: dir, Tests: p.Dir}
}

// hasCode reports whether a folder has Go files beside tests.
func hasCode(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return strings.HasSuffix(e.Name(), ".go") && !strings.HasSuffix(e.Name(), "_test.go")
	})
}

// tryNew tries the benchmarks of a package that only the head has.
func (m *comparison) tryNew(ctx context.Context, p *pkg, added []found) ([]*trial, error) {
	m.say(Progress{Doing: "building new benchmarks of " + p.path})
	leave := func(reason, output string) {
		for _, f := range added {
			m.report.Benchmarks = append(m.report.Benchmarks, report.Benchmark{Package: p.path, Name: f.Name, Verdict: report.Unjudged, Reason: reason, Output: output})
			output = "" // once is enough
		}
	}
	q := &pkg{path: p.path, from: p.from, bins: p.bins, trim: p.trim, new: true}
	if q.from[base] = m.withTests(p.from[head]); q.from[base] == nil {
		leave("is new: the base does not have it", "")
		return nil, nil
	}
	var err error
	if q.bins[base].Path, err = m.sides[base].builder.Build(ctx, q.from[base], q.trim); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		leave("is new, and the head's test files do not compile at the base", err.Error())
		return nil, nil
	}
	names := make([]string, len(added))
	for i, f := range added {
		names[i] = exactly(f.Name)
	}
	before, err := m.runOnce(ctx, q.bins[base], strings.Join(names, "|"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.path, err)
	}
	list, _ := m.match(q, [2][]found{before, added})
	return list, nil
}

// noteNew says how new benchmarks were compared.
func (m *comparison) noteNew(list []*trial) {
	n := 0
	for _, t := range list {
		if t.pkg.new {
			n++
		}
	}
	if n > 0 {
		m.note("new benchmarks: %d, for which the base's code was compiled with the head's test files", n)
	}
}
