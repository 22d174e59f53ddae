package main

import (
	"bytes"
	"fmt"
	"regexp"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/profguard/profguard/examples/internal/marked"
	"github.com/profguard/profguard/examples/internal/slowed"
	"github.com/profguard/profguard/examples/internal/story"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestStory runs what the README shows: acme is named, with the line that asks the database, and is quiet with
// an index.
func TestStory(t *testing.T) {
	slowed.Skip(t)
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	t.Setenv("TMPDIR", t.TempDir())
	began := time.Now()
	var out bytes.Buffer
	if err := run(t.Context(), &out); err != nil {
		t.Fatalf("%v after %v\n%s", err, time.Since(began), &out)
	}
	want := fmt.Sprintf(`(?s)firing  noisy\n.*tenant acme at .*1\. tenant acme .*mostly in +modernc\.org/sqlite\.`+
		`.*called from \S+\.\(\*service\)\.answer .*service\.go:%d.*resolved  noisy\n`, marked.Line(t, "service.go", "QueryRowContext"))
	if !regexp.MustCompile(want).Match(out.Bytes()) {
		t.Errorf("the story is not what the README says, want %s in:\n%s", want, &out)
	}
	for _, line := range story.Missing("README.md", "## What it prints", out.String()) {
		t.Errorf("the README shows what was not printed: %s", line)
	}
}
