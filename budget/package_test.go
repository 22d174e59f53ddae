package budget_test

import (
	"strings"
	"testing"

	. "github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
)

// What is in no package grows as any package does.
func TestNoPackageGrows(t *testing.T) {
	now := folded.Must("cpu 10s\nruntime.main;main.main;main._Cfunc_sum;sum_floats 500\nruntime.main;main.main;strings.ToUpper 500\n")
	before := folded.Must("cpu 10s\nruntime.main;main.main;main._Cfunc_sum;sum_floats 100\nruntime.main;main.main;strings.ToUpper 900\n")
	set := Must("no package grows above 5 points flat", `no package grows above 5 points flat except "(no package)"`)
	results := judged(t, set, now, Facts{Baseline: Baseline{Profile: before}})
	if r := results[0]; r.Verdict != Fail || r.Offenders[0].Function != "(no package)" || !strings.HasPrefix(r.Reason, "(no package) grew") {
		t.Errorf("C code grows:\n%s", r)
	}
	if r := results[1]; r.Verdict != Pass {
		t.Errorf("C code is accepted:\n%s", r)
	}
}
