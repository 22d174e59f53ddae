package repo

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func run(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// forked is a repository whose branches main and work part after their first commit.
func forked(t *testing.T) *Repo {
	dir := t.TempDir()
	run(t, dir, "init", "-q", "-b", "main")
	write(t, filepath.Join(dir, "go.mod"), "module a\n")
	write(t, filepath.Join(dir, "sub", "go.mod"), "module b\n")
	write(t, filepath.Join(dir, "testdata", "go.mod"), "module c\n")
	write(t, filepath.Join(dir, "x y.txt"), "first\n")
	run(t, dir, "add", "-A")
	run(t, dir, "commit", "-q", "-m", "first")
	run(t, dir, "checkout", "-q", "-b", "work")
	write(t, filepath.Join(dir, "x y.txt"), "work\n")
	run(t, dir, "commit", "-qam", "work")
	run(t, dir, "checkout", "-q", "main")
	write(t, filepath.Join(dir, "x y.txt"), "main\n")
	run(t, dir, "commit", "-qam", "main")
	run(t, dir, "checkout", "-q", "work")
	r, err := Open(t.Context(), filepath.Join(dir, "sub"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The base is where the histories part, and its files are written elsewhere.
func TestBase(t *testing.T) {
	r := forked(t)
	base, common, err := r.Base(t.Context(), "main")
	if err != nil || !common {
		t.Fatal(common, err)
	}
	dir := filepath.Join(t.TempDir(), "base")
	if err := r.Checkout(t.Context(), base, dir); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "x y.txt")); err != nil || string(text) != "first\n" {
		t.Errorf("found %q, %v", text, err)
	}
	if _, err := os.Stat(dir + ".index"); !os.IsNotExist(err) {
		t.Errorf("the index was left behind: %v", err)
	}
	if modified, err := r.Modified(t.Context()); modified || err != nil {
		t.Errorf("found %t, %v", modified, err)
	}
	write(t, filepath.Join(r.Root(), "new.txt"), "new\n")
	changes, err := r.Changes(t.Context(), base)
	if diff := cmp.Diff([]string{"x y.txt", "new.txt"}, changes); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	modules, err := r.Modules(t.Context())
	if diff := cmp.Diff([]string{".", "sub"}, modules); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// Without a common commit, as in a shallow clone, the named one is the base.
func TestBaseUnrelated(t *testing.T) {
	r := forked(t)
	run(t, r.Root(), "checkout", "-q", "--orphan", "other")
	run(t, r.Root(), "commit", "-q", "-m", "other")
	base, common, err := r.Base(t.Context(), "main")
	main, _ := r.Resolve(t.Context(), "main")
	if err != nil || common || base != main {
		t.Errorf("found %v, %t, %v", base, common, err)
	}
}

// The base has the files of its submodules, at its commit of them, but not of one that is not here.
func TestCheckoutSubmodules(t *testing.T) {
	lib := t.TempDir()
	run(t, lib, "init", "-q")
	write(t, filepath.Join(lib, "lib.go"), "first\n")
	run(t, lib, "add", "-A")
	run(t, lib, "commit", "-q", "-m", "first")
	r := forked(t)
	for _, name := range []string{"libs/here", "libs/absent"} {
		run(t, r.Root(), "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib, name)
	}
	run(t, r.Root(), "commit", "-q", "-m", "submodules")
	run(t, r.Root(), "submodule", "--quiet", "deinit", "libs/absent")
	here := filepath.Join(r.Root(), "libs", "here")
	write(t, filepath.Join(here, "lib.go"), "second\n")
	run(t, here, "commit", "-qam", "second")
	head, err := r.Resolve(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "base")
	if err := r.Checkout(t.Context(), head, dir); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "libs", "here", "lib.go")); err != nil || string(text) != "first\n" {
		t.Errorf("found %q, %v", text, err)
	}
	if list, err := filepath.Glob(filepath.Join(dir, "libs", "*", "*")); err != nil || len(list) != 1 {
		t.Errorf("found %q, %v", list, err)
	}
}

func TestResolveMistakes(t *testing.T) {
	r := forked(t)
	for _, name := range []string{"nowhere", "--output=x", "", "HEAD^{tree}"} {
		if rev, err := r.Resolve(t.Context(), name); err == nil || !strings.Contains(err.Error(), "expected a commit") {
			t.Errorf("%q: found %v, %v", name, rev, err)
		}
	}
}
