package pattern

import "strings"

// A kind says what a segment of a function name stands for.
type kind uint8

const (
	plain   kind = iota // a function, or a type that is received by value
	pointer             // (*T): a type that is received by pointer
	mark                // what the compiler adds: func1, 2, gowrap1, -range1, -fm
)

// A segment is one word of a function name, without its type arguments:
// "(*box[go.shape.int]).Put.func1" has the segments (*box), Put and func1.
type segment struct {
	text string
	kind kind
}

// scan appends the segments of rest, the part of a Go name after its package,
// to segs. It takes any input; well reports whether all brackets and parentheses
// are closed and no word is empty, which a pattern must be and a name from a
// damaged profile need not.
func scan(rest string, segs []segment) (_ []segment, well bool) {
	well = true
	for first := len(segs) == 0; rest != ""; first = false {
		var seg segment
		var closed bool
		switch {
		case strings.HasPrefix(rest, "("):
			seg, rest, closed = scanReceiver(rest)
		default:
			seg, rest = scanWord(rest)
			closed = true
		}
		if !first && seg.kind == plain && isMark(seg.text) {
			seg.kind = mark
		}
		if seg.text != "" {
			segs = append(segs, seg)
		}
		well = well && closed && seg.text != ""

		if strings.HasPrefix(rest, "[") {
			after, closed := skipBrackets(rest)
			rest, well = rest[after:], well && closed
		}
		switch {
		case strings.HasPrefix(rest, "."):
			rest = rest[1:]
			well = well && rest != ""
		case rest != "" && suffixLen(rest) == 0:
			// Only in some names that the runtime has shortened, "main.(*T[...].func1"; go
			// on with the rest.
			well = false
		}
	}
	return segs, well
}

// scanReceiver reads "(*T)", "(*T[int])" or "(T)" from the start of s.
func scanReceiver(s string) (seg segment, rest string, closed bool) {
	s = s[1:]
	if strings.HasPrefix(s, "*") {
		seg.kind, s = pointer, s[1:]
	}
	end := 0
	for end < len(s) && s[end] != '[' && s[end] != ')' && s[end] != '.' {
		end++
	}
	seg.text, s = s[:end], s[end:]
	closed = true
	if strings.HasPrefix(s, "[") {
		var after int
		after, closed = skipBrackets(s)
		s = s[after:]
	}
	if strings.HasPrefix(s, ")") {
		return seg, s[1:], closed
	}
	return seg, s, false
}

// scanWord reads a word, or a suffix such as -range1, from the start of s.
func scanWord(s string) (segment, string) {
	if n := suffixLen(s); n > 0 {
		return segment{s[:n], mark}, s[n:]
	}
	end := 0
	for end < len(s) && s[end] != '.' && s[end] != '[' && (s[end] != '-' || suffixLen(s[end:]) == 0) {
		end++
	}
	return segment{text: s[:end]}, s[end:]
}

// suffixLen is the length of the "-range1" or "-fm" that s starts with, or 0.
func suffixLen(s string) int {
	if s == "" || s[0] != '-' {
		return 0
	}
	n := len("-fm")
	if !strings.HasPrefix(s, "-fm") {
		n = len("-range")
		if !strings.HasPrefix(s, "-range") || n+digits(s[n:]) == n {
			return 0
		}
		n += digits(s[n:])
	}
	if n < len(s) && s[n] != '.' && s[n] != '-' {
		return 0
	}
	return n
}

// isMark reports whether the compiler, not the programmer, chose the word.
// A method called func1 would be taken for a closure, but has never been seen.
func isMark(word string) bool {
	for _, prefix := range [...]string{"", "func", "gowrap", "deferwrap"} {
		if number, ok := strings.CutPrefix(word, prefix); ok && number != "" && digits(number) == len(number) {
			return true
		}
	}
	return false
}

// skipBrackets returns the offset after the bracket that closes s[0]. Brackets in
// quotes, the field tags of a struct shape, do not count. When nothing closes
// s[0] the offset is after the last bracket there is, or at the end.
func skipBrackets(s string) (after int, closed bool) {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return i + 1, true
			}
		case '"':
			for i++; i < len(s) && s[i] != '"'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
		}
	}
	if last := strings.LastIndexByte(s, ']'); last >= 0 {
		return last + 1, false
	}
	return len(s), false
}

// digits is the number of decimal digits that s starts with.
func digits(s string) int {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return n
}
