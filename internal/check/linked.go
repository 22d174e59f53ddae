package check

import (
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/process"
)

// linked remembers which patterns were looked up, and which of them match nothing. It is
// the process's, as the executable is, and reading that takes tens of milliseconds.
var linked struct {
	sync.Mutex
	known    map[string]bool
	unlinked map[string]string // with the name that is nearest
}

// unlinkedOf looks up the patterns that budgets are about. Where the executable cannot be
// read, everything counts as linked: a pattern that matches nothing is then found out by
// no sample.
func unlinkedOf(set budget.Set) map[string]string {
	linked.Lock()
	defer linked.Unlock()
	if linked.known == nil {
		linked.known, linked.unlinked = map[string]bool{}, map[string]string{}
	}
	var unknown []string
	for _, b := range set {
		for _, text := range []string{b.Subject, b.In} {
			if isPattern(text) && !linked.known[text] {
				linked.known[text] = true
				unknown = append(unknown, text)
			}
		}
	}
	if found, err := process.Missing(unknown, process.Functions); err == nil {
		maps.Copy(linked.unlinked, found)
	}
	return maps.Clone(linked.unlinked)
}

// isPattern reports whether the text of a budget is a pattern of names.
func isPattern(text string) bool {
	switch text {
	case "", "no function", "no package", "no goroutine", "process", "goroutines", "heap", "rss", "gc":
		return false
	}
	return true
}

// vacuous says which budgets would pass for ever, because they are about a pattern that
// matches nothing.
func (r *run) vacuous() (wrong []string) {
	for _, b := range r.set {
		text := b.Subject
		switch {
		case r.isUnlinked(text) && b.Rule == "absent": // the best possible pass
			continue
		case r.isUnlinked(text):
		case r.isUnlinked(b.In):
			text = b.In
		default:
			continue
		}
		meant := ""
		if near := r.unlinked[text]; near != "" {
			meant = fmt.Sprintf("did you mean %s? ", near)
		}
		wrong = append(wrong, fmt.Sprintf(
			"%s: no function linked into this test matches %s: %scheck the spelling, make work call it, or drop the budget", b, text, meant))
	}
	return wrong
}

func (r *run) isUnlinked(pattern string) bool {
	_, unlinked := r.unlinked[pattern]
	return unlinked
}

// hint says what is linked under a similar name, in the reason of a budget that is
// kept because nothing of its name is.
func (r *run) hint(res *budget.Result) {
	if near := r.unlinked[res.Budget.Subject]; near != "" && res.Budget.Rule == "absent" {
		res.Reason += fmt.Sprintf(". Did you mean %s, which is linked?", near)
	}
}

// mainAsTested returns budgets with the name that package main has in its own test,
// where the main package is another one, and says so: the same budgets stand in a
// service and in its tests.
func mainAsTested(set budget.Set, tested string) (budget.Set, []string) {
	rename := func(text string) string {
		if rest, ok := strings.CutPrefix(text, "main"); ok && (rest == "" || rest[0] == '.') {
			return tested + rest
		}
		return text
	}
	var notes []string
	set = slices.Clone(set)
	for i, b := range set {
		b.Subject, b.In, b.Except = rename(b.Subject), rename(b.In), slices.Clone(b.Except)
		for k := range b.Except {
			b.Except[k] = rename(b.Except[k])
		}
		if tested != "" && b.Validate() == nil && b.String() != set[i].String() {
			set[i] = b
			notes = []string{fmt.Sprintf("package main is called %s in its own test: budgets on main are taken for that", tested)}
		}
	}
	return set, notes
}

// testedMain is the import path of the package main that the running test is of, and ""
// in the test of any other package.
func testedMain() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || strings.HasSuffix(info.Path, ".test") { // which the path of a package main has not
		return ""
	}
	return info.Path
}
