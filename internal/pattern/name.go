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
	segs := s.segments()
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
	path, _, _ := cut(full)
	return canonicalPath(path)
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
