package compare

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// goLine is a place in what go or a benchmark prints: a path without spaces, and its line.
var goLine = regexp.MustCompile(`([^\s:()"'\[\]]+\.go)(:\d+)`)

// tidyOutputs gives files in what go and benchmarks have printed one form, the path below the root of the
// repository. The compiler prints them relative to where it runs, b.Fatal without a folder, and a panic
// with all folders or the path of the module.
func (m *comparison) tidyOutputs() {
	for i := range m.report.Packages {
		p := &m.report.Packages[i]
		p.Output = m.tidy(p.Output, p.Path)
	}
	for i := range m.report.Benchmarks {
		b := &m.report.Benchmarks[i]
		b.Output = m.tidy(b.Output, b.Package)
	}
}

func (m *comparison) tidy(output, pkg string) string {
	folder := filepath.Dir(m.inRepository(pkg + "/x"))
	return goLine.ReplaceAllStringFunc(output, func(text string) string {
		at := strings.LastIndexByte(text, ':')
		file, line := text[:at], text[at:]
		// Go keeps what it has compiled, with the folder of an earlier comparison.
		if _, inside, ok := strings.Cut(file, "-bin/goroot/src/"); ok && strings.Contains(file, tempPrefix) {
			return inside + line
		}
		if short := m.inRepository(file); short != file {
			return short + line
		}
		if filepath.IsAbs(file) {
			return text
		}
		for _, side := range [...]side{m.sides[head], m.sides[base]} {
			full := filepath.Join(side.dir, file)
			if filepath.Base(file) == file {
				full = filepath.Join(side.root, folder, file)
			}
			if _, err := os.Stat(full); err == nil {
				return m.inRepository(filepath.ToSlash(full)) + line
			}
		}
		return text
	})
}
