package check

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/profguard/profguard/budget"
)

// Budgets on package main are about the tested package in its own test; on others they are left
// alone.
func TestMainAsTested(t *testing.T) {
	for before, after := range map[string]string{
		"main.Start below 20% cumulative":                         checkPackage + ".Start below 20% cumulative",
		"main.(*Guard).Stop below 20% cumulative":                 checkPackage + ".(*Guard).Stop below 20% cumulative",
		"main below 20% cumulative":                               checkPackage + " below 20% cumulative",
		"no function above 20% cumulative except main.Start, fmt": "no function above 20% cumulative except " + checkPackage + ".Start, fmt",
		"fmt.Println absent in main.Start":                        "fmt.Println absent in " + checkPackage + ".Start",
		"main.nonesuch below 20% cumulative":                      checkPackage + ".nonesuch below 20% cumulative",   // which is what the message speaks of
		"fmt.Println absent in main.main":                         "fmt.Println absent in " + checkPackage + ".main", // and not in the test's own
		"fmt.Println below 20% cumulative":                        "",
		"mainly.work below 20% cumulative":                        "",
		"no function above 20% cumulative":                        "",
	} {
		want := before
		if after != "" {
			want = after
		}
		got := rulesOf(t, budget.Must(before))
		mainAsTested(got, checkPackage)
		if diff := cmp.Diff(rulesOf(t, budget.Must(want)), got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: is not taken for %s (-want +got):\n%s", before, want, diff)
		}
	}
	set := budget.Must("no function above 20% except main.Start")
	rules := rulesOf(t, set)
	mainAsTested(rules, checkPackage)
	if set[0].Except[0] != "main.Start" {
		t.Errorf("the caller's budget is %s now", set[0])
	}
	if mainAsTested(rules, ""); rules[0].Except[0] != checkPackage+".Start" {
		t.Errorf("of no package: %+v", rules[0])
	}
	rules = rulesOf(t, set)
	if mainAsTested(rules, "example.org/c++"); rules[0].Except[0] != `"example.org/c++.Start"` {
		t.Errorf("of a path that is no pattern: %s", rules[0].Except[0])
	}
	if got := currentTestRun().path; got != checkPackage {
		t.Errorf("this test is of package %s, want %s", got, checkPackage)
	}
}
