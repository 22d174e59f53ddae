package pattern

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/profguard/profguard/internal/names"
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
	item []names.Segment // the function or type in the package; nil for all of it
}

// Quote returns a pattern for the function with this name, as a sentence holds it. For an
// instance of a generic it is the generic, as the type arguments are hashes of the compiler.
func Quote(name string) string {
	text := name
	if before, after, found := strings.Cut(name, "["); found && before != "" {
		after, _ = names.CutBrackets("[" + after)
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
	s := names.Parse(full, nil)
	return p.match(&s)
}

func (p *Pattern) match(s *names.Name) bool {
	switch {
	case p.regexp != nil:
		return p.reads(s) && p.regexp.MatchString(s.Canonical())
	case p.foreign == NoPackage:
		return s.Path == ""
	case p.foreign != "":
		return p.foreign == s.Full
	}
	for _, r := range p.readings {
		if r.path.match(s.Path) && has(s, r.item) {
			return true
		}
	}
	return false
}

// reads reports whether the pattern is a regular expression that the name alone decides.
func (p *Pattern) reads(s *names.Name) bool {
	name := s.Canonical()
	return p.regexp != nil && !slices.ContainsFunc(p.needs, func(text string) bool { return !strings.Contains(name, text) })
}

// has reports whether item names the function of a name, its type, or the
// function that holds it. nil names everything.
func has(s *names.Name, item []names.Segment) bool {
	if item == nil {
		return true
	}
	for i := range s.Segments {
		if (i == 0 || mayHold(s, i, item)) && startsWith(s.Segments[i:], item) {
			return true
		}
	}
	return false
}

// mayHold reports whether the word at i > 0 may be a function that was inlined
// and left its literal here, as later in outer.later.func1.
func mayHold(s *names.Name, i int, item []names.Segment) bool {
	last := item[len(item)-1] // with the number of a literal it means exactly that literal
	return i+len(item) <= s.LastMark && s.Segments[i].Kind < names.Mark && s.Segments[i-1].Kind != names.Pointer && last.Kind < names.Mark
}

// startsWith reports whether segments begin with item. Segments after it, a
// type's methods or a function's literals, belong to it.
func startsWith(segs, item []names.Segment) bool {
	if len(item) > len(segs) {
		return false
	}
	for j, want := range item {
		got := segs[j]
		switch {
		case want.Kind >= names.Mark || got.Kind >= names.Mark:
			if got != want {
				return false
			}
		case want.Kind == names.Pointer && got.Kind != names.Pointer:
			return false
		case got.Kind == names.Pointer && want.Kind != names.Pointer && j > 0:
			return false // in f.(*T).M, f is a function, not a type or package
		case !matchWord(want.Text, got.Text):
			return false
		}
	}
	return true
}

// Visible is a text in one line for a terminal or a log: a profile may have any characters in a
// name, also those that end lines or move the cursor.
func Visible(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// Clipped is what is Visible of the first bytes of a text, which may be long.
func Clipped(text string, most int) string { return Visible(text[:min(len(text), most)]) }
