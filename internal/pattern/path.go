package pattern

import (
	"path"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/names"
)

// everything is any number of elements of a path.
const everything = "..."

// A pathSpec is the package half of a pattern, by elements. nil is any package, or none.
// One element is one of the path's names.LastNames; more are the whole path, in which "..." is
// any number of elements.
type pathSpec []string

// match compares with a canonical path, "" for a name without package.
func (s pathSpec) match(pkg string) bool {
	switch {
	case s == nil:
		return true
	case pkg == "":
		return false
	case len(s) == 1:
		last := names.LastNames(pkg)
		return slices.ContainsFunc(last[:], func(name string) bool { return matchWord(s[0], name) })
	}
	return matchElements(s, pkg)
}

// matchElements compares element by element; "..." stands for any number of
// them. It backs up to the last "..." only, so it takes at most as many steps as
// the pattern has elements times those of the path.
func matchElements(pattern []string, pkg string) bool {
	p, back := 0, -1
	rest, backRest := pkg, ""
	for more := true; more; {
		element, after, follows := strings.Cut(rest, "/")
		switch {
		case p < len(pattern) && pattern[p] == everything:
			back, backRest = p, rest
			p++
		case p < len(pattern) && matchWord(pattern[p], element):
			p++
			rest, more = after, follows
		case back >= 0:
			_, backRest, more = strings.Cut(backRest, "/")
			p, rest = back+1, backRest
		default:
			return false
		}
	}
	return !slices.ContainsFunc(pattern[p:], func(s string) bool { return s != everything })
}

// matchWord compares one element or word; * stands for any characters.
func matchWord(pattern, word string) bool {
	if !strings.Contains(pattern, "*") {
		return pattern == word
	}
	ok, _ := path.Match(pattern, word)
	return ok
}
