package compare

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/profguard/profguard/internal/compare/report"
)

// git runs git in a folder, as a user with a name.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// write writes the files of an archive, and removes those without content.
func write(t *testing.T, dir, archive string) {
	t.Helper()
	a, err := txtar.ParseFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Files {
		writeFile(t, filepath.Join(dir, f.Name), f.Data)
	}
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if len(data) == 0 {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// committed is a repository with the base as its commit, and the head's changes in its working tree.
func committed(t *testing.T) string {
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	write(t, dir, "testdata/base.txtar")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "base")
	write(t, dir, "testdata/head.txtar")
	return dir
}

// TestMain gives all tests a cache of their own for what compare keeps, and the user's for what go compiles. They link
// many test binaries, without what only debuggers read.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "profguard-test-")
	if err != nil {
		panic(err)
	}
	os.Setenv("GOCACHE", goCache())
	os.Setenv("GOFLAGS", strings.TrimSpace(os.Getenv("GOFLAGS")+" -ldflags=-w"))
	os.Setenv("XDG_CACHE_HOME", dir)
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// quick is a configuration whose slices are short, and whose limit is far from what is planted, for a test that looks at
// what is kept and left behind.
func quick(t *testing.T, dir string, patterns ...string) Config {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	return quickBeside(t, dir, patterns...)
}

// quickBeside is one for a test that may run beside others: they wait more than they compute.
func quickBeside(t *testing.T, dir string, patterns ...string) Config {
	t.Helper()
	budgets, err := ParseBudgets([]string{"process grows below 60% per call", "process grows below 5% per call of allocs"})
	if err != nil {
		t.Fatal(err)
	}
	return Config{Dir: dir, Base: "HEAD", Bench: ".", Patterns: patterns, Budgets: budgets, Time: 5 * time.Minute, slice: 5 * time.Millisecond}
}

// goCache is where go keeps what it has compiled, whatever a test sets.
var goCache = sync.OnceValue(func() string {
	out, _ := exec.Command("go", "env", "GOCACHE").Output()
	return strings.TrimSpace(string(out))
})

// edit replaces a text in a file.
func edit(t *testing.T, path, from, to string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(text, []byte(from)) {
		t.Fatalf("%s: expected %q in it, %v", path, from, err)
	}
	writeFile(t, path, bytes.Replace(text, []byte(from), []byte(to), 1))
}

// content is the names and contents of all files below a folder.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestRun is one comparison of many kinds of benchmarks. The head is not committed.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("builds forty test binaries")
	}
	dir := committed(t)
	before := content(t, dir)
	r, err := Run(t.Context(), quick(t, dir, "./..."))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := r.Write(&text, "text"); err != nil {
		t.Fatal(err)
	}
	t.Log(text.String())
	type row struct {
		name    string
		verdict report.Verdict
		reason  string // a part of it
		status  report.Verdict
	}
	want := map[string]row{}
	for _, w := range []row{
		{"bn.Sum", report.Kept, "", report.Kept},
		{"loop.Sum", report.Broken, "CPU time above 60%", report.Broken},
		{"parallel.Sum", report.Kept, "", report.Kept},
		{"sub.Sum/small", report.Kept, "", report.Kept},
		{"sub.Sum/with_space/and_[brackets]", report.Kept, "", report.Kept},
		{"sub.Sum/new", report.Kept, "", report.Kept},
		{"fresh.Step", report.Broken, "CPU time above 60%", report.Broken},
		{"newer.First", report.Kept, "", report.Kept},
		{"newer.Second", report.Unjudged, "is new, and the head's test files do not compile at the base", report.Undecided},
		{"added.Sum", report.Unjudged, "takes less than", report.Undecided},
		{"sub.Sum/gone", report.Unjudged, "is gone", report.Undecided},
		{"sub.Gone", report.Unjudged, "is gone", report.Undecided},
		{"testmain.Sum", report.Kept, "", report.Kept},
		{"prints.Sum", report.Kept, "", report.Kept},
		{"fails.Head", report.Broken, "fails at the head", report.Broken},
		{"fails.Base", report.Unjudged, "fails at the base", report.Undecided},
		{"fails.Both", report.Unjudged, "fails on both sides", report.Undecided},
		{"fails.Panics", report.Broken, "fails at the head", report.Broken},
		{"fails.Exits", report.Broken, "fails at the head", report.Broken},
		{"fails.Skips", report.Unjudged, "is skipped at the head", report.Undecided},
		{"linked.Add", report.Kept, "", report.Kept},
		{"embedded.Sum", report.Broken, "CPU time above 60%", report.Broken},
		{"tags.Sum", report.Kept, "", report.Kept},
		{"allocs.Make", report.Broken, "bytes above 5%", report.Broken},
		{"sources.Sum", report.Kept, "", report.Kept},
		{"setup.Sum", report.Kept, "", report.Kept},
		{"same.Sum", report.Unjudged, "fails on both sides", report.Undecided}, // as data of others differs
	} {
		want[w.name] = w
	}
	for _, b := range r.Benchmarks {
		w, ok := want[b.Title()]
		delete(want, b.Title())
		status := (&report.Report{Benchmarks: []report.Benchmark{b}}).Verdict()
		if !ok || b.Verdict != w.verdict || !strings.Contains(b.Reason, w.reason) || status != w.status {
			t.Errorf("%s: expected %s, %q, status %s, found %s, %q, status %s", b.Title(), w.verdict, w.reason, w.status, b.Verdict, b.Reason, status)
		}
	}
	for name := range want {
		t.Errorf("%s is not in the report", name)
	}
	for _, b := range r.Benchmarks {
		switch b.Title() {
		case "sub.Sum/new", "fresh.Step":
			if !b.New || b.Pairs == 0 {
				t.Errorf("%s: expected a comparison by the head's tests, found %+v", b.Title(), b)
			}
		case "newer.Second":
			if !strings.HasPrefix(b.Output, "newer/newer_test.go:13:3: undefined: Second") {
				t.Errorf("%s: found %q", b.Title(), b.Output)
			}
		case "newer.First":
			if b.New {
				t.Errorf("%s is not new", b.Title())
			}
		case "loop.Sum", "allocs.Make":
			name, _, _ := strings.Cut(b.Title(), ".")
			if b.Why == nil || b.Why.Command == "" || b.Why.File != name+"/"+name+"_test.go" {
				t.Errorf("%s: found %+v", b.Title(), b.Why)
			}
		}
	}
	packages := map[string]string{
		"uncompiled": "broken: does not compile at the head",
		"compiled":   "not compared: does not compile at the base",
		"removed":    "not compared: its benchmarks are gone: there are none at the head",
	}
	for _, p := range r.Packages {
		name := strings.TrimPrefix(p.Path, "example.com/shop/")
		if found := string(p.Verdict) + ": " + p.Reason; packages[name] != found {
			t.Errorf("%s: expected %q, found %q", name, packages[name], found)
		}
		delete(packages, name)
		if name == "compiled" || name == "uncompiled" {
			if want := name + "/" + name + "_test.go:5:35: undefined: missing"; p.Output != want {
				t.Errorf("%s: expected %q, found %q", name, want, p.Output)
			}
		}
	}
	for name := range packages {
		t.Errorf("%s is not in the report", name)
	}
	if r.Verdict() != report.Broken || !r.Head.Modified {
		t.Errorf("found %s, modified %t", r.Verdict(), r.Head.Modified)
	}
	after := content(t, dir)
	for name, text := range after {
		if before[name] != text {
			t.Errorf("%s is new or changed", name)
		}
	}
	left(t)
}

