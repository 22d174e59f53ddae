package pattern

import (
	"strings"
	"unicode"
)

// A symbol is a function name, prepared for being matched.
type symbol struct {
	full     string
	path     string // canonical; "" if the name is not Go's
	rest     string // what follows the path
	segments []segment
	// lastMark is the index of the last segment that says that this is a literal
	// or a body cut out of a function, -1 if it is a function as written.
	lastMark int
}

// parseName prepares a name. Its segments are in buf, if they fit.
func parseName(full string, buf []segment) symbol {
	s := symbol{full: full, lastMark: -1}
	path, rest, ok := cut(full)
	if !ok {
		name := segment{full, foreign}
		if isIdentifier(full) {
			name.kind = plain // memcpy: a C function can be asked for like any other
		}
		s.segments = append(buf, name)
		return s
	}
	s.path, s.rest = canonicalPath(path), rest
	s.segments, _ = scan(rest, buf)
	for i, seg := range s.segments {
		// A method value wraps a method and says nothing about inlining.
		if seg.kind == mark && seg.text != "-fm" {
			s.lastMark = i
		}
	}
	return s
}

// canonical is the name that regular expressions see: with its type arguments
// and all that the compiler added.
func (s *symbol) canonical() string {
	if len(s.path)+1+len(s.rest) == len(s.full) || s.path == "" {
		return s.full // nothing was undone
	}
	return s.path + "." + s.rest
}

// PackageOf returns the canonical import path of a function's package: escapes and
// vendoring undone. It is "main" for every main package and "" for names that are not
// Go's.
func PackageOf(full string) string {
	path, _, _ := cut(full)
	return canonicalPath(path)
}

// cut splits a Go name after its package. The path is as written, not canonical.
func cut(full string) (path, rest string, ok bool) {
	if isForeign(full) {
		return "", "", false
	}
	// One pass finds the first dot after the last slash: the linker escapes the
	// dots of the package's last element. Type arguments may have slashes.
	slash, dot := -1, -1
	for i := 0; i < len(full) && full[i] != '[' && full[i] != '('; i++ {
		switch full[i] {
		case '/':
			slash, dot = i, -1
		case '.':
			if dot < 0 {
				dot = i
			}
		case ' ', '\t', '\n':
			return "", "", false
		}
	}
	if dot <= slash+1 || dot+1 == len(full) {
		return "", "", false
	}
	return full[:dot], full[dot+1:], true
}

// isForeign reports whether a name cannot be one of a Go function: C++ and Rust,
// mappings such as [libc.so.6], <unknown>, and functions without a source that
// the compiler makes for a type (type:.eq.main.T).
func isForeign(full string) bool {
	if full == "" || strings.HasPrefix(full, "type:") || strings.HasPrefix(full, "go:") || strings.IndexByte("/[<.", full[0]) >= 0 {
		return true
	}
	for i := range len(full) {
		switch full[i] {
		case '[':
			return false
		case '{', '<':
			return true
		case '(': // (*T) follows a dot, or starts a pattern; others hold a signature
			return i > 0 && full[i-1] != '.' && full[i-1] != '/' || strings.HasPrefix(full[i:], "(anonymous namespace)")
		case ':':
			if strings.HasPrefix(full[i:], "::") {
				return true
			}
		}
	}
	return false
}

// isIdentifier reports whether a name without package could be one of C.
func isIdentifier(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && c != '$' && c != '@' && c < 0x80 && !('0' <= c && c <= '9') && !('a' <= c|0x20 && c|0x20 <= 'z') {
			return false
		}
	}
	return s != ""
}

// Visible is a text in one line for a terminal or a log: a profile may have any characters in a
// name, also those that end lines or move the cursor.
func Visible(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}
