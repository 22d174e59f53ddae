package profguard_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// positions are those in the files of parsed.
var positions = token.NewFileSet()

// parsed are the files of a package and of its tests, by path.
func parsed(t *testing.T, dir string) map[string]*ast.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no Go files in %s (%v)", dir, err)
	}
	files := map[string]*ast.File{}
	for _, path := range paths {
		files[path], err = parser.ParseFile(positions, path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// TestArchitectureNamesFolders: who looks for the place of a change finds it
// there.
func TestArchitectureNamesFolders(t *testing.T) {
	text, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir("internal")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := "internal/" + e.Name(); e.IsDir() && !regexp.MustCompile(regexp.QuoteMeta(name)+`\b`).Match(text) {
			t.Errorf("docs/architecture.md does not say what %s is for", name)
		}
	}
}

// TestArchitectureNamesFiles: each file that the page sends its reader to is there.
func TestArchitectureNamesFiles(t *testing.T) {
	paths := regexp.MustCompile("`([^` ]+\\.go)`").FindAllStringSubmatch(read(t, "docs/architecture.md"), -1)
	if len(paths) < 30 {
		t.Errorf("only %d paths were found", len(paths))
	}
	for _, m := range paths {
		if _, err := os.Stat(m[1]); err != nil {
			t.Errorf("docs/architecture.md: %v", err)
		}
	}
}

// TestArchitectureIsInOrder: the imports of the packages in the first list go down it.
func TestArchitectureIsInOrder(t *testing.T) {
	_, text, _ := strings.Cut(read(t, "docs/architecture.md"), "\n```\n")
	text, _, _ = strings.Cut(text, "\n```\n")
	place := map[string]int{}
	for line := range strings.SplitSeq(text, "\n") {
		place[strings.Fields(line)[0]] = len(place) + 1
	}
	if len(place) < 20 {
		t.Errorf("expected the packages of guard, found %d", len(place))
	}
	for line := range strings.Lines(read(t, "testdata/imports.txt")) {
		name, imports, _ := strings.Cut(strings.TrimSpace(line), ":")
		for _, dep := range strings.Fields(imports) {
			if place[dep] > 0 && place[dep] <= place[name] {
				t.Errorf("docs/architecture.md: expected %s below %s, which imports it", dep, name)
			}
		}
	}
}

// TestDesignNamesTests: the commands in docs/design.md run tests that exist.
func TestDesignNamesTests(t *testing.T) {
	var tests strings.Builder
	err := filepath.WalkDir(".", func(path string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "_test.go") {
			tests.WriteString(read(t, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(read(t, "docs/design.md"), -1)
	if len(named) < 15 {
		t.Errorf("expected the tests behind the numbers of docs/design.md, found %q", named)
	}
	for _, name := range named {
		if !strings.Contains(tests.String(), "\nfunc "+name) {
			t.Errorf("docs/design.md names %s: expected a test, or the beginning of the name of one", name)
		}
	}
}