// left reports what a comparison has left behind.
func left(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "profguard") {
			t.Errorf("%s was left behind", e.Name())
		}
	}
	processes, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range processes {
		if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte(os.Getenv("TMPDIR"))) {
			t.Errorf("a process was left behind: %q", text)
		}
	}
}

// Where only comments have changed, nothing is built. Binaries with the same code are not measured, unless files that
// they may read differ.
func TestRunSame(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs test binaries, which have no race detector")
	}
	dir := committed(t)
	git(t, dir, "checkout", "-q", ".")
	git(t, dir, "clean", "-qfd")
	edit(t, filepath.Join(dir, "work", "work.go"), "// Sum", "// Two lines\n// of comment.\n\n// Sum")
	c := quick(t, dir, "./same", "./bn")
	built := false
	c.Progress = func(p Progress) { built = built || strings.HasPrefix(p.Doing, "building") }
	for _, builds := range []bool{false, true} {
		if builds {
			edit(t, filepath.Join(dir, "fresh", "fresh.go"), "0)", "1)") // which they do not import
		}
		r, err := Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if r.Summary() != "2 packages the same" || r.Verdict() != report.Kept || len(r.Benchmarks) > 0 || built != builds {
			t.Errorf("found %s, built: %t, expected %t", r.Summary(), built, builds)
		}
	}
	writeFile(t, filepath.Join(dir, "bn", "testdata", "data.txt"), []byte("x"))
	c.Patterns = []string{"./bn"}
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Benchmarks) != 1 || r.Benchmarks[0].Pairs == 0 {
		t.Errorf("data has changed, and found %+v", r.Benchmarks)
	}
}

