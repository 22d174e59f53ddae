package repo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Lines that are changed, added and gone are told, and where the others are now.
func TestEdits(t *testing.T) {
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		if _, err := git(t.Context(), dir, nil, append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run("init", "-q")
	write("a b.go", "1\n2\n3\n-- x\n5\n6\n7\n")
	write("gone.go", "1\n")
	write("same.go", "1\n")
	run("add", "-A")
	run("commit", "-q", "-m", "base")
	run("config", "diff.noprefix", "true")
	write("a b.go", "1\nnew\n2\n3\n++ y\n5\n7\nend\n")
	write("other.go", "1\n")
	if err := os.Remove(filepath.Join(dir, "gone.go")); err != nil {
		t.Fatal(err)
	}
	r, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	from, err := r.Resolve(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	edits, err := r.Edits(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]Edit{
		"a b.go":   {{1, 0, 2, 1}, {4, 1, 5, 1}, {6, 1, 6, 0}, {7, 0, 8, 1}},
		"other.go": {{0, 0, 1, 1<<31 - 1}},
	}
	if diff := cmp.Diff(want, edits); diff != "" {
		t.Fatal(diff)
	}
	var lines []string
	for line := 1; line <= 7; line++ {
		now, same := Now(edits["a b.go"], line)
		lines = append(lines, map[bool]string{true: string(rune('0' + now)), false: "-"}[same])
	}
	if got := strings.Join(lines, " "); got != "1 3 4 - 6 - 7" {
		t.Errorf("found %s", got)
	}
	for line, want := range map[int]bool{1: false, 2: true, 3: false, 5: true, 6: false, 8: true} {
		has := false
		for _, e := range edits["a b.go"] {
			has = has || e.Has(line)
		}
		if has != want {
			t.Errorf("line %d: expected %t, found %t", line, want, has)
		}
	}
}
