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

// What has only moved to a function that costs more is said in each form, and is no part of its points.
func TestBalanceOfMovedPart(t *testing.T) {
	f := release.Function{Name: "main.quote", Status: release.Grown, Named: true, New: true, Points: release.Growth{Value: 0.1, Low: 0.05, High: 0.15}, Moved: 0.2, From: []string{"main.price"}}
	for _, write := range []func(*strings.Builder, *outcome){balanceText, balanceMarkdown, balanceGithub} {
		var b strings.Builder
		write(&b, &outcome{code: new(worktree), Results: []budget.Result{{Verdict: budget.Fail}}, Comparison: &release.Comparison{Per: "request", Functions: []release.Function{f}}})
		if want := "+30.0 points, of which 20.0 moved from main.price: +10.0 points (+5.0 to +15.0)"; !strings.Contains(b.String(), want) {
			t.Errorf("expected %q, found:\n%s", want, b.String())
		}
		f := f
		f.Moved, f.From = 0, nil
		b.Reset()
		write(&b, &outcome{code: new(worktree), Results: []budget.Result{{Verdict: budget.Fail}}, Comparison: &release.Comparison{Per: "request", Functions: []release.Function{f}}})
		if strings.Contains(b.String(), "moved") || !strings.Contains(b.String(), "+10.0 points (+5.0 to +15.0)") {
			t.Errorf("nothing has moved:\n%s", b.String())
		}
	}
}
