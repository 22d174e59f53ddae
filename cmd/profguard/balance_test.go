package main

import (
	"strings"
	"testing"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/release"
)

// A function that may cost more has its line in each form, unless another one costs more for sure.
func TestBalanceOfUndecided(t *testing.T) {
	f := release.Function{Name: "main.search", Status: release.Undecided, Line: release.Frame{Function: "main.search", File: "shop/search.go", Line: 46}}
	sure := release.Function{Name: "main.audit", Status: release.Grown, Named: true}
	for _, write := range []func(*strings.Builder, *outcome){balanceText, balanceMarkdown} {
		for _, functions := range [][]release.Function{{f}, {sure, f}, {f, f, f, f}} {
			var b strings.Builder
			write(&b, &outcome{Results: []budget.Result{{Verdict: budget.Inconclusive}}, Comparison: &release.Comparison{Per: "request", Functions: functions}})
			want := min(len(functions), mostOpen)
			if functions[0].Named {
				want = 0
			}
			if got := strings.Count(b.String(), "shop/search.go:46"); got != want {
				t.Errorf("expected the line %d times, found %d:\n%s", want, got, b.String())
			}
			b.Reset()
			write(&b, &outcome{Results: []budget.Result{{Verdict: budget.Pass}}, Comparison: &release.Comparison{Per: "request", Functions: functions}})
			if strings.Contains(b.String(), "main.search") {
				t.Errorf("all budgets are kept, and it has:\n%s", b.String())
			}
		}
	}
}
