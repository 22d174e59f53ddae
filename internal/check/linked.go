package check

import (
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/process"
)

// A linkage says which patterns of a set match nothing in the program.
type linkage struct {
	notLinked []string
	vacuous   []string          // what to tell the user about them
	near      map[string]string // by pattern that matches nothing: what it may have meant
}

// linkCache remembers what was found for a pattern. It is the process's, as the
// executable is, and reading that takes tens of milliseconds.
type linkCache struct {
	mu    sync.Mutex
	found map[string]bool
	near  map[string]string // of those that were not found
}

var linkedNames = linkCache{found: map[string]bool{}, near: map[string]string{}}

// linkageOf looks the subjects of the budgets up. Where the executable cannot be
// read, everything counts as linked: a pattern that matches nothing is then found
// out by no sample.
func linkageOf(set budget.Set) linkage {
	var l linkage
	missing, near := linkedNames.missing(patternsOf(set))
	l.near = near
	for _, b := range set {
		text := b.Subject
		switch {
		case missing[text]:
			l.notLinked = append(l.notLinked, text)
			if b.Rule == "absent" {
				continue // the best possible pass
			}
		case missing[b.In]:
			text = b.In
		default:
			continue
		}
		meant := ""
		if near[text] != "" {
			meant = fmt.Sprintf("did you mean %s? ", near[text])
		}
		l.vacuous = append(l.vacuous, fmt.Sprintf(
			"%s: no function linked into this test matches %s: %scheck the spelling, make work call it, or drop the budget", b, text, meant))
	}
	return l
}

// hint says what is linked under a similar name, in the reason of a budget that is
// kept because nothing of its name is.
func (l *linkage) hint(res *budget.Result) {
	if near := l.near[res.Budget.Subject]; near != "" && res.Budget.Rule == "absent" && l.isMissing(res.Budget) {
		res.Reason += fmt.Sprintf(". Did you mean %s, which is linked?", near)
	}
}

// isMissing reports whether the budget's pattern matches nothing in the program.
func (l *linkage) isMissing(b budget.Budget) bool { return slices.Contains(l.notLinked, b.Subject) }

// patternsOf lists the patterns that budgets are about.
func patternsOf(set budget.Set) []string {
	var texts []string
	for _, b := range set {
		switch b.Subject {
		case "no function", "no package", "no goroutine", "process", "goroutines", "heap", "rss", "gc":
		default:
			texts = append(texts, b.Subject)
		}
		if b.In != "" {
			texts = append(texts, b.In)
		}
	}
	return texts
}

// missing tells which of the patterns match no function of the program, and what is
// linked under a name near to theirs.
func (c *linkCache) missing(texts []string) (missing map[string]bool, near map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var unknown []*pattern.Pattern
	for _, text := range texts {
		if _, ok := c.found[text]; ok {
			continue
		}
		if p, err := pattern.Parse(text); err == nil {
			unknown = append(unknown, p)
		}
	}
	if len(unknown) > 0 {
		hit := make([]bool, len(unknown))
		index := pattern.NewIndex(unknown)
		var buf []int32
		err := process.Functions(func(name string) bool {
			buf = index.Match(name, buf[:0])
			for _, i := range buf {
				hit[i] = true
			}
			return true
		})
		var none []string
		for i, p := range unknown {
			if c.found[p.String()] = hit[i] || err != nil; !c.found[p.String()] {
				none = append(none, p.String())
			}
		}
		found, _ := process.Near(none, process.Functions)
		maps.Copy(c.near, found)
	}
	missing = map[string]bool{}
	for _, text := range texts {
		if found, ok := c.found[text]; ok && !found {
			missing[text] = true
		}
	}
	return missing, maps.Clone(c.near)
}

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
	missing, _ := linkedNames.missing(texts) // at once: to look is to read the executable
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
