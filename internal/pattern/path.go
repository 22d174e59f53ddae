package pattern

import (
	"net/url"
	"path"
	"slices"
	"strings"
)

// canonicalPath undoes what the linker and vendoring do to an import path:
// gopkg.in/yaml%2ev3 is gopkg.in/yaml.v3, a/vendor/b is b.
func canonicalPath(path string) string {
	for {
		_, after, ok := strings.Cut(path, "/vendor/")
		if !ok {
			return unescape(strings.TrimPrefix(path, "vendor/"))
		}
		path = after
	}
}

// unescape replaces the linker's %xx; a path with anything else behind a % stays.
func unescape(path string) string {
	if plain, err := url.PathUnescape(path); err == nil {
		return plain
	}
	return path
}

// lastNames returns the names by which one word can mean the package: its last
// element, and, if that only tells a major version, the package's own name:
// x/portlist/v2 is v2 and portlist, gopkg.in/yaml.v3 is yaml.v3 and yaml.
// The second is "" if there is none.
func lastNames(path string) (last, unversioned string) {
	dir, last := "", path
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		dir, last = path[:i], path[i+1:]
	}
	if name, version, ok := strings.Cut(last, ".v"); ok && isNumber(version) {
		return last, name
	}
	// The go command appends versions from 2 on; a package v1 is called so.
	if dir != "" && last[:min(1, len(last))] == "v" && isNumber(last[1:]) && last != "v0" && last != "v1" {
		return last, dir[strings.LastIndexByte(dir, '/')+1:]
	}
	return last, ""
}

func isNumber(s string) bool { return s != "" && digits(s) == len(s) }

// A pathKind says how a path is compared. All but globPath can be looked up.
type pathKind uint8

const (
	anyPath    pathKind = iota // any package, or none
	exactPath                  // the whole path
	lastPath                   // one of the path's lastNames
	underPath                  // the path itself and everything below it: net/http/...
	endPath                    // the path itself and every path that ends so: .../cache
	globPath                   // any other mixture of ... and *, element by element
	lastGlob                   // one of the path's lastNames, with *
	pathKinds  = iota
	everything = "..." // as an element of a path: any number of elements
)

// A pathSpec is the package half of a pattern.
type pathSpec struct {
	kind     pathKind
	text     string   // except for anyPath and globPath
	elements []string // only for globPath
}

// newPathSpec makes the spec for a canonical path as written in a pattern.
func newPathSpec(path string) pathSpec {
	elements := strings.Split(path, "/")
	wild := strings.Contains(path, "*")
	dots := 0
	for _, element := range elements {
		if element == everything {
			dots++
		}
	}
	n := len(elements)
	switch {
	case n == 1 && wild:
		return pathSpec{kind: lastGlob, text: path}
	case n == 1:
		return pathSpec{kind: lastPath, text: path}
	case dots == 0 && !wild:
		return pathSpec{kind: exactPath, text: path}
	case dots == 1 && !wild && elements[n-1] == everything:
		return pathSpec{kind: underPath, text: strings.Join(elements[:n-1], "/")}
	case dots == 1 && !wild && elements[0] == everything:
		return pathSpec{kind: endPath, text: strings.Join(elements[1:], "/")}
	}
	return pathSpec{kind: globPath, elements: elements}
}

// match compares with a canonical path, "" for a name without package.
func (s pathSpec) match(path string) bool {
	if s.kind == anyPath {
		return true
	}
	if path == "" {
		return false
	}
	switch s.kind {
	case exactPath:
		return path == s.text
	case lastPath, lastGlob:
		return s.matchLast(lastNames(path))
	case underPath:
		rest, ok := strings.CutPrefix(path, s.text)
		return ok && (rest == "" || rest[0] == '/')
	case endPath:
		rest, ok := strings.CutSuffix(path, s.text)
		return ok && (rest == "" || rest[len(rest)-1] == '/')
	}
	return matchElements(s.elements, path)
}

// matchLast compares with both results of lastNames.
func (s pathSpec) matchLast(last, unversioned string) bool {
	return matchWord(s.text, last) || unversioned != "" && matchWord(s.text, unversioned)
}

// matchElements compares element by element; "..." stands for any number of
// them. It backs up to the last "..." only, so it takes at most as many steps as
// the pattern has elements times those of the path.
func matchElements(pattern []string, path string) bool {
	p, back := 0, -1
	rest, backRest := path, ""
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
	ok, err := path.Match(pattern, word)
	return ok && err == nil
}
