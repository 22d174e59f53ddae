package profguard_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestWaysInHaveExamples: each exported function, and each method that the README
// shows, has an example that runs and whose output is checked.
func TestWaysInHaveExamples(t *testing.T) {
	methods := map[string][]string{
		"budget": {"Set_Judge", "Set_JudgeReader"},
		"guard":  {"Guard_Handler", "Guard_SetBudgets", "Checker"},
	}
	for _, dir := range []string{"budget", "guard"} {
		wanted := methods[dir]
		checked := map[string]bool{}
		for path, file := range parsed(t, dir) {
			if strings.HasSuffix(path, "_test.go") {
				for _, e := range doc.Examples(file) {
					// ExampleStart_mistakes is one of Start.
					name := regexp.MustCompile(`_[a-z].*`).ReplaceAllString(e.Name, "")
					checked[name] = checked[name] || e.Output != "" || e.EmptyOutput
				}
				continue
			}
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.IsExported() {
					wanted = append(wanted, f.Name.Name)
				}
			}
		}
		for _, name := range wanted {
			if !checked[name] {
				t.Errorf("package %s: expected Example%s with an // Output, found none", dir, name)
			}
		}
	}
}

// parsed are the files of a package and of its tests, by path.
func parsed(t *testing.T, dir string) map[string]*ast.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no Go files in %s (%v)", dir, err)
	}
	files := map[string]*ast.File{}
	for _, path := range paths {
		files[path], err = parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
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
