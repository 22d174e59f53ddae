package pattern

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Pattern says which functions are meant. The package documentation describes
// its language. A Pattern does not change and may be used concurrently.
type Pattern struct {
	readings []reading      // of which one has to match
	foreign  string         // the exact name, of a text in quotes that is no pattern
	regexp   *regexp.Regexp // of /.../
	needs    []string       // what each name that it matches has
}

// A reading is one way to understand a pattern's text.
type reading struct {
	path pathSpec
	item []segment // the function or type in the package; nil for all of it
}

// Quote returns a pattern for the function with this name, as a sentence holds it. For an
// instance of a generic it is the generic, as the type arguments are hashes of the compiler.
func Quote(name string) string {
	text := name
	if before, after, found := strings.Cut(name, "["); found && before != "" {
		after, _ = cutBrackets("[" + after)
		text = before + after
	}
	p, err := Parse(text)
	word := !strings.ContainsAny(text, " ,#\"") && strings.Contains(text, ".")
	if word && err == nil && p.regexp == nil && p.Match(name) {
		return text
	}
	return strconv.Quote(name)
}

// NoPackage stands for the package of functions that are in none, as those of C. In quotes it is
// a pattern for all of these.
const NoPackage = "(no package)"

// Match reports whether the pattern matches the function with this name, as it is in a
// profile. It parses the name each time: remember the answer for a name, or use an [Index].
func (p *Pattern) Match(full string) bool {
	s := parseName(full, nil)
	return p.match(&s)
}

func (p *Pattern) match(s *symbol) bool {
	switch {
	case p.regexp != nil:
		return p.reads(s) && p.regexp.MatchString(s.canonical())
	case p.foreign == NoPackage:
		return s.path == ""
	case p.foreign != "":
		return p.foreign == s.full
	}
	for _, r := range p.readings {
		if r.path.match(s.path) && s.has(r.item) {
			return true
		}
	}
	return false
}

// reads reports whether the pattern is a regular expression that the name alone decides.
func (p *Pattern) reads(s *symbol) bool {
	name := s.canonical()
	return p.regexp != nil && !slices.ContainsFunc(p.needs, func(text string) bool { return !strings.Contains(name, text) })
}

// has reports whether item names the symbol's function, its type, or the
// function that holds it. nil names everything.
func (s *symbol) has(item []segment) bool {
	if item == nil {
		return true
	}
	for i := range s.segments {
		if (i == 0 || s.mayHold(i, item)) && s.startsWith(i, item) {
			return true
		}
	}
	return false
}

// mayHold reports whether the word at i > 0 may be a function that was inlined
// and left its literal here, as later in outer.later.func1.
func (s *symbol) mayHold(i int, item []segment) bool {
	last := item[len(item)-1] // with the number of a literal it means exactly that literal
	return i+len(item) <= s.lastMark && s.segments[i].kind < mark && s.segments[i-1].kind != pointer && last.kind < mark
}

// startsWith reports whether the segments from i on begin with item. Segments after it, a
// type's methods or a function's literals, belong to it.
func (s *symbol) startsWith(i int, item []segment) bool {
	segs := s.segments[i:]
	if len(item) > len(segs) {
		return false
	}
	for j, want := range item {
		got := segs[j]
		switch {
		case want.kind >= mark || got.kind >= mark:
			if got != want {
				return false
			}
		case want.kind == pointer && got.kind != pointer:
			return false
		case got.kind == pointer && want.kind != pointer && j > 0:
			return false // in f.(*T).M, f is a function, not a type or package
		case !matchWord(want.text, got.text):
			return false
		}
	}
	return true
}
