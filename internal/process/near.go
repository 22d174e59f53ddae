package process

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/names"
	"github.com/profguard/profguard/internal/pattern"
)

// Missing are the patterns that match no function of the program, each with the linked name
// that is nearest to it, "" for none. program is the import path of package main, "" if it is not known. functions
// calls its argument with all linked functions, as [Functions] does. Texts that are no patterns are left out.
func Missing(texts []string, program string, functions func(func(name string) bool) error) (map[string]string, error) {
	missing := map[string]string{}
	var patterns []*pattern.Pattern
	var parsed []string
	for _, text := range texts {
		if p, err := pattern.Parse(text); err == nil {
			patterns, parsed, missing[text] = append(patterns, p), append(parsed, text), ""
		}
	}
	if len(patterns) == 0 {
		return missing, nil
	}
	index := pattern.NewIndex(patterns)
	var hits []int32
	err := functions(func(name string) bool {
		hits = index.Match(name, hits[:0])
		for _, h := range hits {
			delete(missing, parsed[h])
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	hints, _ := near(slices.Sorted(maps.Keys(missing)), program, functions) // on an error there are no hints
	maps.Copy(missing, hints)
	return missing, nil
}

// near finds for texts, which match no function, the linked package or function that is spelt nearly the same:
// "absent" would hold for ever by a slip. The same goes for a function of package main that is written with the import
// path of the program. There is none for regular expressions and for texts with wildcards. functions calls its argument
// with all linked functions, as [Functions] does.
func near(texts []string, program string, functions func(func(name string) bool) error) (map[string]string, error) {
	wanted, found := map[string]string{}, map[string]string{} // the bare form of a text
	for _, text := range texts {
		plain := bare(text)
		if !strings.HasPrefix(text, "/") && !strings.Contains(text, "...") && !strings.ContainsAny(plain, "*?[") {
			wanted[text] = plain
		}
	}
	if len(wanted) == 0 {
		return found, nil
	}
	seen := map[string]bool{} // a package has many functions
	err := functions(func(name string) bool {
		pkg := names.PackageOf(name)
		if pkg == "" {
			return true
		}
		name = names.Fold(name) // the holder of a literal may have no sample of its own
		unversioned := pkg
		if i := strings.LastIndex(pkg, "/v"); i > 0 && strings.Trim(pkg[i+2:], "0123456789") == "" {
			unversioned = pkg[:i] // people leave the major version out
		}
		compare := func(linked, plain string) {
			for text, want := range wanted {
				best := found[text]
				if (isSlip(want, plain) || isOfMain(want, program, plain)) && (best == "" || cmp.Or(cmp.Compare(len(linked), len(best)), cmp.Compare(linked, best)) < 0) {
					found[text] = linked
				}
			}
		}
		compare(name, bare(name))
		if !seen[pkg] {
			seen[pkg] = true
			compare(pkg, pkg)
			compare(pkg, unversioned)
		}
		return true
	})
	return found, err
}

// isOfMain reports whether text is a function of package main, name, with the import path of the program for its package.
func isOfMain(text, program, name string) bool {
	rest, isMain := strings.CutPrefix(name, "main.")
	return isMain && program != "" && text == program+"."+rest
}

// isSlip reports whether text is name, or its last parts, with one letter too many, missing, wrong, or swapped
// with its neighbour. Digits and the first letters of parts have to be right: sha3 is not sha1, nor Fprint
// Sprint. Short names have always a neighbour.
func isSlip(text, name string) bool {
	const shortest = 5
	if len(text) < shortest {
		return false
	}
	for end := max(len(text)-1, 0); end <= len(text)+1 && end <= len(name); end++ {
		from := len(name) - end
		if from > 0 && name[from-1] != '/' && name[from-1] != '.' {
			continue
		}
		if isOneOff(text, name[from:]) {
			return true
		}
	}
	return false
}

func isOneOff(a, b string) bool {
	first := 0
	for first < min(len(a), len(b)) && a[first] == b[first] {
		first++
	}
	if first == 0 || a[first-1] == '/' || a[first-1] == '.' {
		return false
	}
	a, b = a[first:], b[first:]
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	swapped := len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
	return !strings.ContainsAny(a+b, "0123456789/.") && (swapped || len(a) <= 1 && len(b) <= 1)
}

// bare is a name without the signs around a method's receiver, which people leave out.
func bare(name string) string {
	if !strings.Contains(name, "(") {
		return name
	}
	return strings.NewReplacer("(*", "", "(", "", ")", "").Replace(name)
}
