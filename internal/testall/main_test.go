package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write makes a module with one test in a folder.
func write(t *testing.T, dir, body string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod":    "module example.com/m\n\ngo 1.26\n",
		"m_test.go": "package m\n\nimport \"testing\"\n\nfunc Test(t *testing.T) { " + body + " }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A nested module whose test fails makes the whole fail, and shows why. The others are tested
// all the same; a module in test data is left alone.
func TestFailures(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs modules")
	}
	root := t.TempDir()
	write(t, root, "")
	write(t, filepath.Join(root, "internal", "broken"), `t.Error("planted")`)
	write(t, filepath.Join(root, "internal", "broken", "testdata", "inner"), `t.Error("not ours")`)
	write(t, filepath.Join(root, "examples", "sound"), "")
	write(t, filepath.Join(root, "examples", "torn"), `t.Error("planted too")`)
	var out bytes.Buffer
	passed := testAll(root, []string{"./..."}, &out)
	text := out.String()
	if passed || strings.Count(text, ": FAIL, exit status 1, ") != 2 || strings.Count(text, ": ok, ") != 2 {
		t.Errorf("passed is %t, and the output is\n%s", passed, text)
	}
	if !strings.Contains(text, "planted\n") || !strings.Contains(text, "planted too\n") || strings.Contains(text, "not ours") {
		t.Errorf("the output is\n%s", text)
	}
	if testAll(t.TempDir(), nil, &out) {
		t.Error("passed where there is no module")
	}
}

func TestPasses(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs a module")
	}
	root := t.TempDir()
	write(t, root, "")
	var out bytes.Buffer
	if !testAll(root, []string{"./..."}, &out) {
		t.Errorf("the output is\n%s", &out)
	}
}

// The packages that begin first are there, and so are all modules where they are looked for.
func TestPlaces(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, dir := range longest {
		if _, err := os.Stat(filepath.Join(root, dir)); err != nil {
			t.Error(err)
		}
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "testdata":
			return filepath.SkipDir
		case d.Name() != "go.mod" || name == "go.mod":
			return nil
		}
		parts := strings.Split(filepath.ToSlash(name), "/")
		if len(parts) != 3 || parts[0] != "internal" && parts[0] != "export" && parts[0] != "examples" {
			t.Errorf("%s is a module that is not tested", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
