package names

import (
	"slices"
	"strings"
)

// Pair returns, for folded names that only the later of two builds has (now), those that they had
// in the earlier one, of the names that only that has (before). A function keeps what is left of
// its name without the major versions in its path, or else without its path, if only one on each
// side has that. Whether a receiver is a pointer does not matter.
func Pair(before, now []string) map[string]string {
	pairs, paired := map[string]string{}, map[string]bool{}
	for _, reduce := range [...]func(*Name) string{withoutVersions, inPackage, withoutPath} {
		left := byReduced(before, reduce, func(name string) bool { return paired[name] })
		for key, name := range byReduced(now, reduce, func(name string) bool { return pairs[name] != "" }) {
			if old := left[key]; name != "" && old != "" {
				pairs[name], paired[old] = old, true
			}
		}
	}
	return pairs
}

// Missing are the names of a set that others lacks, in their order.
func Missing(set, others map[string]bool) (list []string) {
	for name := range set {
		if !others[name] {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// byReduced has the names by what is left of them, and "" where this is of several.
func byReduced(full []string, reduce func(*Name) string, skip func(string) bool) map[string]string {
	byKey := map[string]string{}
	for _, name := range full {
		s := Parse(name, nil)
		if s.Path == "" || len(s.Segments) == 0 || skip(name) {
			continue
		}
		key := reduce(&s)
		if other, more := byKey[key]; more && other != name {
			name = ""
		}
		byKey[key] = name
	}
	return byKey
}

// plainText is the function of a name, whatever its receiver is.
func plainText(s *Name) string {
	return strings.NewReplacer("(*", "", ")", "").Replace(text(s.Segments))
}

// withoutVersions is a name with example.com/x and example.com/x/y for example.com/x/v2,
// example.com/x.v2 and example.com/x/v2/y.
func withoutVersions(s *Name) string {
	var elements []string
	for element := range strings.SplitSeq(s.Path, "/") {
		if number, is := strings.CutPrefix(element, "v"); is && isNumber(number) && len(elements) > 0 {
			continue
		}
		name, version, cut := strings.Cut(element, ".v")
		if cut && isNumber(version) {
			element = name
		}
		elements = append(elements, element)
	}
	return strings.Join(elements, "/") + "." + plainText(s)
}

// inPackage is a name with only the last name of its package.
func inPackage(s *Name) string { return LastNames(s.Path)[2] + "." + plainText(s) }

// withoutPath is a function's name alone. Those that many packages have say nothing.
func withoutPath(s *Name) string {
	name := plainText(s)
	if name == "init" || name == "main" || name == "New" {
		return s.Path + "." + name
	}
	return name
}
