package profguard_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/guard"
)

// The README as acceptance tests: its snippets stand in this file and those called readme, word for
// word but for the indentation, and run; its sentences parse; its tables are true.

var served atomic.Int64

func requests() float64 { return float64(served.Load()) }

// serve is what the service does in the README's first snippet: it looks what the guard watches.
func serve() error {
	families, err := prometheus.DefaultRegisterer.(prometheus.Gatherer).Gather()
	i := slices.IndexFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == "profguard_budget_state" })
	if i < 0 || len(families[i].GetMetric()) != 2 {
		return fmt.Errorf("expected a guard that watches 2 budgets, found %v, %w", families, err)
	}
	return nil
}

// serviceConfig is the README's second.
func serviceConfig() guard.Config {
	// README: config
	config := guard.Config{
		Budgets: budget.Must("checkout: process below 2ms per request"),
		Work:    map[string]func() float64{"request": requests}, // a counter that you have
		DumpDir: "/var/lib/shop/profiles",
	}
	// README: end
	return config
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
	if err := run(); err != nil {
		t.Fatal(err)
	}
	useDefaults() // a stopped guard leaves its metrics
	config := serviceConfig()
	config.DumpDir = t.TempDir() // that of the snippet is made by a service's package
	g, err := guard.Start(config)
	if err != nil {
		t.Fatal(err)
	}
	g.Stop()
}

// TestReadmeSnippets finds the marked regions in the README, and the imports of what is declared there.
func TestReadmeSnippets(t *testing.T) {
	readme := read(t, "README.md")
	source := read(t, "guard_test.go") + read(t, "readme_service_test.go") + read(t, "readme_check_test.go")
	regions := regexp.MustCompile(`(?s)// README: (\w+)\n(.*?)\n[\t ]*// README: end`).FindAllStringSubmatch(source, -1)
	if len(regions) != 3 {
		t.Fatalf("%d marked regions expected 3", len(regions))
	}
	for _, r := range regions {
		if !strings.Contains(flat(readme), flat(r[2])) {
			t.Errorf("README.md does not show the snippet %q as it stands in the test:\n%s", r[1], r[2])
		}
	}
}

// TestReadmeImports: a snippet that declares something can be copied as it is.
func TestReadmeImports(t *testing.T) {
	for _, m := range regexp.MustCompile("(?s)```go\n(.*?)\n```").FindAllStringSubmatch(read(t, "README.md"), -1) {
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

// section is the README's part under a heading.
func section(t *testing.T, heading string) string {
	t.Helper()
	_, rest, ok := strings.Cut(read(t, "README.md"), "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("README.md has no section %q", heading)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	return rest
}

var codeSpan = regexp.MustCompile("`([^`]+)`")

// TestReadmeSentences parses the cheat-sheet.
func TestReadmeSentences(t *testing.T) {
	n := 0
	for line := range strings.Lines(section(t, "The language")) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		for _, m := range codeSpan.FindAllStringSubmatch(cells[1], -1) {
			sentence := strings.Replace(m[1], "...", "no function above 20%", 1)
			if strings.Contains(m[1], "/...") {
				sentence = m[1]
			}
			if _, err := budget.Parse(sentence); err != nil {
				t.Errorf("the README's cheat-sheet: %v", err)
			}
			n++
		}
	}
	if n < 15 {
		t.Errorf("found %d sentences in the cheat-sheet, expected at least 15", n)
	}
}

// TestReadmeExports compares the README's names with those of docs/exports.md,
// which package guard compares with the code.
func TestReadmeExports(t *testing.T) {
	exported := read(t, "docs/exports.md")
	for _, m := range regexp.MustCompile("`(profguard[_.][a-z_.]+)").FindAllStringSubmatch(read(t, "README.md"), -1) {
		if !strings.Contains(exported, "`"+m[1]+"`") {
			t.Errorf("README.md names %s, docs/exports.md does not", m[1])
		}
	}
}

// TestReadmeCommands: the commands at the top are the ones that exist, and CI
// runs the second.
func TestReadmeCommands(t *testing.T) {
	readme, ci := read(t, "README.md"), read(t, ".ci/run")
	for _, command := range []string{"go run ./examples/quickstart", "go run ./internal/testall"} {
		if !strings.Contains(readme, command) {
			t.Errorf("README.md does not name %q", command)
		}
		dir := strings.Fields(command)[2]
		if out, err := exec.Command("go", "list", dir).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
	if !strings.Contains(ci, "\ngo run ./internal/testall\n") {
		t.Error(".ci/run does not run the README's test command")
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
