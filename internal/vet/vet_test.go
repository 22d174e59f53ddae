package vet

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/profguard/profguard/internal/golden"
)

// TestCheck checks the programs of testdata, which lie in a folder of this module for the time of the test.
func TestCheck(t *testing.T) {
	if testing.Short() {
		t.Skip("checks the types of whole programs on one goroutine")
	}
	t.Setenv("GOFLAGS", "-mod=mod")
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	var b strings.Builder
	for _, name := range files {
		dir := unpack(t, name)
		fset, found, err := Check(t.Context(), dir, []string{"./..."}, time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC))
		if err != nil {
			t.Fatal(name, err)
		}
		fmt.Fprintf(&b, "# %s\n\n", filepath.Base(name))
		for _, f := range found {
			at := fset.Position(f.Pos)
			rel, _ := filepath.Rel(dir, at.Filename)
			fmt.Fprintf(&b, "%s:%d:%d: %s\n\t%s\n", filepath.ToSlash(rel), at.Line, at.Column, f.Text, marked(t, at.Filename, at.Line, at.Column))
		}
		fmt.Fprintln(&b)
	}
	golden.Compare(t, "found.txt", b.String())
}

// marked is what stands at a place.
func marked(t *testing.T, name string, line, column int) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(text), "\n")[line-1][column-1:]
}

// unpack writes a program that uses this module, as it stands.
func unpack(t *testing.T, name string) string {
	t.Helper()
	a, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put := func(name, text string) {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	_, requires, _ := strings.Cut(string(mod), "\nrequire")
	put("go.sum", string(sum))
	for _, f := range a.Files {
		text := string(f.Data)
		if f.Name == "go.mod" {
			text += "\nreplace github.com/profguard/profguard => " + root + "\n\nrequire" + requires
		}
		put(f.Name, text)
	}
	return dir
}

// TestMayName: texts that may be a metric's name, or a part of it, and texts that are none.
func TestMayName(t *testing.T) {
	const metric = "shop_http_requests_total"
	for text, want := range map[string]bool{
		"shop_http_requests_total": true, "requests_total": true, "_requests_total": true,
		"shop.http.requests": true, "shop_http": true, "shop_http_requests_total_x": true,
		"shop": false, "total": false, "http": false, "requests": false, "quests_total": false, "orders_total": false,
	} {
		if mayName(text, metric) != want {
			t.Errorf("%s: expected %t", text, want)
		}
	}
	if !mayName("latency", "latency_seconds") || mayName("late", "latency_seconds") {
		t.Error("expected a text with a unit behind it, and no part of a word")
	}
}
