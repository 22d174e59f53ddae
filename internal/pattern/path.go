package pattern

import (
	"net/url"
	"path"
	"slices"
	"strings"
)

// canonicalPath is an import path without the linker's escapes and vendor directories:
// gopkg.in/yaml.v3 for gopkg.in/yaml%2ev3, and b for a/vendor/b. A path with anything else
// behind a % stays.
func canonicalPath(pkg string) string {
	if i := strings.LastIndex(pkg, "/vendor/"); i >= 0 {
		pkg = pkg[i+1:]
	}
	pkg = strings.TrimPrefix(pkg, "vendor/")
	if plain, err := url.PathUnescape(pkg); err == nil {
		return plain
	}
	return pkg
}

// lastNames returns the names of a package in one word: its last element; without a major
// version; and without the "go" that repositories have in their names and packages have not.
// x/portlist/v2 is v2 and portlist, gopkg.in/yaml.v3 is yaml.v3 and yaml, x/nats.go is nats.go
// and nats, x/go-redis/v9 is v9, go-redis and redis. Names may be equal.
func lastNames(pkg string) [3]string {
	slash := strings.LastIndexByte(pkg, '/')
	last := pkg[slash+1:]
	plain := last
	if name, version, ok := strings.Cut(last, ".v"); ok && isNumber(version) {
		plain = name
	}
	// The go command appends versions from 2 on; a package v1 is called so.
	if version, ok := strings.CutPrefix(last, "v"); ok && slash > 0 && isNumber(version) && version != "0" && version != "1" {
		plain = pkg[strings.LastIndexByte(pkg[:slash], '/')+1 : slash]
	}
	bare := strings.TrimPrefix(plain, "go-")
	bare = strings.TrimSuffix(strings.TrimSuffix(bare, "-go"), ".go")
	return [3]string{last, plain, bare}
}

// everything is any number of elements of a path.
const everything = "..."

// A pathSpec is the package half of a pattern, by elements. nil is any package, or none.
// One element is one of the path's lastNames; more are the whole path, in which "..." is
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
		names := lastNames(pkg)
		return slices.ContainsFunc(names[:], func(name string) bool { return matchWord(s[0], name) })
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
