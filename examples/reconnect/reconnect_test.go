package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/examples/internal/marked"
	"github.com/profguard/profguard/examples/internal/slowed"
	"github.com/profguard/profguard/examples/internal/story"
	"github.com/profguard/profguard/guard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRejoining: handshakes on each tick break the budgets, which name crypto/tls
// and the two lines of ours.
func TestRejoining(t *testing.T) {
	watched := watchedMesh(t, bugs{rejoins: true, forgets: true})

	tls := watched.fails("handshakes")
	if o := tls.Offenders[0]; !strings.HasPrefix(o.Function, "crypto/tls.") || !strings.Contains(filepath.ToSlash(o.File), "crypto/tls/") {
		t.Errorf("the offender is %s at %s, want one of crypto/tls", o.Function, o.File)
	}
	rejoins := watched.fails("rejoins")
	if o := rejoins.Offenders[0]; !strings.HasSuffix(o.Function, "quic-go.(*Transport).Dial") {
		t.Errorf("the offender is %s, want quic-go's Dial", o.Function)
	}
	isAt(t, rejoins.Offenders[0].Blame, "(*node).connect", "// a full handshake")
	isAt(t, watched.fails("left-behind").Offenders[0].Frame, "(*node).watch", "// left behind")
}

// TestBusyLoop: a loop on a closed channel is found, with its line.
func TestBusyLoop(t *testing.T) {
	slowed.Skip(t)
	watched := watchedMesh(t, bugs{spins: true})
	watched.mesh.endNews()
	o := watched.fails("busy-loop").Offenders[0]
	if o.Function != "runtime.selectgo" {
		t.Errorf("the offender is %s, want runtime.selectgo", o.Function)
	}
	isAt(t, o.Blame, "(*node).follow", "// busy")
}

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
		return b.Verdicts["pass"] > 0 || b.Proven == budget.Pass // by one window, or by all
	}, "handshakes", "rejoins", "left-behind", "busy-loop")
}

// TestSoak: a goroutine every half hour is found after the two days of learning,
// and a node that leaves none is not accused.
func TestSoak(t *testing.T) {
	const most = 96 * time.Hour
	leaking, at, err := soak(bugs{forgets: true}, most)
	if err != nil {
		t.Fatal(err)
	}
	// It takes hours until there is a tenth more, and hours more to be sure.
	if leaking.Verdict != budget.Fail || at < learning || at > learning+24*time.Hour {
		t.Errorf("after %v: want a failure within a day after the first two\n%s", at, leaking)
	}
	sound, at, err := soak(bugs{}, most)
	if err != nil {
		t.Fatal(err)
	}
	if sound.Verdict != budget.Pass || at != most {
		t.Errorf("after %v: want a pass to the end\n%s", at, sound)
	}
}

// TestStory runs what the README shows.
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
	want := fmt.Sprintf(`(?s)firing  handshakes\n.*crypto/tls at .*surely above`+
		`.*FAIL rejoins: .*called from \S*\(\*node\)\.connect(?: \(\d+%% of it\))?  \S*node\.go:%d`+
		`.*FAIL left-behind: .*\(\*node\)\.watch .*node\.go:%d`+
		`.*resolved  handshakes\n`+
		`.*firing  busy-loop\n.*called from \S*\(\*node\)\.follow(?: \(\d+%% of it\))?  \S*node\.go:%d`+
		`.*resolved  busy-loop\n`+
		`.*joins once +[\d.]+ +[0-4]\.\d%%`+
		`.*after +\d+ hours  FAIL goroutines steady`+
		`.*after +96 hours  PASS goroutines steady`,
		lineOf(t, "// a full handshake"), lineOf(t, "// left behind"), lineOf(t, "// busy"))
	if !regexp.MustCompile(want).Match(out.Bytes()) {
		t.Errorf("the story is not what the README says, want %s in:\n%s", want, &out)
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

// fails waits for a window in which the budget fails, and returns what it says.
func (w watched) fails(name string) (failed budget.Result) {
	w.Helper()
	w.until(func(b guard.BudgetStatus) bool {
		failed = b.Result
		return b.Result.Verdict == budget.Fail
	}, name)
	if len(failed.Offenders) == 0 {
		w.Fatalf("want an offender:\n%s", failed)
	}
	return failed
}

// isAt checks that a frame is that of a method, at the line of node.go with the
// marker.
func isAt(t *testing.T, f budget.Frame, method, marker string) {
	t.Helper()
	if line := lineOf(t, marker); !strings.HasSuffix(f.Function, "."+method) || filepath.Base(f.File) != "node.go" || f.Line != line {
		t.Errorf("the report points at %s, %s:%d, want %s, node.go:%d", f.Function, f.File, f.Line, method, line)
	}
}

// lineOf is the line of node.go with the marker.
func lineOf(t *testing.T, marker string) int {
	t.Helper()
	return marked.Line(t, "node.go", marker)
}
