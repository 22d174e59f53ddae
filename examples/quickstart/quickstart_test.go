package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/profguard/profguard/examples/internal/marked"
	"github.com/profguard/profguard/examples/internal/story"
)

// The whole story, told by the program itself: it fires, names the line, and is
// resolved. A test binary would have other names than the budget.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	program, dumps := filepath.Join(t.TempDir(), "quickstart"), t.TempDir()
	// Without what only debuggers read.
	if out, err := exec.CommandContext(ctx, "go", "build", "-ldflags=-w", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(ctx, program, "-dumps", dumps).CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
	shape := regexp.MustCompile(fmt.Sprintf(`(?s)
    profguard\.budget\.firing  debug-print
    (FAIL|BROKEN) debug-print: fmt\.Fprintf below 10%% cumulative in main\.\(\*shop\)\.ServeHTTP
.* called from main\.\(\*shop\)\.ServeHTTP .*shop\.go:%d
.*
    profguard_budget_state\{budget="checkout"\} 0
    profguard_budget_state\{budget="debug-print"\} 2
.*
    go tool pprof -http=: \S+\.cpu\.pb\.gz
.*
    profguard\.budget\.resolved  debug-print
    (PASS|KEPT AGAIN) debug-print: .*
    profguard_budget_state\{budget="debug-print"\} 0
$`, printLine(t)))
	if !shape.Match(out) {
		t.Errorf("the story went otherwise than\n%s", shape)
	}
	for _, line := range story.Missing("../README.md", "### quickstart", string(out)) {
		t.Errorf("the README shows what was not printed: %s", line)
	}
	if kept, _ := filepath.Glob(filepath.Join(dumps, "profguard", "*", "*.cpu.pb.gz")); len(kept) == 0 {
		t.Error("no profile was kept")
	}
}

// printLine is where the forgotten print stands.
func printLine(t *testing.T) int {
	t.Helper()
	return marked.Line(t, "shop.go", "// forgotten")
}
