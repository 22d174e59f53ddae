package profguard_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	_ "net/http/pprof"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/guard"
)

// The README as acceptance tests: its snippets stand in this file and those called readme, word for
// word but for the indentation, and run; its sentences parse; its commands and links lead somewhere.

var served atomic.Int64

func requests() float64 { return float64(served.Load()) }

// profileDir is where the service keeps profiles.
var profileDir string

// serve is what the service does in the README: it looks what the guard watches.
func serve() error {
	families, err := prometheus.DefaultRegisterer.(prometheus.Gatherer).Gather()
	i := slices.IndexFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == "profguard_budget_state" })
	if i < 0 || len(families[i].GetMetric()) != 3 {
		return fmt.Errorf("expected a guard that watches 3 budgets, found %v, %w", families, err)
	}
	return nil
}

// useDefaults puts a registry of its own in the place of the default one.
func useDefaults() (restore func()) {
	old := prometheus.DefaultRegisterer
	prometheus.DefaultRegisterer = prometheus.NewRegistry()
	return func() { prometheus.DefaultRegisterer = old }
}

func serveOneCheckout(ctx context.Context) {
	for i := range 20 {
		spread[i%10](ctx)
	}
}

func TestReadmeService(t *testing.T) {
	defer useDefaults()()
	profileDir = t.TempDir()
	if err := run(); err != nil {
		t.Fatal(err)
	}
}

