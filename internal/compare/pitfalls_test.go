package compare

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/profguard/profguard/internal/compare/report"
)

// changed is a repository with the files of an archive, as text, and changes to its working tree.
func changed(t *testing.T, files, changes string) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	for _, text := range []string{files, changes} {
		for _, f := range txtar.Parse([]byte(text)).Files {
			writeFile(t, filepath.Join(dir, f.Name), f.Data)
		}
		if text == files {
			git(t, dir, "add", "-A")
			git(t, dir, "commit", "-q", "-m", "base")
		}
	}
	return dir
}

// compared runs a comparison, and returns its benchmarks by their titles.
func compared(t *testing.T, c Config) (*report.Report, map[string]report.Benchmark) {
	t.Helper()
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := r.Write(&text, "text"); err != nil {
		t.Fatal(err)
	}
	t.Log(text.String())
	found := map[string]report.Benchmark{}
	for _, b := range r.Benchmarks {
		found[b.Title()] = b
	}
	return r, found
}

// A benchmark that looks for files by runtime.Caller is compared in a second run, too: only binaries
// with trimmed paths are kept.
func TestRunTwice(t *testing.T) {
	c := quick(t, committed(t), "./sources", "./bn")
	for range 2 {
		_, found := compared(t, c)
		for _, title := range []string{"sources.Sum", "bn.Sum"} {
			if b := found[title]; b.Verdict != report.Kept || b.Pairs == 0 {
				t.Errorf("%s: found %s, %q", title, b.Verdict, b.Reason)
			}
		}
	}
	kept, err := filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "profguard", "compare", "*.test"))
	if err != nil || len(kept) != 2 {
		t.Errorf("expected the binaries of two packages, found %q, %v", kept, err)
	}
}

// A benchmark may run or read code that its binary does not have.
func TestRunReaders(t *testing.T) {
	dir := changed(t, `
-- go.mod --
module example.com/shop

go 1.26
-- tool/main.go --
package main

func main() { println(1) }
-- runs/runs_test.go --
package runs

import (
	"os/exec"
	"testing"
)

func BenchmarkTool(b *testing.B) {
	path := b.TempDir() + "/tool"
	if out, err := exec.Command("go", "build", "-o", path, "../tool").CombinedOutput(); err != nil {
		b.Fatal(string(out))
	}
	for b.Loop() {
		if err := exec.Command(path).Run(); err != nil {
			b.Fatal(err)
		}
	}
}
-- parses/parses_test.go --
package parses_test

import (
	"go/parser"
	"go/token"
	"testing"
)

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		if _, err := parser.ParseFile(token.NewFileSet(), "../tool/main.go", nil, 0); err != nil {
			b.Fatal(err)
		}
	}
}
-- plain/plain_test.go --
package plain

import "testing"

func BenchmarkPlain(b *testing.B) { b.Fatal("is not run") }
`, `
-- tool/main.go --
package main

func main() { println(2) }
-- README.md --
A shop.
`)
	c := quick(t, dir, "./...")
	c.Time = 3 * time.Second
	r, found := compared(t, c)
	if len(found) != 2 || found["runs.Tool"].Pairs == 0 || found["parses.Parse"].Pairs == 0 {
		t.Errorf("found %v", found)
	}
	if len(r.Packages) != 1 || r.Packages[0].Path != "example.com/shop/plain" || r.Packages[0].Verdict != report.Kept {
		t.Errorf("found %v", r.Packages)
	}
	git(t, dir, "checkout", "-q", "tool")
	if r, found = compared(t, c); len(found) != 0 || len(r.Packages) != 3 {
		t.Errorf("only the documentation differs, and found %v, %v", found, r.Packages)
	}
}

// What fails on both sides is never broken, whichever is run first.
func TestRunFailsOnBothSides(t *testing.T) {
	const main = `package shop

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	m.Run()
	os.Exit(STATUS)
}

func BenchmarkSum(b *testing.B) {
	for b.Loop() {
		Sum(10_000)
	}
}
`
	const sum = `package shop

//go:noinline
func Sum(n int) (sum int) {
	for i := range n {
		sum += i
	}
	return sum
}
`
	files := func(status, more string) string {
		return "-- go.mod --\nmodule example.com/shop\n\ngo 1.26\n-- sum.go --\n" + sum + more + "-- main_test.go --\n" + strings.ReplaceAll(main, "STATUS", status)
	}
	r, found := compared(t, quick(t, changed(t, files("1", ""), files("1", "\nvar Unused = 1\n")), "."))
	if b := found["shop.Sum"]; b.Verdict != report.Unjudged || !strings.HasPrefix(b.Reason, "fails on both sides with -benchtime=") || r.Status() != report.SomeUndecided {
		t.Errorf("found %s, %q, status %d", b.Verdict, b.Reason, r.Status())
	}
	r, _ = compared(t, quick(t, changed(t, files("0", ""), files("1", "")), "."))
	if len(r.Packages) != 1 || r.Packages[0].Reason != "the test binary fails at the head" || r.Status() != report.SomeBroken {
		t.Errorf("found %v", r.Packages)
	}
}

// What goroutines compute after a benchmark has returned counts, and idle ones cost nothing.
func TestRunGoroutines(t *testing.T) {
	benchmark := func(name, handle string) string {
		return "-- " + name + "/x_test.go --\npackage " + name + `

import "testing"

//go:noinline
func work() (sum int) {
	for i := range 100_000 {
		sum += i ^ sum<<1
	}
	return sum
}
` + handle + `
func BenchmarkHandle(b *testing.B) {
	for range b.N {
		handle()
	}
}
`
	}
	const (
		plain = "func handle() { work() }\n"
		each  = "func handle() { go func() { for range 3 { work() } }() }\n"
		queue = "var jobs = make(chan int, 1<<20)\nfunc init() { go func() { for range jobs { for range 3 { work() } } }() }\nfunc handle() { jobs <- 1 }\n"
		idle  = "var jobs = make(chan int)\nfunc init() { go func() { for range jobs { work() } }() }\nfunc handle() { work() }\n"
		never = "func init() { go func() { for { work() } }() }\nfunc handle() { work() }\n"
	)
	mod := "-- go.mod --\nmodule example.com/shop\n\ngo 1.26\n"
	names := []string{"each", "queue", "idle", "never"}
	before, now := mod, mod
	for i, name := range names {
		before += benchmark(name, plain)
		now += benchmark(name, []string{each, queue, idle, never}[i])
	}
	_, found := compared(t, quick(t, changed(t, before, now), "./..."))
	for name, want := range map[string]struct {
		verdict report.Verdict
		reason  string
	}{
		"each":  {report.Broken, "CPU time above 60%"},
		"queue": {report.Broken, "CPU time above 60%"},
		"idle":  {report.Kept, ""},
		"never": {report.Undecided, "its goroutines work on for more than 5s after it has returned"},
	} {
		if b := found[name+".Handle"]; b.Verdict != want.verdict || !strings.HasPrefix(b.Reason, want.reason) {
			t.Errorf("%s: expected %s, %q, found %s, %q", name, want.verdict, want.reason, b.Verdict, b.Reason)
		}
	}
}
