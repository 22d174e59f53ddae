package guard

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/profguard/profguard/budget"
)

// mainAsTested returns budgets with the name that package main has in its own test,
// where the main package is another one, and says so: the same budgets stand in a
// service and in its tests.
func mainAsTested(set budget.Set, tested string) (budget.Set, []string) {
	if tested == "" {
		return set, nil
	}
	inTest := func(text string) (name string, ofMain bool) {
		rest, ok := strings.CutPrefix(text, "main")
		return tested + rest, ok && (rest == "" || rest[0] == '.')
	}
	var texts []string
	for _, b := range set {
		for _, text := range append([]string{b.Subject, b.In}, b.Except...) {
			if name, ok := inTest(text); ok {
				texts = append(texts, text, name)
			}
		}
	}
	missing := checkLinks.missing(texts) // at once: to look is to read the executable
	rename := func(text string) string {
		name, ok := inTest(text)
		if !ok || missing[name] && !missing[text] { // it means the test's own main
			return text
		}
		return name
	}
	set = slices.Clone(set)
	said := false
	for i, b := range set {
		b.Subject, b.In, b.Except = rename(b.Subject), rename(b.In), slices.Clone(b.Except)
		for k := range b.Except {
			b.Except[k] = rename(b.Except[k])
		}
		if b.Validate() == nil && b.String() != set[i].String() {
			set[i], said = b, true
		}
	}
	if !said {
		return set, nil
	}
	return set, []string{fmt.Sprintf("package main is called %s in its own test: budgets on main are taken for that", tested)}
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
