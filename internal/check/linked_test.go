package check

import (
	"testing"

	"github.com/profguard/profguard/budget"
)

// Budgets on package main are about the tested package in its own test; on others, and
// on what only the test's own main has, they are left alone.
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
		set := mainAsTested(budget.Must(before), checkPackage)
		want := after
		if after == "" {
			want = before
		}
		if got := set[0].String(); got != want {
			t.Errorf("%s: is taken for %s, want %s", before, got, want)
		}
	}
	both := budget.Must("main.Start below 20%", checkPackage+".Start below 20% cumulative", "heap below 1GiB")
	if set := mainAsTested(both, checkPackage); set.Validate() != nil || len(set) != 2 {
		t.Errorf("a budget by both paths of package main: %s: %v", set, set.Validate())
	}
	if set := mainAsTested(budget.Must("main.Start below 20%"), ""); set[0].Subject != "main.Start" {
		t.Errorf("of no package: %s", set[0])
	}
	if got := testedMain(); got != "" {
		t.Errorf("this test is of a package main, %s", got)
	}
}
