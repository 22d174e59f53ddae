package pattern

import (
	"slices"
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
	s := symbol{full: full, segments: buf, lastMark: -1}
	path, rest := cut(full)
	if path == "" {
		if isIdentifier(full) { // memcpy: a C function can be asked for like any other
			s.segments = append(buf, segment{text: full})
		}
		return s
	}
	s.path, s.rest = canonicalPath(path), rest
	s.segments, _ = scan(rest, buf)
	for i, seg := range s.segments {
		// A method value wraps a method and says nothing about inlining.
		if seg.kind >= mark && seg.text != "-fm" {
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
	path, _ := cut(full)
	return canonicalPath(path)
}

// Short is a function's name with the name of its package in place of the path, without a major
// version: chi.(*Mux).ServeHTTP of github.com/go-chi/chi/v5. It matches the function as a pattern.
func Short(full string) string {
	path, rest := cut(full)
	if path == "" {
		return full[strings.LastIndexByte(full, '/')+1:]
	}
	return lastNames(canonicalPath(path))[1] + "." + rest
}

// IsLiteral reports whether the function is a literal or in one, the body of a range loop over a
// function, or a method value: main.f.func1, main.f.1 (see marked), main.f-range1, main.T.m-fm.
func IsLiteral(full string) bool {
	var buf [8]segment
	return slices.ContainsFunc(parseName(full, buf[:0]).segments, func(seg segment) bool { return seg.kind == literal })
}

// cut splits a Go name after its package. The path is as written, not canonical, and "" for other
// names: those of C++ and Rust, mappings such as [libc.so.6], <unknown>, and functions without a source
// that the compiler makes for a type (type:.eq.main.T).
func cut(full string) (path, rest string) {
	// One pass finds the first dot after the last slash: the linker escapes the
	// dots of the package's last element. Type arguments may have slashes.
	slash, dot, end := -1, -1, 0
	for ; end < len(full) && full[end] != '[' && full[end] != '('; end++ {
		switch full[end] {
		case '/':
			slash, dot = end, -1
		case '.':
			if dot < 0 {
				dot = end
			}
		case ' ', '\t', '\n', ':', '{', '<':
			return "", ""
		}
	}
	signature := strings.HasPrefix(full[end:], "(") && !strings.HasSuffix(full[:end], ".") // (*T) follows a dot
	if dot <= slash+1 || dot+1 == len(full) || full[0] == '/' || signature {
		return "", ""
	}
	return full[:dot], full[dot+1:]
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
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// Clipped is what is Visible of the first bytes of a text, which may be long.
func Clipped(text string, most int) string { return Visible(text[:min(len(text), most)]) }
