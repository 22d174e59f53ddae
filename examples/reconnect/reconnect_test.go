package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/profguard/profguard/examples/internal/marked"
	"github.com/profguard/profguard/examples/internal/slowed"
	"github.com/profguard/profguard/examples/internal/story"
	"github.com/profguard/profguard/guard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestFixed: without the bugs all budgets are kept, also when the channel closes.
func TestFixed(t *testing.T) {
	watched := watchedMesh(t, bugs{})
	watched.mesh.endNews()
	watched.until(func(b guard.BudgetStatus) bool {
		if b.Verdicts["fail"] > 0 {
			t.Fatalf("a window failed:\n%s", b.Result)
		}
		if b.Name == "rejoins" {
			return b.Samples >= 100 // with the bug, some of them would have it
		}
		return b.Verdicts["pass"] > 0 || b.State == guard.StateOK // by one window, or by all
	}, "handshakes", "rejoins", "left-behind", "busy-loop")
}

// TestStory runs what the README shows: which bug breaks which budget, whom and which
// line the report names, and that all is well without them.
func TestStory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	slowed.Skip(t)
	t.Setenv("TMPDIR", t.TempDir())
	var out bytes.Buffer
	if err := run(t.Context(), &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	want := fmt.Sprintf(`(?s)firing  handshakes\n.*crypto/tls at .*surely above.*\n +1\. crypto/tls\.\S+ .*tls/\w+\.go:`+
		`.*FAIL rejoins: .*\n +1\. \S*quic-go\.\(\*Transport\)\.Dial .*called from \S*\(\*node\)\.connect(?: \(\d+%% of it\))?  \S*node\.go:%d`+
		`.*FAIL left-behind: .*\n +1\. \S*\(\*node\)\.watch .*node\.go:%d`+
		`.*resolved  handshakes\n`+
		`.*firing  busy-loop\n.*\n +1\. runtime\.selectgo .*called from \S*\(\*node\)\.follow(?: \(\d+%% of it\))?  \S*node\.go:%d`+
		`.*resolved  busy-loop\n`+
		`.*joins once +[\d.]+ +\d\.\d%%`,
		lineOf(t, "// a full handshake"), lineOf(t, "// left behind"), lineOf(t, "// busy"))
	if !regexp.MustCompile(want).Match(out.Bytes()) {
		t.Errorf("the story is not what the README says, want %s in:\n%s", want, &out)
	}
	for _, line := range story.Missing("README.md", "## What it prints", out.String()) {
		t.Errorf("the README shows what was not printed: %s", line)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// watched is a mesh with a guard, until the test ends.
type watched struct {
	*testing.T
	mesh  *mesh
	guard *guard.Guard
}

func watchedMesh(t *testing.T, b bugs) watched {
	t.Helper()
	m, err := openMesh(size, b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.close)
	g, err := guard.Start(watch("", nil)) // no dumps: Stop does not wait for a slow disk
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Stop)
	return watched{t, m, g}
}

// patience is for machines that do ten things at once.
const patience = 2 * time.Minute

// until waits until the budgets of these names are as they are wanted.
func (w watched) until(wanted func(guard.BudgetStatus) bool, names ...string) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	_, err := story.Until(ctx, w.guard, func(s guard.Status) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return !wanted(story.Budget(s, name)) })
	})
	if err != nil {
		w.Fatalf("%v did not come to what they should: %v", names, err)
	}
}

// lineOf is the line of node.go with the marker.
func lineOf(t *testing.T, marker string) int {
	t.Helper()
	return marked.Line(t, "node.go", marker)
}
