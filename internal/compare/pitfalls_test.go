package compare

import (
	"context"
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
	if testing.Short() {
		t.Skip("builds and runs test binaries, which have no race detector")
	}
	c := quick(t, committed(t), "./sources")
	for range 2 {
		_, found := compared(t, c)
		if b := found["sources.Sum"]; b.Verdict != report.Kept || b.Pairs == 0 {
			t.Errorf("found %s, %q", b.Verdict, b.Reason)
		}
	}
	kept, err := filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "profguard", "compare", "*.test"))
	if err != nil || len(kept) != 1 {
		t.Errorf("expected the binary of the base, found %q, %v", kept, err)
	}
}

// A benchmark may run or read code that its binary does not have.
func TestRunReaders(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for a minute")
	}
	t.Parallel()
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
-- page/page.md --
Hello
-- page/page_test.go --
package page

import (
	_ "embed"
	"testing"
)

//go:embed page.md
var page string

func BenchmarkPage(b *testing.B) { b.Fatal(page) }
`, `
-- tool/main.go --
package main

func main() { println(2) }
-- README.md --
A shop.
`)
	c := quickBeside(t, dir, "./...")
	c.Time = time.Second
	r, found := compared(t, c)
	if len(found) != 2 || found["runs.Tool"].Package == "" || found["parses.Parse"].Package == "" { // whatever the verdict in so short a time
		t.Errorf("found %v", found)
	}
	if len(r.Packages) != 2 || r.Packages[0].Path != "example.com/shop/page" || r.Packages[1].Path != "example.com/shop/plain" || r.Packages[1].Verdict != report.Kept {
		t.Errorf("found %v", r.Packages)
	}
	git(t, dir, "checkout", "-q", "tool")
	edit(t, filepath.Join(dir, "tool", "main.go"), "func main", "// main prints.\nfunc main")
	if r, found = compared(t, c); len(found) != 0 || len(r.Packages) != 4 {
		t.Errorf("only the documentation and a comment differ, and found %v, %v", found, r.Packages)
	}
	edit(t, filepath.Join(dir, "page", "page.md"), "Hello", "Hello, world")
	if r, found = compared(t, c); len(found) != 1 || found["page.Page"].Package == "" || len(r.Packages) != 3 {
		t.Errorf("a binary has the documentation that differs, and found %v, %v", found, r.Packages)
	}
}

// The benchmarks of a module with a new path have nothing to be compared with, and that is why.
func TestRunRenamed(t *testing.T) {
	t.Parallel()
	const files = "-- go.mod --\nmodule example.com/shop\n\ngo 1.26\n-- shop_test.go --\npackage shop\n\nimport \"testing\"\n\nfunc BenchmarkSum(b *testing.B) {}\n"
	r, _ := compared(t, quickBeside(t, changed(t, files, strings.Replace(files, "shop\n", "shop/v2\n", 1)), "."))
	const want = "the module is example.com/shop at the base and example.com/shop/v2 now: packages are compared by their import paths"
	if r.Verdict() != report.Undecided || len(r.Notes) != 1 || r.Notes[0] != want {
		t.Errorf("found %s, %q", r.Verdict(), r.Notes)
	}
}

// What fails on both sides is never broken, whichever is run first, and a binary that fails is one row.
func TestRunFailsOnBothSides(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs test binaries, which have no race detector")
	}
	t.Parallel()
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
	r, _ := compared(t, quickBeside(t, changed(t, files("1", ""), files("1", "\nfunc init() { Sum(1) }\n")), "."))
	if len(r.Packages) != 1 || r.Packages[0].Reason != "the test binary fails on both sides" || r.Verdict() != report.Undecided || r.Summary() != "1 not compared" {
		t.Errorf("found %s, %v, status %s", r.Summary(), r.Packages, r.Verdict())
	}
	r, _ = compared(t, quickBeside(t, changed(t, files("0", ""), files("1", "")), "."))
	if len(r.Packages) != 1 || r.Packages[0].Reason != "the test binary fails at the head" || r.Verdict() != report.Broken || r.Summary() != "1 broken" {
		t.Errorf("found %s, %v", r.Summary(), r.Packages)
	}
}

// What goroutines compute after a benchmark has returned counts, and idle ones cost nothing.
func TestRunGoroutines(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for a minute")
	}
	t.Parallel()
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
	_, found := compared(t, quickBeside(t, changed(t, before, now), "./..."))
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

// Go writes sums beside go.work, and with -mod=mod beside go.mod. It gets copies, also of a workspace
// that the user names, whose modules at the base are the base's.
func TestRunWorkspace(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for a minute")
	}
	text, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	_, version, _ := strings.Cut(string(text), "github.com/google/go-cmp ")
	version, _, _ = strings.Cut(version, "\n")
	files := `
