package profguard_test

import (
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"testing"
)

// TestOtherSystems type-checks the packages with files for some systems only, their
// tests included, for systems that this machine is not. To have go vet do it takes a
// minute in an empty build cache, for it compiles what they import; this reads it.
func TestOtherSystems(t *testing.T) {
	if testing.Short() {
		t.Skip("reads much of the standard library, which takes minutes under the race detector")
	}
	files, err := filepath.Glob("internal/*/*_other.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("expected files for other systems in internal, found %v, %v", files, err)
	}
	dirs := map[string]bool{}
	for _, f := range files {
		dirs[filepath.Dir(f)] = true
	}
	for _, system := range []string{"darwin", "freebsd", "windows"} {
		t.Run(system, func(t *testing.T) {
			onSystem(t, system)
			fset := token.NewFileSet()
			imports := importer.ForCompiler(fset, "source", nil)
			for dir := range dirs {
				for _, err := range typeErrors(t, fset, imports, dir) {
					t.Error(err)
				}
			}
		})
	}
}

func TestOtherSystemsFires(t *testing.T) {
	onSystem(t, "windows")
	for source, want := range map[string]int{
		"package x\n\nvar stolen int = \"a string\"\n": 1,
		"package x\n\nvar stolen = \"a string\"\n":     0,
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"x.go": "package x\n", "x_windows.go": source, "x_linux.go": "not Go"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		fset := token.NewFileSet()
		if errs := typeErrors(t, fset, importer.ForCompiler(fset, "source", nil), dir); len(errs) != want {
			t.Errorf("of\n%s\nexpected %d errors, found %v", source, want, errs)
		}
	}
}

// onSystem lets packages be read as for another system, until the test ends. Package
// importer has no other way.
func onSystem(t *testing.T, goos string) {
	here := build.Default
	t.Cleanup(func() { build.Default = here })
	build.Default.GOOS, build.Default.CgoEnabled = goos, false
}

// typeErrors type-checks the package in a folder with its tests, as build.Default
// selects them.
func typeErrors(t *testing.T, fset *token.FileSet, imports types.Importer, dir string) (errs []error) {
	t.Helper()
	p, err := build.ImportDir(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, files := range map[string][]string{
		p.Name:           append(p.GoFiles, p.TestGoFiles...),
		p.Name + "_test": p.XTestGoFiles,
	} {
		var parsed []*ast.File
		for _, f := range files {
			file, err := parser.ParseFile(fset, filepath.Join(dir, f), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, file)
		}
		check := types.Config{Importer: imports, Error: func(err error) { errs = append(errs, err) }}
		_, _ = check.Check(name, fset, parsed, nil) // the errors are in errs
	}
	return errs
}
