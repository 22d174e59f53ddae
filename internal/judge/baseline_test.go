package judge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/judge"
)

// A baseline is counted within the limits of a window. What is beyond them is an error,
// each time.
func TestBaselineOfManyNames(t *testing.T) {
	stacks := func(n int) string {
		var b strings.Builder
		b.WriteString("cpu 10s\n")
		for i := range n {
			fmt.Fprintf(&b, "main.main;example.com/x.F%d 1\n", i)
		}
		return b.String()
	}
	var lines []string
	for i := range 12 {
		lines = append(lines, fmt.Sprintf("b%d: no function grows above 5 points except example.com/y.G%d", i, i))
	}
	rules, err := budget.Must(lines...).Rules()
	if err != nil {
		t.Fatal(err)
	}
	j, err := judge.New(rules)
	if err != nil {
		t.Fatal(err)
	}
	window, facts := folded.Must(stacks(100)), judge.Facts{Baseline: folded.Must(stacks(30_000))}
	for range 2 {
		if _, err := j.Profile(window, facts); err == nil || !strings.Contains(err.Error(), "baseline: the budgets ask for more than 300,000 sums") {
			t.Errorf("a baseline of 30,000 names and 12 parts: %v", err)
		}
	}
	facts.Baseline = folded.Must(stacks(100))
	if _, err := j.Profile(window, facts); err != nil {
		t.Error(err)
	}
}