// A benchmark that takes longer than the time is undecided, and says what it needs.
func TestRunSlow(t *testing.T) {
	dir := committed(t)
	writeFile(t, filepath.Join(dir, "bn", "bn_test.go"), []byte(`package bn

import (
	"testing"
	"time"
)

func BenchmarkSum(b *testing.B) {
	for b.Loop() {
		time.Sleep(300 * time.Millisecond) // as a minute
	}
}
`))
	c := quick(t, dir, "./bn")
	c.Time = 2 * time.Second
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Benchmarks) != 1 || r.Verdict() != report.Undecided || !strings.Contains(r.Benchmarks[0].Reason, "in the time") || !r.TimeIsUp {
		t.Errorf("found %+v", r.Benchmarks)
	}
	left(t)
}

// An interrupt tells what is known, and leaves nothing behind.
func TestRunInterrupted(t *testing.T) {
	dir := committed(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := quick(t, dir, "./bn", "./loop")
	c.Same, c.slice = true, 200*time.Millisecond
	c.Progress = func(p Progress) {
		if p.Pairs == 4 {
			cancel()
		}
	}
	r, err := Run(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Stopped || r.Verdict() != report.Undecided || len(r.Benchmarks) != 2 || r.Benchmarks[0].Pairs == 0 || r.Benchmarks[0].CPU.Growth == nil {
		t.Errorf("found %+v", r)
	}
	left(t)
}

// What cannot work says what was expected, and what to do.
func TestRunMistakes(t *testing.T) {
	dir := committed(t)
	for name, test := range map[string]struct {
		change func(t *testing.T, c *Config)
		want   string
	}{
		"no revision": {func(_ *testing.T, c *Config) { c.Base = "v9" }, `expected a commit, found "v9", which is not in this repository; git branch -a and git tag list what is there`},
		"shallow clone": {func(t *testing.T, c *Config) {
			to := filepath.Join(t.TempDir(), "clone")
			git(t, dir, "clone", "-q", "--depth=1", "file://"+dir, to)
			c.Dir, c.Base = to, "HEAD~1"
		}, "this is a shallow clone"},
		"no repository":         {func(t *testing.T, c *Config) { c.Dir = t.TempDir() }, "expected a git repository with a working tree"},
		"no git":                {func(t *testing.T, c *Config) { t.Setenv("PATH", t.TempDir()) }, "expected git in PATH, found none"},
		"no module":             {func(t *testing.T, c *Config) { remove(t, filepath.Join(dir, "go.mod")) }, "this repository has modules in ., other: run the command there"},
		"no such package":       {func(_ *testing.T, c *Config) { c.Patterns = []string{"./nowhere"} }, "nowhere"},
		"option as a name":      {func(_ *testing.T, c *Config) { c.Base = "--all" }, `expected a commit, found "--all"`},
		"no such benchmark":     {func(_ *testing.T, c *Config) { c.Bench, c.Patterns = "NoSuch", []string{"./bn", "./same"} }, `-bench: expected a benchmark that matches "NoSuch", found none in 2 packages: there is BenchmarkSum`},
		"no such sub-benchmark": {func(_ *testing.T, c *Config) { c.Bench, c.Patterns = "Sum/none", []string{"./bn"} }, `-bench: expected a benchmark that matches "Sum/none", none in 1 package has run`},
		"overlay":               {func(t *testing.T, c *Config) { t.Setenv("GOFLAGS", "-overlay=x.json") }, "expected GOFLAGS without -overlay"},
	} {
		t.Run(name, func(t *testing.T) {
			c := quick(t, dir, "./bn")
			test.change(t, &c)
			_, err := Run(t.Context(), c)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("expected %q, found %v", test.want, err)
			}
		})
	}
}

// remove takes a file away for one test.
func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Rename(path+".away", path); err != nil {
			t.Error(err)
		}
	})
}

// Go test splits an expression before it matches: the first elements count.
func TestFirstLevel(t *testing.T) {
	for bench, want := range map[string]string{
		"": "", ".": ".", "Sum": "Sum", "Sum/small": "Sum", "Sum/a|Add/b/c": "Sum|Add", "(Sum|Add)/x": "(Sum|Add)", "[/|]Sum": "[/|]Sum", `a\/b|c`: `a\/b|c`, "/x": "", `a\`: `a\`,
	} {
		if got := firstLevel(bench); got != want {
			t.Errorf("%q: expected %q, found %q", bench, want, got)
		}
	}
}
