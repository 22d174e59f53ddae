package binary

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Two comment lines are the same code. A constant, a string, a table and an embedded file are not.
func TestSameCode(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems have no ELF files")
	}
	if testing.Short() {
		t.Skip("builds seven binaries")
	}
	const main = `package main

import _ "embed"

//go:embed data.txt
var data string

var table = [...]int{2, 3, 5}

func small(x int) int { return x * 3 }

//go:noinline
func sum(n int) (s int) {
	for i := range n {
		s += small(i) + table[i%len(table)]
	}
	if s < 0 {
		panic("negative")
	}
	return s
}

func unused() int { return 1 }

func main() { println(sum(len(data)), data, len(table)) }
`
	build := func(t *testing.T, text, data string) string {
		t.Helper()
		dir := t.TempDir()
		for name, text := range map[string]string{"go.mod": "module a\n\ngo 1.26\n", "main.go": text, "data.txt": data} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", "a.out", ".")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return filepath.Join(dir, "a.out")
	}
	first := build(t, main, "abc")
	for _, c := range []struct {
		name, from, to, data string
		want                 bool
	}{
		{"comments", "func small", "// Small\n// is dear.\nfunc small", "abc", true},
		{"code that is not linked", "return 1", "x := 2\n\treturn x", "abc", true},
		{"a constant", "x * 3", "x * 5", "abc", false},
		{"a string", `"negative"`, `"megative"`, "abc", false},
		{"data", "{2, 3, 5}", "{2, 3, 7}", "abc", false},
		{"an embedded file", "", "", "abd", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			second := build(t, strings.Replace(main, c.from, c.to, 1), c.data)
			if got := SameCode(first, second); got != c.want {
				t.Errorf("expected %t, found %t", c.want, got)
			}
			x, errX := hash(first)
			y, errY := hash(second)
			if errX != nil || errY != nil || string(x) == string(y) {
				t.Errorf("each byte is the same, or %v, %v", errX, errY)
			}
		})
	}
	// What is no ELF file is the same if each byte is.
	text := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if !SameCode(text("a", "x"), text("b", "x")) || SameCode(text("a", "x"), text("b", "y")) || SameCode(first, text("b", "x")) || SameCode("nowhere", "nowhere") {
		t.Error("files of other kinds are taken for the same, or not")
	}
}

// Comments and white space change nothing, but for comments that tell the compiler something.
func TestSameSource(t *testing.T) {
	const text = "package a\n\nimport \"fmt\"\n\nfunc f(x int) {\n\tfmt.Println(x, \"// no comment\")\n}\n"
	for _, c := range []struct {
		name, from, to string
		want           bool
	}{
		{"nothing", "", "", true},
		{"a comment", "func f", "// f prints.\nfunc f", true},
		{"a comment at the end of a line", "{\n", "{ // prints\n", true},
		{"white space", "(x, ", "(x,  ", true},
		{"a literal", "no comment", "a comment", false},
		{"an operator", "(x,", "(-x,", false},
		{"a directive", "func f", "//go:noinline\nfunc f", false},
		{"a build tag", "package a", "//go:build linux\n\npackage a", false},
		{"an old build tag", "package a", "// +build linux\n\npackage a", false},
		{"C", "import ", "import \"C\"\n\nimport ", false},
		{"no Go", "func f", "func 'f", false},
		{"a line end that ends a statement", "Println(x", "Println\n(x", false},
	} {
		changed := strings.Replace(text, c.from, c.to, 1)
		if got := SameSource([]byte(text), []byte(changed)); got != c.want {
			t.Errorf("%s: expected %t, found %t", c.name, c.want, got)
		}
	}
	for _, path := range []string{"\"C\"", "`C`"} {
		c := "package a\n\n// int f(void);\nimport " + path + "\n"
		if SameSource([]byte(c), []byte(strings.Replace(c, "int", "long", 1))) || !SameSource([]byte(c), []byte(c)) {
			t.Errorf("a comment before import %s is code", path)
		}
	}
}