-- app/go.mod --
module example.com/app

go 1.26

require github.com/google/go-cmp ` + version + `
-- app/app_test.go --
package app

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/lib"
)

func BenchmarkSum(b *testing.B) {
	for b.Loop() {
		cmp.Equal(lib.Sum(10_000), 1)
	}
}
-- lib/go.mod --
module example.com/lib

go 1.26
-- lib/lib.go --
package lib

//go:noinline
func Sum(n int) (sum int) {
	for i := range n {
		sum += i ^ sum<<1
	}
	return sum
}
`
	const work = "-- go.work --\ngo 1.26\n\nuse ./app\n\nuse ./lib\n"
	const changes = "-- lib/lib.go --\npackage lib\n\n//go:noinline\nfunc Sum(n int) (sum int) {\n\tfor i := range 3 * n {\n\t\tsum += i ^ sum<<1\n\t}\n\treturn sum\n}\n"
	replaced := strings.Replace(files, "\nrequire ", "\nrequire example.com/lib v0.0.0\n\nreplace example.com/lib => ../lib\n\nrequire ", 1)
	t.Setenv("GOSUMDB", "off")
	t.Setenv("GOPROXY", "off")
	for name, c := range map[string]struct{ files, env, value string }{
		"go.work":    {work + files, "GOWORK", ""},
		"GOWORK":     {work + files, "GOWORK", "go.work"},
		"-mod=mod":   {replaced, "GOFLAGS", "-mod=mod"},
		"ignored":    {files + "-- .gitignore --\ngo.work\n", "GOWORK", ""},
		"not in git": {files, "GOWORK", "untracked.work"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := changed(t, c.files, changes)
			if c.value == "untracked.work" {
				writeFile(t, filepath.Join(dir, c.value), []byte(strings.TrimPrefix(work, "-- go.work --\n")))
			}
			if name == "ignored" {
				writeFile(t, filepath.Join(dir, "go.work"), []byte(strings.TrimPrefix(work, "-- go.work --\n")))
			}
			before := content(t, dir)
			if strings.HasSuffix(c.value, ".work") {
				c.value = filepath.Join(dir, c.value)
			}
			t.Setenv(c.env, c.value)
			_, found := compared(t, quick(t, filepath.Join(dir, "app"), "."))
			if b := found["app.Sum"]; b.Verdict != report.Broken || b.Reason != "CPU time above 60%" || b.Why == nil || b.Why.File != "lib/lib.go" {
				t.Errorf("found %s, %q, %+v", b.Verdict, b.Reason, b.Why)
			}
			after := content(t, dir)
			for path := range after {
				if before[path] != after[path] {
					t.Errorf("%s is new or changed", path)
				}
			}
		})
	}
}

// What go builds is in the folder that is removed, also if it is interrupted.
func TestRunInterruptedBuild(t *testing.T) {
	c := quick(t, committed(t), "./bn")
	temp := os.Getenv("TMPDIR")
	t.Setenv("GOCACHE", t.TempDir()) // so that there is much to build
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.Progress = func(p Progress) {
		if strings.HasPrefix(p.Doing, "building") {
			go func() {
				for building := []string(nil); len(building) == 0 && ctx.Err() == nil; time.Sleep(time.Millisecond) {
					building, _ = filepath.Glob(filepath.Join(temp, "profguard-compare-*", "*", "go-build*"))
				}
				cancel()
			}()
		}
	}
	if r, err := Run(ctx, c); err != nil || !r.Stopped {
		t.Errorf("found %+v, %v", r, err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("%v was left behind, %v", left, err)
	}
}

// Functions are named by their profiles, so not for what children compute; and lines to look at are
// those of the repository. Packages that end in the same element do not share a title or a profile.
func TestRunWhy(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for a minute")
	}
	t.Parallel()
	spawn := func(name, body string) string {
		return "-- " + name + "/parser/parser.go --\npackage parser\n\nvar sink []byte\n\nfunc spawn(done chan int) {\n" + body + "\tdone <- 1\n}\n"
	}
	const test = `package parser

