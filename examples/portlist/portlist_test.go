package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/examples/internal/failure"
	"github.com/profguard/profguard/examples/internal/marked"
	"github.com/profguard/profguard/examples/internal/story"
	"github.com/profguard/profguard/guard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestBudgets holds the budgets of the service against what its nodes do.
func TestBudgets(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // for the profiles of checks that fail
	monitor, stop, err := startMonitor()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	site, looks := newSite(), looksInRow(enumerate)
	looksUp := func(lookUp lookup) *node { return &node{lookUp: lookUp, looks: looks} }

	// For each page the nodes do what five of them do in a second: so close to
	// nothing, and so far above a fifth of the whole, on any machine.
	for name, test := range map[string]struct {
		node   *node
		work   func(*node)
		kept   []string // budgets
		broken string   // the budget; "" when all is well
		names  string   // the offender
		from   string   // the marker of the line that calls it
	}{
		"incident":         {&node{}, func(n *node) { n.pollPorts() }, nil, "ports", "tailscale.com/portlist.", "offender: portlist"},
		"portlist is gone": {looksUp(enumerate), (*node).findAddresses, []string{"ports"}, "hot", "netmon.ForeachInterface", "offender: interfaces"},
		"monitored":        {looksUp(remembered(monitor)), (*node).findAddresses, []string{"hot"}, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			set := slices.DeleteFunc(budgets(), func(b budget.Budget) bool { return b.Name != test.broken && !slices.Contains(test.kept, b.Name) })
			for i := range set {
				set[i].ForWindows = 0 // a check has no windows
			}
			report := failure.Of(func(tb guard.TB) {
				guard.Checker{Max: time.Minute}.Check(tb, set, func(context.Context) {
					for range 1 + rand.N(9) { // five, and not in step with the clock of the profiler
						test.work(test.node)
					}
					site.ServeHTTP(nowhere{}, nil)
				})
			})
			_ = test.node.poller.Close()
			if test.broken == "" {
				if report != "" {
					t.Errorf("expected it to pass:\n%s", report)
				}
				return
			}
			for _, name := range test.kept {
				if !strings.Contains(report, "PASS "+name+":") {
					t.Errorf("expected the report to say that %s passes:\n%s", name, report)
				}
			}
			if !strings.Contains(report, "FAIL "+test.broken+":") || !strings.Contains(report, test.names) {
				t.Errorf("expected the report to say that %s fails, and name %s:\n%s", test.broken, test.names, report)
			}
			if place := fmt.Sprintf("node.go:%d", line(t, test.from)); !strings.Contains(report, place) {
				t.Errorf("expected the report to show %s:\n%s", place, report)
			}
		})
	}
}

// TestSettingIsReadOnce is why the first fix does nothing.
func TestSettingIsReadOnce(t *testing.T) {
	defer turnOffPortlist(false)
	var running, later node
	defer running.poller.Close()
	if !running.pollPorts() {
		t.Fatal("expected a node to poll")
	}
	turnOffPortlist(true)
	if !running.pollPorts() {
		t.Error("expected a node that runs to go on polling: the setting comes too late for it")
	}
	if later.pollPorts() {
		t.Error("expected a node that starts later not to poll")
	}
}

// TestStory plays the whole story with half of the nodes and half of the visitors, and
// looks for what the README shows.
func TestStory(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes most of a minute")
	}
	// A guard that gets its windows too late, because the machine is overloaded,
	// leaves it alone for a minute or two.
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	t.Setenv("TMPDIR", t.TempDir())
	var out bytes.Buffer
	if err := run(ctx, &out, nodes/2); err != nil {
		if ctx.Err() != nil && strings.Contains(err.Error(), "overrun:") {
			t.Skipf("this machine is too busy for a guard: %v", err)
		}
		t.Fatalf("%v\n%s", err, out.String())
	}
	number := `-?\d+\.\d\d`
	ordered(t, out.String(),
		`profguard.budget.firing  ports\n    FAIL ports`,
		fmt.Sprintf(`called from \S+\(\*node\)\.pollPorts(?: \(\d+%% of it\))?  \S*node\.go:%d\n`, line(t, "offender: portlist")),
		`profguard.budget.firing  hot\n    FAIL hot`,
		`\nbefore: `+number+` cores \(`+number+` to `+number+`\)`,
		// Where system calls take nearly all, as on a busy machine, no function is left to be named: see everybodys.
		`\n((    [1-3]\. \S+ cores \(\S+ to \S+\)  \S+\n){1,3}|    cpu .*\n)    heap .*\n    goroutine .*\n    mutex `,
		`First fix: (?s:.*)still firing  ports\n    FAIL ports`,
		`Second fix: (?s:.*)profguard.budget.resolved  ports`,
		`still firing  hot\n    FAIL hot`,
		`called from \S+\.enumerate`+fmt.Sprintf(`(?: \(\d+%% of it\))?  \S*node\.go:%d\n`, line(t, "offender: interfaces")),
		`Third fix: (?s:.*)profguard.budget.resolved  hot`,
		`\nafter: `+number+` cores`,
		`Saved: `+number+` cores, at least `+number+` and at most `+number,
	)
	for _, line := range story.Missing("README.md", "## What it prints", out.String()) {
		t.Errorf("the README shows what was not printed: %s", line)
	}
	left, err := os.ReadDir(os.TempDir())
	if err != nil || len(left) > 0 {
		t.Errorf("expected nothing to be left behind, found %v (%v)", left, err)
	}
}

// ordered looks for expressions in a text, one after the other.
func ordered(t *testing.T, text string, expressions ...string) {
	t.Helper()
	rest := text
	for _, e := range expressions {
		at := regexp.MustCompile(e).FindStringIndex(rest)
		if at == nil {
			t.Fatalf("expected %s in this place:\n%s\n\nof the whole:\n%s", e, rest, text)
		}
		rest = rest[at[0]:]
	}
}

// line is the line of node.go that has a marker.
func line(t *testing.T, marker string) int {
	t.Helper()
	return marked.Line(t, "node.go", "// "+marker)
}

// nowhere is a visitor who does not read.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) WriteHeader(int)             {}
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