// TestReadmePprof takes a profile at the path of net/http/pprof while windows follow each other.
func TestReadmePprof(t *testing.T) {
	defer useDefaults()()
	g, err := guard.Start(guard.Config{Every: time.Second, Window: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Stop()
	mux := http.NewServeMux()
	// README: pprof
	mux.Handle("/debug/pprof/", http.DefaultServeMux)
	mux.Handle("/debug/pprof/profile", http.StripPrefix("/debug/pprof", g.Handler()))
	// README: end
	get := func(path string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", path, nil)
		r.Host = "localhost"
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w
	}
	if w := get("/debug/pprof/"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "goroutine") {
		t.Errorf("the index of net/http/pprof: %d, %s", w.Code, w.Body)
	}
	w := get("/debug/pprof/profile?seconds=1")
	for try := 0; w.Code != http.StatusOK && try < 10; try++ { // a busy machine may lose a profile
		w = get("/debug/pprof/profile?seconds=1")
	}
	if w.Code != http.StatusOK {
		t.Fatalf("the profile: %d, %s", w.Code, w.Body)
	}
	if _, err := profile.Parse(w.Body); err != nil {
		t.Error(err)
	}
}

// TestReadmeSnippets finds the marked regions in the README, and the imports of what is declared there.
func TestReadmeSnippets(t *testing.T) {
	readme := read(t, "README.md")
	source := read(t, "guard_test.go") + read(t, "readme_service_test.go") + read(t, "readme_check_test.go")
	regions := regexp.MustCompile(`(?s)// README: (\w+)\n(.*?)\n[\t ]*// README: end`).FindAllStringSubmatch(source, -1)
	if len(regions) != 3 {
		t.Fatalf("expected 3 marked regions, found %d", len(regions))
	}
	for _, r := range regions {
		if !strings.Contains(flat(readme), flat(r[2])) {
			t.Errorf("README.md does not show the snippet %q as it stands in the test:\n%s", r[1], r[2])
		}
	}
}

// TestReadmeLength: a reader sees all of it before they decide.
func TestReadmeLength(t *testing.T) {
	if n := strings.Count(read(t, "README.md"), "\n"); n > 100 {
		t.Errorf("README.md has %d lines, expected at most 100: move something to docs", n)
	}
}

// TestReadmeLinks: each link into the repository leads to a file, in README and in docs.
func TestReadmeLinks(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages in docs (%v)", err)
	}
	for _, page := range append(pages, "README.md", "CONTRIBUTING.md", "CHANGELOG.md") {
		for _, m := range regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`).FindAllStringSubmatch(read(t, page), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}

// TestReadmeImports: a snippet that declares something can be copied as it is.
func TestReadmeImports(t *testing.T) {
	for _, m := range regexp.MustCompile("(?s)```go\n(.*?)\n *```").FindAllStringSubmatch(read(t, "README.md"), -1) {
		if strings.Contains(m[1], "\nfunc ") != strings.HasPrefix(m[1], "import (") || strings.HasPrefix(m[1], "func ") {
			t.Errorf("expected import and func together:\n%s", m[1])
		}
	}
}

// flat takes the indentation off.
func flat(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return b.String()
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestReadmeSentences parses the budgets at the top.
func TestReadmeSentences(t *testing.T) {
	_, text, _ := strings.Cut(read(t, "README.md"), "\n```\n")
	text, _, _ = strings.Cut(text, "\n```\n")
	set, err := budget.Parse(text)
	if err != nil || len(set) < 5 {
		t.Errorf("expected at least 5 budgets at the top of README.md, found %v, %v", set, err)
	}
}

// TestReadmeExports compares the README's names with those of docs/reference.md,
// which is made from the code.
func TestReadmeExports(t *testing.T) {
	exported := read(t, "docs/reference.md")
	for _, m := range regexp.MustCompile("`(profguard[_.][a-z_.]+)").FindAllStringSubmatch(read(t, "README.md"), -1) {
		if !strings.Contains(exported, "`"+m[1]+"`") {
			t.Errorf("README.md names %s, docs/reference.md does not", m[1])
		}
	}
}

// TestReadmeCommands: the README's commands exist, and all have one version. CI runs the tests as CONTRIBUTING says.
func TestReadmeCommands(t *testing.T) {
	readme, list := read(t, "README.md"), read(t, "cmd/profguard/commands.go")
	programs := regexp.MustCompile(`(?m)^go (?:run|install) `+module+`/(\S+)@(v\S+)`).FindAllStringSubmatch(readme, -1)
	commands := regexp.MustCompile(`(?m)^profguard (\w+) .*#`).FindAllStringSubmatch(readme, -1)
	if len(programs) < 2 || len(commands) < 3 {
		t.Errorf("expected at least 2 programs and 3 commands in README.md, found %q and %q", programs, commands)
	}
	for _, m := range programs {
		if out, err := exec.Command("go", "list", "./"+m[1]).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", m[0], err, out)
		}
		if m[2] != programs[0][2] {
			t.Errorf("%s: expected version %s, as in the first command", m[0], programs[0][2])
		}
	}
	for _, m := range commands {
		if !strings.Contains(list, "\t\t{\""+m[1]+"\", ") {
			t.Errorf("expected profguard %s in the list of commands, as README.md has it", m[1])
		}
	}
	const tests = "go test ./..."
	if !strings.Contains(read(t, "CONTRIBUTING.md"), "`"+tests+"`") || !strings.Contains(read(t, ".ci/run"), "\n"+tests+"\n") {
		t.Errorf("expected %q in CONTRIBUTING.md and .ci/run", tests)
	}
}

// spread is ten functions that share a checkout's work evenly.
var spread = [10]func(context.Context){work0, work1, work2, work3, work4, work5, work6, work7, work8, work9}

var sum atomic.Uint64

// Each has a loop of its own: a shared one would be the offender at 100%.

//go:noinline
func work0(context.Context) {
	n := sum.Load()
	for range 20_000 {
		n = n*6364136223846793005 + 1
	}
	sum.Store(n)
}

//go:noinline
func work1(context.Context) {
	n := sum.Load()
	for range 20_000 {
		n = n*6364136223846793005 + 3
	}
	sum.Store(n)
}

//go:noinline
func work2(context.Context) {
	n := sum.Load()
	for range 20_000 {
		n = n*6364136223846793005 + 5
	}
	sum.Store(n)
}

//go:noinline
func work3(context.Context) {
	n := sum.Load()
	for range 20_000 {
		n = n*6364136223846793005 + 7
	}
	sum.Store(n)
}

//go:noinline
func work4(context.Context) {
	n := sum.Load()
	for range 20_000 {
		n = n*6364136223846793005 + 9
	}
	sum.Store(n)
}

//go:noinline
func work5(context.Context) {
	n := sum.Load()
	for range 20_000 {
		n = n*6364136223846793005 + 11
	}
	sum.Store(n)
}

//go:noinline
func work6(context.Context) {
	n := sum.Load()
	for range 20_000 {
		n = n*6364136223846793005 + 13
	}
	sum.Store(n)
}

//go:noinline
func work7(context.Context) {
	n := sum.Load()
	for range 20_000 {
		n = n*6364136223846793005 + 15
	}
	sum.Store(n)
}

//go:noinline
func work8(context.Context) {
	n := sum.Load()
	for range 20_000 {
		n = n*6364136223846793005 + 17
	}
	sum.Store(n)
}

//go:noinline
func work9(context.Context) {
	n := sum.Load()
	for range 20_000 {
		n = n*6364136223846793005 + 19
	}
	sum.Store(n)
}
