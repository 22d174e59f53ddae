package guard

import (
	"github.com/profguard/profguard/budget"
)

// offendedBy is a failing result with one offender.
func offendedBy(function string) budget.Result {
	return budget.Result{
		Verdict: budget.Fail, Value: 0.7, Low: 0.6, High: 0.8, Limit: 0.2, Unit: "ratio", Samples: 900, Hits: 630, Over: 1,
		Reason: function + " is at 70%",
		Offenders: []budget.Offender{{
			Frame: budget.Frame{Function: function, File: "print.go", Line: 3, Share: 0.7, Amount: 6.3}, Low: 0.6, High: 0.8,
			Blame:   budget.Frame{Function: "main.page", File: "page.go", Line: 46},
			Callers: []budget.Frame{{Function: "main.page", Share: 0.9}},
		}},
	}
}
