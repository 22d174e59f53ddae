package compare

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/compare/binary"
	"github.com/profguard/profguard/internal/unit"
)

// wanted are the packages of both sides that have a benchmark that matches, and those whose benchmarks
// are not known. That there is none is a mistake: it would look as if all was kept.
func (m *comparison) wanted(now, before []binary.Package) (_, _ []binary.Package, err error) {
	first, err := regexp.Compile(firstLevel(m.Bench))
	if err != nil {
		return nil, nil, fmt.Errorf("-bench: %w", err)
	}
	others, paths := map[string]bool{}, map[string]bool{}
	unwanted := func(p binary.Package) bool {
		if p.Err != nil || slices.ContainsFunc(p.Benchmarks, first.MatchString) {
			return false
		}
		paths[p.Path] = true
		for _, name := range p.Benchmarks {
			others[name] = true
		}
		return true
	}
	now, before = slices.DeleteFunc(now, unwanted), slices.DeleteFunc(before, unwanted)
	if len(now)+len(before) == 0 && len(others) > 0 {
		return nil, nil, fmt.Errorf("-bench: expected a benchmark that matches %q, found none in %s: %s",
			m.Bench, unit.Plural(int64(len(paths)), "package"), listed(slices.Sorted(maps.Keys(others))))
	}
	return now, before, nil
}

// firstLevel is the part of an expression that top-level benchmarks have to match: go test splits it at each
// | and / outside brackets, and the elements behind a / are for sub-benchmarks.
func firstLevel(bench string) string {
	var b strings.Builder
	class, group, sub := 0, 0, false
	for i := 0; i < len(bench); i++ {
		from := i
		switch c := bench[i]; {
		case c == '\\' && i+1 < len(bench):
			i++
		case c == '[':
			class++
		case c == ']':
			class = max(class-1, 0)
		case class > 0:
		case c == '(':
			group++
		case c == ')':
			group--
		case group == 0 && c == '/':
			sub = true
		case group == 0 && c == '|':
			sub = false
		}
		if !sub {
			b.WriteString(bench[from : i+1])
		}
	}
	return b.String()
}

// listed names what there is instead.
func listed(names []string) string {
	if len(names) == 1 {
		return "there is " + names[0]
	}
	const most = 5
	text := "there are " + strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
