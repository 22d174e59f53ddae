package guard

import (
	"strings"

	"github.com/profguard/profguard/budget"
)

// isDetector knows the race detector, which watches work, and Check's loop as
// well. What it costs is no part of what work costs without it. Its assembly
// (racecall, racefuncenter) has names without a package.
func isDetector(leaf string) bool {
	return strings.HasPrefix(leaf, "__tsan") || strings.HasPrefix(leaf, "__sanitizer") || strings.HasPrefix(leaf, "runtime.race") ||
		strings.HasPrefix(leaf, "race") && !strings.ContainsAny(leaf, "./")
}

// isCheckptr knows the checks of unsafe pointers that -race puts into the code. They
// call functions of the runtime.
func isCheckptr(name string) bool { return strings.HasPrefix(name, "runtime.checkptr") }

// isAbsolute reports whether a budget limits an amount that the race detector
// makes larger: time, cores, bytes or allocations, and not a share of them.
func isAbsolute(b budget.Budget) bool {
	switch {
	case b.Rule == "grows":
		return b.Per != "" // the baseline may be of a build without it
	case b.Rule != "":
		return false
	case b.Subject == "goroutines", b.Kind == "goroutine":
		return false
	}
	return b.Limit.Unit != "%"
}

// noteRace says what -race does to budgets that failed.
func (rep *checkReport) noteRace() {
	if !rep.race {
		return
	}
	for _, res := range rep.results {
		if res.Verdict == budget.Fail && isAbsolute(res.Budget) {
			rep.notes = append(rep.notes, "this test was built with -race, under which code takes 2 to 20 times as long and allocates more than without. "+
				"That is measured here, and limits of time, cores, bytes and allocations are about code as it runs in production. "+
				"Leave such budgets to a file that begins with //go:build !race, or limit shares: the race detector's own samples are left out of those")
			return
		}
	}
}
