package compare

import (
	"path/filepath"
	"testing"

	"github.com/profguard/profguard/internal/compare/repo"
)

// A module of the repository is compiled as a main module, or in the place of one that is required. Others with a path
// like it are not here.
func TestRoots(t *testing.T) {
	dir := t.TempDir()
	m := &comparison{roots: rootsOf(dir, "/tmp/base", map[string]string{
		"example.com/shop/": dir, "example.com/shop/lib/": filepath.Join(dir, "lib"), "example.com/tax@": filepath.Join(dir, "libs", "tax"), "example.com/far@": filepath.Dir(dir),
	})}
	for file, want := range map[string]string{
		"example.com/shop/shop.go":              "shop.go",
		"example.com/shop/lib/lib.go":           "lib/lib.go",
		"example.com/tax@v1.2.3/vat/vat.go":     "libs/tax/vat/vat.go",
		"/tmp/base/shop.go":                     "shop.go",
		dir + "/lib/lib.go":                     "lib/lib.go",
		"example.com/shop/old@v1.0.0/old.go":    "",
		"example.com/far@v1.0.0/far.go":         "",
		"example.com/taxes@v1.0.0/vat/vat.go":   "",
		"example.com/tax/v2@v2.0.0/vat/vat.go":  "",
		"strings/strings.go":                    "",
		dir + "/.cache/mod/x.com/a@v1.0.0/a.go": "",
	} {
		if got := m.inRepository(file); got != want && (want != "" || got != file) {
			t.Errorf("%s: expected %q, found %q", file, want, got)
		}
	}
}

// A file has one form, whoever names it; others stay.
func TestTidy(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	for _, name := range []string{"tools/parse/parse_test.go", "tools/main.go"} {
		writeFile(t, filepath.Join(dir, name), []byte("package x\n"))
	}
	r, err := repo.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	m := &comparison{sides: [2]side{{root: temp, dir: filepath.Join(temp, "tools")}, {root: r.Root(), dir: filepath.Join(r.Root(), "tools")}}}
	m.roots = []root{{"example.com/shop/tools/", "tools/"}, {r.Root() + "/", ""}, {m.sides[base].root + "/", ""}}
	writeFile(t, filepath.Join(m.sides[base].root, "tools", "parse", "gone_test.go"), []byte("package x\n"))
	const here = "tools/parse/parse_test.go:7"
	for in, want := range map[string]string{
		"    parse_test.go:7: no database":                                    "    " + here + ": no database",
		"\t" + filepath.Join(r.Root(), "tools/parse/parse_test.go:7 +0x25"):   "\t" + here + " +0x25",
		"\texample.com/shop/tools/parse/parse_test.go:7 +0x25":                "\t" + here + " +0x25",
		"parse/parse_test.go:7:3: undefined: x":                               here + ":3: undefined: x",
		"./main.go:7:3: undefined: x":                                         "tools/main.go:7:3: undefined: x",
		"gone_test.go:7: at the base":                                         "tools/parse/gone_test.go:7: at the base",
		"\t/x/profguard-compare-1/head-bin/goroot/src/testing/benchmark.go:7": "\ttesting/benchmark.go:7",
		"other.go:7: nowhere":                                                 "other.go:7: nowhere",
		"/usr/lib/other.go:7":                                                 "/usr/lib/other.go:7",
		"example.com/shop/tools/parse.Parse(...)":                             "example.com/shop/tools/parse.Parse(...)",
	} {
		if got := m.tidy(in, "example.com/shop/tools/parse"); got != want {
			t.Errorf("%q: expected %q, found %q", in, want, got)
		}
	}
}
