package story

import (
	"strings"
	"testing"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/guard"
)

func TestTold(t *testing.T) {
	b := budget.Must("debug-print: fmt.Println absent")[0]
	for _, tt := range []struct {
		event   string
		verdict budget.Verdict
		want    string
	}{
		{"profguard.budget.resolved", budget.Inconclusive, "KEPT AGAIN debug-print: "},
		{"profguard.budget.resolved", budget.Pass, "PASS debug-print: "},
		{"profguard.budget.firing", budget.Inconclusive, "BROKEN debug-print: "},
		{"profguard.budget.firing", budget.Fail, "FAIL debug-print: "},
		{"profguard.budget.vacuous", budget.Inconclusive, "INCONCLUSIVE debug-print: "},
	} {
		e := guard.Event{Name: tt.event, Result: budget.Result{Budget: b, Verdict: tt.verdict, Reason: "none of 309 samples"}}
		if got := told(e); !strings.HasPrefix(got, tt.want) || !strings.Contains(got, "none of 309") {
			t.Errorf("%s, %s: %s", tt.event, tt.verdict, got)
		}
	}
}
