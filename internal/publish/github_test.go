package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
)

// top is the root of the repository, seen from this folder.
const top = "../.."

// TestWorkflows: what runs on GitHub is right, may do little, ends, and runs no code that others can change.
func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(top, ".github", "workflows", "*.yml"))
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		for _, problem := range problems(t, file, text(t, file)) {
			t.Errorf("%s: %s", file, problem)
		}
	}
	action := filepath.Join(top, "action.yml")
	for _, problem := range unpinned(text(t, action)) {
		t.Errorf("%s: %s", action, problem)
	}
}

// TestWorkflowsPlanted: each of these mistakes is found in a workflow that has no other.
func TestWorkflowsPlanted(t *testing.T) {
	file := filepath.Join(top, ".github", "workflows", "compare.yml")
	good := text(t, file)
	for _, planted := range []struct{ old, new, want string }{
		{"github.ref", "github.rex", "rex"},
		{"packages:", "package:", `input "package" is not defined`},
		{" # v5.0.0", "", "without its version"},
		{"@08c6903cd8c0fde910a37f88322edcfb5dd907a8", "@v5", "expected a commit"},
		{"contents: read", "contents: write", "expected the permissions contents: read"},
		{"    timeout-minutes: 40\n", "", "no timeout-minutes"},
		{"concurrency:\n  group: compare-${{ github.ref }}\n  cancel-in-progress: true\n", "", "no concurrency"},
	} {
		bad := strings.Replace(good, planted.old, planted.new, 1)
		if found := problems(t, file, bad); !slices.ContainsFunc(found, func(p string) bool { return strings.Contains(p, planted.want) }) {
			t.Errorf("%q instead of %q: found %q, want %q", planted.new, planted.old, found, planted.want)
		}
	}
}

// problems are those of a workflow.
func problems(t *testing.T, file, content string) []string {
	t.Helper()
	found := unpinned(content)
	project, err := actionlint.NewProject(top)
	if err != nil {
		t.Fatal(err)
	}
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	mistakes, err := linter.Lint(file, []byte(content), project)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mistakes {
		found = append(found, m.Error())
	}
	w, _ := actionlint.Parse([]byte(content))
	if w == nil {
		return found
	}
	if p := w.Permissions; p == nil || len(p.Scopes) != 1 || p.Scopes["contents"] == nil || p.Scopes["contents"].Value.Value != "read" {
		found = append(found, "expected the permissions contents: read")
	}
	if w.Concurrency == nil {
		found = append(found, "it has no concurrency")
	}
	for name, job := range w.Jobs {
		if job.TimeoutMinutes == nil {
			found = append(found, "the job "+name+" has no timeout-minutes")
		}
		if job.Permissions != nil {
			found = append(found, "the job "+name+" has permissions of its own")
		}
	}
	return found
}

var (
	uses   = regexp.MustCompile(`uses:\s*(\S+)(.*)`)
	pinned = regexp.MustCompile(`@[0-9a-f]{40}$`)
	noted  = regexp.MustCompile(`^ # v\d+\.\d+\.\d+$`)
)

// unpinned are the actions of others that are not named by a commit.
func unpinned(content string) (found []string) {
	for _, m := range uses.FindAllStringSubmatch(content, -1) {
		switch {
		case m[1] == "./":
		case !pinned.MatchString(m[1]):
			found = append(found, m[1]+": expected a commit behind @")
		case !noted.MatchString(m[2]):
			found = append(found, m[1]+" is without its version")
		}
	}
	return found
}

// TestDependabot: it looks at each module.
func TestDependabot(t *testing.T) {
	var want []string
	err := filepath.WalkDir(top, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "testdata" {
			return filepath.SkipDir
		}
		if err == nil && d.Name() == "go.mod" {
			dir, err := filepath.Rel(top, filepath.Dir(path))
			want = append(want, strings.TrimSuffix("/"+filepath.ToSlash(dir), "."))
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^      - (/\S*)$`).FindAllStringSubmatch(text(t, filepath.Join(top, ".github", "dependabot.yml")), -1) {
		got = append(got, m[1])
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf(".github/dependabot.yml has %q, expected the modules %q", got, want)
	}
}

// text is a file's.
func text(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.ReplaceAll(b, []byte("\r"), nil))
}
