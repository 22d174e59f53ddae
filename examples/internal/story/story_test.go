package story

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/guard"
)

func TestTold(t *testing.T) {
	b := budget.Must("debug-print: fmt.Println absent")[0]
	for _, tt := range []struct {
		event   guard.EventName
		verdict budget.Verdict
		want    string
	}{
		{guard.EventResolved, budget.Inconclusive, "KEPT AGAIN debug-print: "},
		{guard.EventResolved, budget.Pass, "PASS debug-print: "},
		{guard.EventFiring, budget.Inconclusive, "BROKEN debug-print: "},
		{guard.EventFiring, budget.Fail, "FAIL debug-print: "},
		{guard.EventIneffective, budget.Inconclusive, "INCONCLUSIVE debug-print: "},
	} {
		e := guard.Event{Name: tt.event, Result: budget.Result{Budget: b, Verdict: tt.verdict, Reason: "none of 309 samples"}}
		if got := told(e); !strings.HasPrefix(got, tt.want) || !strings.Contains(got, "none of 309") {
			t.Errorf("%s, %s: %s", tt.event, tt.verdict, got)
		}
	}
}

func TestMissing(t *testing.T) {
	readme := filepath.Join(t.TempDir(), "README.md")
	text := "# shop\n\n## What it prints\n\nOf a busy day:\n\n```\nA shop has 57 customers:\n\n    profguard.budget.firing  ports\n    FAIL ports: fmt absent\n      fmt shows in 52 of 474 samples (10.97%), and must be absent\n" +
		"      1. fmt.Println  10.97%, 520ms\n           called from main.(*node).poll (100% of it)  examples/shop/node.go:46\n           ...\n\n    profguard.budget.resolved  hot ...\n    PASS hot\n      at most 17.07% in the last 34 windows (1106 samples); the limit is 20%\n```\n"
	if err := os.WriteFile(readme, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const printed = "A shop has 3 customers:\n\n    profguard.budget.firing  ports\n    FAIL ports: fmt absent\n      fmt shows in 1 of 1 sample (100.00%), and must be absent\n" +
		"      1. fmt.Printf  1%, 2s\n           called from example.com/shop.(*node).poll (97% of it)  /src/examples/shop/node.go:46\n\n    profguard.budget.resolved  hot\n    KEPT AGAIN hot\n      at 3% in the last window (1 sample); the limit is 20%\n"
	if got := Missing(readme, "## What it prints", printed); len(got) > 0 {
		t.Errorf("nothing is missing, found %q", got)
	}
	for _, part := range []string{"customers", "firing", "ports: fmt", "and must be", "node).poll", "node.go", "PASS", "; the limit"} {
		other := strings.Replace(strings.ReplaceAll(printed, "KEPT AGAIN", "PASS"), part, "else", 1)
		if got := Missing(readme, "## What it prints", other); len(got) != 1 {
			t.Errorf("without %q %q is missing", part, got)
		}
	}
	if got := Missing(readme, "## Other", printed); len(got) == 0 {
		t.Error("a heading that is not there is not told")
	}
}
