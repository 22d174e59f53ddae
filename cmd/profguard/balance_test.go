package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/release"
)

// A function that may cost more has its line in each form, unless another one costs more for sure.
func TestBalanceOfUndecided(t *testing.T) {
	f := release.Function{Name: "main.search", Status: release.Undecided, Line: release.Frame{Function: "main.search", File: "shop/search.go", Line: 46}}
	sure := release.Function{Name: "main.audit", Status: release.Grown, Named: true}
	for _, write := range []func(io.Writer, *outcome){balanceText, balanceMarkdown} {
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
	f := release.Function{Name: "main.quote", Status: release.Grown, Named: true, New: true, Points: release.Growth{Value: 0.1, Low: 0.05, High: 0.15}, Moved: 0.2}
	for _, write := range []func(io.Writer, *outcome){balanceText, balanceMarkdown, balanceGithub} {
		var b strings.Builder
		write(&b, &outcome{code: new(worktree), Results: []budget.Result{{Verdict: budget.Fail}}, Comparison: &release.Comparison{Per: "request", Functions: []release.Function{f}}})
		if want := "+30.0 points, of which 20.0 moved: +10.0 points (+5.0 to +15.0)"; !strings.Contains(b.String(), want) {
			t.Errorf("expected %q, found:\n%s", want, b.String())
		}
		f := f
		f.Moved = 0
		b.Reset()
		write(&b, &outcome{code: new(worktree), Results: []budget.Result{{Verdict: budget.Fail}}, Comparison: &release.Comparison{Per: "request", Functions: []release.Function{f}}})
		if strings.Contains(b.String(), "moved") || !strings.Contains(b.String(), "+10.0 points (+5.0 to +15.0)") {
			t.Errorf("nothing has moved:\n%s", b.String())
		}
	}
}

// TestDiffOfShares: profiles of too few samples for a verdict show what differs most, with bounds, in each form, and
// what would make it a verdict. Of equal ones, all bounds hold 0.
func TestDiffOfShares(t *testing.T) {
	write(t)
	const base = "main.main;main.serve;main.cart 60\nmain.main;main.serve;main.price 90\nmain.main;main.serve;main.stock 120\n"
	for name, stacks := range map[string]string{
		"old":  base,
		"new":  strings.Replace(base, "main.cart", "main.cart;regexp.MustCompile", 1) + "main.main;main.serve;main.cart 63\n",
		"same": strings.Replace(base, "120", "123", 1),
	} {
		var b bytes.Buffer
		if err := folded.Must("cpu 10s\n" + stacks).Write(&b); err != nil {
			t.Fatal(err)
		}
		put(t, name, b.String())
	}
	for _, format := range []string{"text", "markdown", "json"} {
		var out bytes.Buffer
		if status := run(t.Context(), []string{"diff", "-o", format, "old", "new"}, nil, &out, &out); status != exitUndecided {
			t.Errorf("%s: expected the status %d, found %d", format, exitUndecided, status)
		}
		for _, want := range []string{"growth takes 400 samples", "such as -base-work request=90000 -work request=30000, or take profiles that are 1.5 times as long", "of plain shares", "regexp.MustCompile"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: expected %q, found\n%s", format, want, out.String())
			}
		}
		if format == "json" {
			continue
		}
		if lines := out.String(); !strings.Contains(lines, "+18.0 points (+") || strings.Index(lines, "regexp.MustCompile") > strings.Index(lines, "main.stock") {
			t.Errorf("%s: expected regexp.MustCompile first, with its bounds, found\n%s", format, lines)
		}
	}
	for _, tt := range []struct {
		now  string
		sure int
	}{{"new", 1}, {"same", 0}} {
		var out bytes.Buffer
		run(t.Context(), []string{"diff", "-o", "json", "old", tt.now}, nil, &out, &out)
		var r struct{ Comparison release.Comparison }
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		sure := 0
		for _, f := range r.Comparison.Functions {
			if f.Status != release.Undecided || f.Named {
				t.Errorf("%s is judged: %+v", f.Name, f)
			}
			if f.Above {
				sure++
			}
		}
		if sure != tt.sure || len(r.Comparison.Functions) < 3 {
			t.Errorf("%s: expected %d functions that surely differ, found %d of %+v", tt.now, tt.sure, sure, r.Comparison.Functions)
		}
	}
}
