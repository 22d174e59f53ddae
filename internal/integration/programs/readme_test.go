package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
)

// readmeBudgets are those of README's services.
func readmeBudgets(t *testing.T) budget.Set {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, code := range regexp.MustCompile(`(?s)Budgets: budget\.Must\((.*?)\),`).FindAllSubmatch(text, -1) {
		for _, quoted := range regexp.MustCompile(`"[^"]*"`).FindAllString(string(code[1]), -1) {
			line, err := strconv.Unquote(quoted)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, line)
		}
	}
	if len(lines) < 3 {
		t.Fatalf("README has the budgets %q, expected three", lines)
	}
	set, err := budget.Parse(strings.Join(lines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// facts are what a guard knows about a window. The load takes all that it can have, a core
// where nothing runs beside it.
func (w Window) facts() budget.Facts {
	return budget.Facts{
		Module:  module,
		Figures: map[budget.Figure]float64{budget.FigureProcess: 1},
		Work:    map[string]float64{"request": w.Requests},
	}
}

// TestReadmeBudgets holds services to README's first budgets, for 30 windows each and
// for all of them together: no window of a sound service fails, and what was planted is
// found.
func TestReadmeBudgets(t *testing.T) {
	set := readmeBudgets(t)
	programs, works := []string{"chi", "grpc"}, []string{"small"}
	if *long {
		programs, works = []string{"chi", "gin", "echo", "grpc"}, []string{"tiny", "small"}
	}
	for _, name := range programs {
		for _, work := range works {
			r := run{name, work, ""}
			t.Run(r.String(), func(t *testing.T) {
				ws := thirty(t, r)
				for i, w := range ws {
					results, err := set.JudgeReader(bytes.NewReader(w.Profile), w.facts())
					if err != nil {
						t.Fatal(err)
					}
					wantNoFail(t, i+1, results)
				}
				p, facts := merged(t, ws)
				results := judged(t, set, p, facts)
				wantNoFail(t, 0, results)
				for _, r := range results {
					t.Logf("%s: %s: %s", r.Verdict, r.Budget, r.Reason)
				}
			})
			r.plant = "regexp"
			t.Run(r.String(), func(t *testing.T) {
				// A second of CPU decides most often, two left it open in one of 24 runs.
				ws := windows(t, r)
				p, facts := merged(t, ws)
				result := judged(t, set, p, facts)[0]
				if result.Verdict == budget.Inconclusive {
					p, facts = merged(t, append(ws, windows(t, r, "-cpu", "4s")...))
					result = judged(t, set, p, facts)[0]
				}
				if result.Verdict != budget.Fail || !named(result.Offenders, "regexp") {
					t.Errorf("expected a Fail that names regexp, found\n%s", result)
				}
			})
		}
	}
}

// thirty are short windows of a run.
func thirty(t *testing.T, r run) []Window {
	t.Helper()
	cpu := "50ms"
	if *long {
		cpu = "150ms"
	}
	return windows(t, r, "-windows", "30", "-cpu", cpu)
}

// wantNoFail expects that no budget is broken in a window; 0 stands for all together.
func wantNoFail(t *testing.T, window int, results []budget.Result) {
	t.Helper()
	for _, r := range results {
		if r.Verdict == budget.Fail {
			t.Errorf("window %d of a sound service:\n%s", window, r)
		}
	}
}

// judged are the results of budgets that can be judged.
func judged(t *testing.T, set budget.Set, p *profile.Profile, facts budget.Facts) []budget.Result {
	t.Helper()
	results, err := set.Judge(p, facts)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// merged adds windows up.
func merged(t *testing.T, ws []Window) (*profile.Profile, budget.Facts) {
	t.Helper()
	var sum Window
	var profiles []*profile.Profile
	for _, w := range ws {
		p, err := profile.ParseData(w.Profile)
		if err != nil {
			t.Fatal(err)
		}
		profiles = append(profiles, p)
		sum.Requests += w.Requests
	}
	p, err := profile.Merge(profiles)
	if err != nil {
		t.Fatal(err)
	}
	return p, sum.facts()
}
