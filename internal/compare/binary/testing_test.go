package binary

import (
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The clock fits package testing of this release. No line moves, so that profiles show the right ones.
func TestAddClock(t *testing.T) {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(goroot)), "src", "testing", "benchmark.go"))
	if err != nil {
		t.Fatal(err)
	}
	patched, err := addClock(text)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "benchmark.go", patched, 0); err != nil {
		t.Error(err)
	}
	if lines(text) != lines(patched) {
		t.Errorf("expected %d lines, found %d", lines(text), lines(patched))
	}
	if n := strings.Count(string(patched), "profguard"); n < 8 {
		t.Errorf("found %d of its names", n)
	}
}

func lines(text []byte) int { return strings.Count(string(text), "\n") }

// A package testing that it does not know is refused, rather than measured wrongly.
func TestAddClockUnknown(t *testing.T) {
	const known = "package testing\ntype B struct {\n}\nfunc (b *B) StartTimer() {}\nfunc (b *B) StopTimer() {}\nfunc (b *B) ResetTimer() {}\nfunc (b *B) runN(n int) {}\n"
	if _, err := addClock([]byte(known)); err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{{"runN", "runAll"}, {"type B struct", "type C struct"}, {"(b *B) StopTimer", "(x *B) StopTimer"}, {"StartTimer", "Start"}} {
		if _, err := addClock([]byte(strings.Replace(known, change[0], change[1], 1))); err == nil || !strings.Contains(err.Error(), "expected type B with the methods") {
			t.Errorf("%v: found %v", change, err)
		}
	}
}
