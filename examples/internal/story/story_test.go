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
		event   guard.EventName
		verdict budget.Verdict
		want    string
	}{
		{guard.EventResolved, budget.Inconclusive, "KEPT AGAIN debug-print: "},
		{guard.EventResolved, budget.Pass, "PASS debug-print: "},
		{guard.EventFiring, budget.Inconclusive, "BROKEN debug-print: "},
		{guard.EventFiring, budget.Fail, "FAIL debug-print: "},
		{guard.EventVacuous, budget.Inconclusive, "INCONCLUSIVE debug-print: "},
	} {
		e := guard.Event{Name: tt.event, Result: budget.Result{Budget: b, Verdict: tt.verdict, Reason: "none of 309 samples"}}
		if got := told(e); !strings.HasPrefix(got, tt.want) || !strings.Contains(got, "none of 309") {
			t.Errorf("%s, %s: %s", tt.event, tt.verdict, got)
		}
	}
}
