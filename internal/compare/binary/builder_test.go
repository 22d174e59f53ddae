package binary

import (
	"os"
	"path/filepath"
	"testing"
)

// A binary that cannot be kept stays where it was built.
func TestKeep(t *testing.T) {
	dir := t.TempDir()
	built, kept := filepath.Join(dir, "built"), filepath.Join(dir, "kept")
	if err := os.WriteFile(built, []byte("binary"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(kept, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := keep(built, kept); err == nil {
		t.Error("a folder was replaced")
	}
	if _, err := os.Stat(built); err != nil {
		t.Errorf("it is gone: %v", err)
	}
	if err := os.RemoveAll(kept); err != nil {
		t.Fatal(err)
	}
	if err := keep(built, kept); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(kept); err != nil || string(text) != "binary" {
		t.Errorf("found %q, %v", text, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("found %v", entries)
	}
}

// What may change while the tree does not is not kept.
func TestUsesOthers(t *testing.T) {
	for text, want := range map[string]bool{
		"module a\n":                            false,
		"module a\n\nreplace b => ./b\n":        false,
		"module a\n\nreplace b => c v1.0.0\n":   false,
		"module a\n\nreplace b => ../b\n":       true,
		"module a\n\nreplace b => /home/me/b\n": true,
	} {
		mod := filepath.Join(t.TempDir(), "go.mod")
		if err := os.WriteFile(mod, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := usesOthers(mod, ""); got != want {
			t.Errorf("%q: found %t", text, got)
		}
		if !usesOthers(mod, "/x/go.work") {
			t.Errorf("%q: a workspace", text)
		}
	}
}

// A compile error begins with the error, not with what go has fetched for it.
func TestProblems(t *testing.T) {
	const said = "go: downloading github.com/a/b v1.2.3\ngo: finding module for package c\n# example.com/shop [example.com/shop.test]\n./shop_test.go:5:35: undefined: missing\ngo: downloading d v0.1.0\n"
	if got, want := problems(said), "./shop_test.go:5:35: undefined: missing"; got != want {
		t.Errorf("expected %q, found %q", want, got)
	}
	if got := problems("go: no such tool\n"); got != "go: no such tool" {
		t.Errorf("found %q", got)
	}
}
