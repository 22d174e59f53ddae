package pattern

import "strings"

// A Name is a function name, taken apart. Names are comparable.
//
// Code that the compiler moved into functions of its own belongs to the function
// that holds it in the source: the Func of main.work.func1.2, main.work-range1,
// main.work.gowrap1 and main.work[go.shape.int] is work.
type Name struct {
	// Package is the canonical import path: escapes and vendoring undone. It is
	// "main" for every main package and "" for names that are not Go's.
	Package string
	// Receiver is the receiver's type without type arguments, "" for functions.
	Receiver string
	// Pointer says that the receiver is a pointer.
	Pointer bool
	// Func is the function or method without type arguments, or the whole name
	// if that is not Go's.
	Func string
	// Inner is what the compiler added to the holder's name: ".func1.2",
	// "-range1", or, in a literal that came with an inlined function, that
	// function's name too: ".later.func1".
	//
	// The linker writes f.later.func1 for the literal of later inlined into f,
	// and T.M.func1 for the literal of a method M of the type T, so these cannot
	// be told apart: unless something gives it away, ParseName takes it for a
	// method. Patterns match either reading.
	Inner string
}

// String is the name in the linker's form, but without escapes, vendoring and
// type arguments: "net/http.(*conn).serve.func1".
func (n Name) String() string {
	var b strings.Builder
	if n.Package != "" {
		b.WriteString(n.Package + ".")
	}
	switch {
	case n.Pointer:
		b.WriteString("(*" + n.Receiver + ").")
	case n.Receiver != "":
		b.WriteString(n.Receiver + ".")
	}
	b.WriteString(n.Func + n.Inner)
	return b.String()
}

// ParseName takes apart a function name as it appears in a profile. It accepts
// any string: what is not a Go name becomes a Func without Package.
func ParseName(full string) Name {
	var s symbol
	s.parse(full)
	name := Name{Package: s.path}
	segs := s.segments
	switch {
	case len(segs) == 0:
		name.Func = full
		return name
	case len(segs) > 1 && segs[0].kind == pointer:
		name.Receiver, name.Pointer = segs[0].text, true
		segs = segs[1:]
	case len(segs) > 1 && segs[1].kind == plain && !s.startsWithFunc():
		name.Receiver = segs[0].text
		segs = segs[1:]
	}
	name.Func = segs[0].text
	var b strings.Builder
	for _, seg := range segs[1:] {
		b.WriteString(seg.String())
	}
	name.Inner = b.String()
	return name
}

// PackageOf is ParseName(full).Package.
func PackageOf(full string) string {
	var s symbol
	s.parse(full)
	return s.path
}

// Display is the name as people read it: escapes and vendoring undone, type
// arguments shortened to "[...]" as in the runtime's own tracebacks. What the
// compiler added stays, so that different functions stay different lines in a
// report.
func Display(full string) string {
	path, rest, ok := cut(full)
	if !ok {
		return full
	}
	var b strings.Builder
	b.WriteString(canonicalPath(path) + ".")
	for {
		i := strings.IndexByte(rest, '[')
		if i < 0 {
			b.WriteString(rest)
			return b.String()
		}
		after, _ := skipBrackets(rest[i:])
		b.WriteString(rest[:i] + "[...]")
		rest = rest[i+after:]
	}
}

// String is the segment as it follows another one.
func (s segment) String() string {
	switch {
	case s.kind == pointer:
		return ".(*" + s.text + ")"
	case s.kind == mark && s.text[0] == '-':
		return s.text
	}
	return "." + s.text
}

// A symbol is a function name, prepared for being matched.
type symbol struct {
	full     string
	path     string // canonical; "" if the name is not Go's
	rest     string // what follows the path
	segments []segment
	// lastMark is the index of the last segment that says that this is a literal
	// or a body cut out of a function, -1 if it is a function as written.
	lastMark int
	few      [6]segment // room for nearly all names
	folded   string     // see lower
}

// parse fills s from a name.
func (s *symbol) parse(full string) {
	s.full, s.segments, s.lastMark = full, s.few[:0], -1
	path, rest, ok := cut(full)
	if !ok {
		seg := segment{full, foreign}
		if isIdentifier(full) {
			seg.kind = plain // memcpy: a C function can be asked for like any other
		}
		s.segments = append(s.segments, seg)
		return
	}
	s.path, s.rest = canonicalPath(path), rest
	s.segments, _ = scan(rest, s.segments)
	for i, seg := range s.segments {
		// A method value wraps a method and says nothing about inlining.
		if seg.kind == mark && seg.text != "-fm" {
			s.lastMark = i
		}
	}
}

// canonical is the name that regular expressions see: with its type arguments
// and all that the compiler added.
func (s *symbol) canonical() string {
	if len(s.path)+1+len(s.rest) == len(s.full) || s.path == "" {
		return s.full // nothing was undone
	}
	return s.path + "." + s.rest
}

// lower is canonical in lower case, computed once.
func (s *symbol) lower() string {
	if s.folded == "" {
		s.folded = strings.ToLower(s.canonical())
	}
	return s.folded
}

// startsWithFunc reports whether the first segment must be a function, though a
// second word follows, so that the second was inlined into it.
func (s *symbol) startsWithFunc() bool {
	first := s.segments[0].text
	if first == "init" || first == "main" && s.path == "main" {
		return true // the language has no other use for these names
	}
	// f.g.f-range1.func2: a body of f came back into f through g.
	for i := 2; i < len(s.segments)-1; i++ {
		if s.segments[i] == s.segments[0] && s.segments[i+1].kind == mark {
			return true
		}
	}
	return false
}

// cut splits a Go name after its package. The path is as written, not canonical.
func cut(full string) (path, rest string, ok bool) {
	if isForeign(full) {
		return "", "", false
	}
	head := full
	if i := strings.IndexAny(full, "[("); i >= 0 {
		head = full[:i]
	}
	slash := strings.LastIndexByte(head, '/')
	dot := strings.IndexByte(head[slash+1:], '.') // the linker escapes those of the package
	if dot <= 0 || strings.ContainsAny(head, " \t\n") {
		return "", "", false
	}
	dot += slash + 1
	// Symbolizers that undo the escape leave gopkg.in's versions ambiguous.
	if strings.Contains(head[:dot], "gopkg.in/") && strings.HasPrefix(full[dot:], ".v") {
		if n := digits(full[dot+2:]); n > 0 && strings.HasPrefix(full[dot+2+n:], ".") {
			dot += 2 + n
		}
	}
	if dot+1 == len(full) {
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
	i := strings.IndexAny(full, "[({<")
	if i < 0 {
		return strings.Contains(full, "::")
	}
	if strings.Contains(full[:i], "::") || full[i] == '{' || full[i] == '<' {
		return true
	}
	if full[i] == '[' {
		return false
	}
	// (*T) follows a dot, or starts a pattern; other parentheses are a signature.
	return i > 0 && full[i-1] != '.' && full[i-1] != '/' || strings.HasPrefix(full[i:], "(anonymous namespace)")
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
