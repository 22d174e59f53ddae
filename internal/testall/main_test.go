package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Modules run abreast, no more, and what they say is not mixed.
func TestSideBySide(t *testing.T) {
	var modules []string
	for i := range 2 * abreast {
		modules = append(modules, fmt.Sprint("m", i))
	}
	arrived, leave := make(chan string), make(chan struct{})
	done := make(chan error)
	var out bytes.Buffer
	go func() {
		done <- testAll(&out, modules, func(dir string, out io.Writer) error {
			fmt.Fprintf(out, "%s begins\n", dir)
			arrived <- dir
			<-leave
			fmt.Fprintf(out, "%s ends\n", dir)
			return nil
		})
	}()
	for range abreast {
		<-arrived // none has left yet: they are there together
	}
	for range abreast {
		select {
		case dir := <-arrived:
			t.Errorf("%s came while %d were there", dir, abreast)
		case leave <- struct{}{}:
		}
		<-arrived
	}
	close(leave)
	if err := <-done; err != nil {
		t.Error(err)
	}
	for _, dir := range modules {
		if whole := dir + " begins\n" + dir + " ends\n"; !strings.Contains(out.String(), whole) {
			t.Errorf("the output of %s is not in one piece:\n%s", dir, &out)
		}
	}
}

// One failure does not hide the next.
func TestFailures(t *testing.T) {
	broken := errors.New("exit status 1")
	err := testAll(io.Discard, []string{"a", "b", "c"}, func(dir string, out io.Writer) error {
		if dir == "b" {
			return nil
		}
		return broken
	})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "a failed") || !strings.Contains(err.Error(), "c failed") || strings.Contains(err.Error(), "b failed") {
		t.Errorf("the error is %v, want one about a and c", err)
	}
}

// TestPackages: what takes longest begins first, and is there.
func TestPackages(t *testing.T) {
	if diff := cmp.Diff(append(slices.Clone(longest), "./..."), packages(filepath.Join("..", ".."))); diff != "" {
		t.Errorf("the root's packages (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"./..."}, packages(t.TempDir())); diff != "" {
		t.Errorf("another module's (-want +got):\n%s", diff)
	}
}

// TestGoTest: a nested module whose test fails makes the whole fail, and shows
// why; one in test data is left alone.
func TestGoTest(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs three modules")
	}
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	module := func(dir, body string) {
		t.Helper()
		write(dir+"/go.mod", "module example.com/m\n\ngo 1.26\n")
		write(dir+"/m_test.go", "package m\n\nimport \"testing\"\n\nfunc Test(t *testing.T) { "+body+" }\n")
	}
	module(".", "")
	module("sound", "")
	module("broken", `t.Error("planted")`)
	module("broken/testdata/inner", `t.Error("not ours")`)

	modules, err := find(root)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{root, filepath.Join(root, "sound"), filepath.Join(root, "broken")}
	if diff := cmp.Diff(want, modules); diff != "" {
		t.Errorf("modules (-want +got):\n%s", diff)
	}
	var out bytes.Buffer
	err = testAll(&out, modules, func(dir string, out io.Writer) error { return goTest(dir, nil, out) })
	if err == nil || strings.Count(err.Error(), "failed") != 1 || !strings.Contains(err.Error(), "broken failed") {
		t.Errorf("the error is %v, want one about broken", err)
	}
	if text := out.String(); !strings.Contains(text, "planted") || strings.Contains(text, "not ours") || strings.Count(text, ": ok, ") != 2 {
		t.Errorf("the output is\n%s", text)
	}
	if _, err := find(t.TempDir()); err == nil {
		t.Error("no error where there is no module")
	}
}