import "testing"

func BenchmarkSpawn(b *testing.B) {
	done := make(chan int, 1)
	for b.Loop() {
		spawn(done)
		<-done
	}
}
`
	const more = "\tfor range 4 {\n\t\tstep := make(chan int)\n\t\tgo func() { step <- 1 }()\n\t\t<-step\n\t}\n"
	const runs = `package runs

import (
	"os"
	"os/exec"
	"testing"
)

var sink int

func TestMain(m *testing.M) {
	if os.Getenv("SHOP_CHILD") == "" {
		os.Exit(m.Run())
	}
	for i := range steps {
		sink += i ^ sink<<1
	}
}

func BenchmarkChild(b *testing.B) {
	for b.Loop() {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "SHOP_CHILD=1")
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
	}
}
`
	dir := changed(t, "-- go.mod --\nmodule example.com/shop\n\ngo 1.26\n"+
		spawn("a", "")+"-- a/parser/parser_test.go --\n"+test+spawn("b", "")+"-- b/parser/parser_test.go --\n"+test+
		"-- runs/runs_test.go --\n"+runs+"-- runs/steps.go --\npackage runs\n\nconst steps = 10_000_000\n",
		spawn("a", more)+spawn("b", more)+"-- runs/steps.go --\npackage runs\n\nconst steps = 100_000_000\n")
	_, found := compared(t, quickBeside(t, dir, "./..."))
	if b := found["runs.Child"]; b.Verdict != report.Broken || b.Why == nil || len(b.Why.Rows) > 0 || !strings.HasSuffix(b.Why.Note, "% of the CPU time is in child processes, which have no profile") {
		t.Errorf("found %s, %+v", b.Verdict, b.Why)
	}
	commands := map[string]bool{}
	for _, title := range []string{"a/parser.Spawn", "b/parser.Spawn"} {
		b := found[title]
		if b.Verdict != report.Broken || b.Why == nil || b.Why.File != "" && !strings.HasPrefix(b.Why.File, title[:len("a/parser/")-1]+"/") {
			t.Errorf("%s: found %s, %+v", title, b.Verdict, b.Why)
			continue
		}
		commands[b.Why.Command] = true
	}
	if len(commands) != 2 {
		t.Errorf("found %v", commands)
	}
	// Each call allocates at the ends of 30,000 ways, each another one of 120 frames: a profile of all has 4 million.
	deep := func(size string) string {
		return "-- deep/deep.go --\npackage deep\n\nimport \"math/rand/v2\"\n\nvar sink []byte\n\n" +
			"func left(n int) { next(n-1) }\n\nfunc right(n int) { next(n-1) }\n\nfunc next(n int) {\n\tswitch {\n\tcase n == 0:\n\t\tsink = make([]byte, " + size + ")\n" +
			"\tcase rand.IntN(2) == 0:\n\t\tleft(n)\n\tdefault:\n\t\tright(n)\n\t}\n}\n"
	}
	const deepTest = "package deep\n\nimport \"testing\"\n\nfunc BenchmarkWays(b *testing.B) {\n\tfor b.Loop() {\n\t\tfor range 30_000 {\n\t\t\tnext(60)\n\t\t}\n\t}\n}\n"
	dir = changed(t, "-- go.mod --\nmodule example.com/shop\n\ngo 1.26\n"+spawn("a", "")+"-- a/parser/parser_test.go --\n"+test+
		deep("100")+"-- deep/deep_test.go --\n"+deepTest, spawn("a", more)+deep("200"))
	c := quickBeside(t, dir, "./...")
	var err error
	if c.Budgets, err = ParseBudgets([]string{"process grows below 5% per call of allocs"}); err != nil {
		t.Fatal(err)
	}
	_, found = compared(t, c)
	if b := found["parser.Spawn"]; b.Verdict != report.Broken || b.Why == nil || b.Why.File != "a/parser/parser.go" || len(b.Why.Rows) == 0 || !strings.Contains(b.Why.Rows[0].Text, "a/parser/parser.go:") {
		t.Errorf("found %s, %+v", b.Verdict, b.Why)
	}
	if b := found["deep.Ways"]; b.Verdict != report.Broken || b.Why == nil || b.Why.File != "deep/deep.go" || strings.Contains(b.Why.Note, "estimates") {
		t.Errorf("a profile that is too large: found %s, %+v", b.Verdict, b.Why)
	}
}
