package names

import (
	"slices"
	"strings"
)

// A Name is the name of a function, in its parts.
type Name struct {
	Full     string
	Path     string // of the package, canonical; "" if the name is not Go's
	Rest     string // what follows the path
	Segments []Segment
	// LastMark is the index of the last segment that says that this is a literal
	// or a body cut out of a function, -1 if it is a function as written.
	LastMark int
}

// Parse reads a name. Its segments are in buf, if they fit.
func Parse(full string, buf []Segment) Name {
	s := Name{Full: full, Segments: buf, LastMark: -1}
	path, rest := cut(full)
	if path == "" {
		if isIdentifier(full) { // memcpy: a C function can be asked for like any other
			s.Segments = append(buf, Segment{Text: full})
		}
		return s
	}
	s.Path, s.Rest = CanonicalPath(path), rest
	s.Segments, _ = Scan(rest, buf)
	for i, seg := range s.Segments {
		// A method value wraps a method and says nothing about inlining.
		if seg.Kind >= Mark && seg.Text != "-fm" {
			s.LastMark = i
		}
	}
	return s
}

// Canonical is the name with the canonical path, with its type arguments and all that the compiler
// added.
func (s *Name) Canonical() string {
	if len(s.Path)+1+len(s.Rest) == len(s.Full) || s.Path == "" {
		return s.Full // nothing was undone
	}
	return s.Path + "." + s.Rest
}

// PackageOf returns the canonical import path of a function's package: escapes and
// vendoring undone. It is "main" for every main package and "" for names that are not
// Go's.
func PackageOf(full string) string {
	path, _ := cut(full)
	return CanonicalPath(path)
}

// Short is a function's name as people say it: with the name of its package in place of the path,
// without a major version (chi.(*Mux).ServeHTTP of github.com/go-chi/chi/v5), and without type
// arguments, which may be long hashes. It matches the function as a pattern.
func Short(full string) string {
	if name, rest, generic := strings.Cut(full, "["); generic && name != "" {
		full = name + "[...]" + rest[strings.LastIndexByte(rest, ']')+1:]
	}
	path, rest := cut(full)
	if path == "" {
		return full[strings.LastIndexByte(full, '/')+1:]
	}
	return LastNames(CanonicalPath(path))[1] + "." + rest
}

// IsLiteral reports whether the function is a literal or in one, the body of a range loop over a
// function, or a method value: main.f.func1, main.f.1 (see marked), main.f-range1, main.T.m-fm.
func IsLiteral(full string) bool {
	var buf [8]Segment
	return slices.ContainsFunc(Parse(full, buf[:0]).Segments, func(seg Segment) bool { return seg.Kind == Literal })
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
