package names

import "strings"

// A Kind says what a segment of a function name stands for.
type Kind uint8

const (
	Plain   Kind = iota // a function, or a type that is received by value
	Pointer             // (*T): a type that is received by pointer
	Mark                // what the compiler adds: gowrap1, deferwrap1, the number of an init function
	Literal             // for a literal, a body of a loop or a method value: its number, -range1, -fm
)

// A Segment is one word of a function name, without its type arguments:
// "(*box[go.shape.int]).Put.func1" has the segments (*box), Put and func1.
type Segment struct {
	Text string
	Kind Kind
}

// Scan appends the segments of rest, the part of a Go name after its package,
// to segs. It takes any input; well reports whether all parentheses are closed and no word
// is empty, which a pattern must be and a name from a damaged profile need not.
func Scan(rest string, segs []Segment) (_ []Segment, well bool) {
	well = true
	for first := len(segs) == 0; rest != ""; first = false {
		var seg Segment
		closed := true
		if rest[0] == '(' {
			seg, rest, closed = scanReceiver(rest)
		} else {
			seg, rest = scanWord(rest)
		}
		if !first && seg.Kind == Plain {
			seg = marked(seg, segs)
		}
		if seg.Text != "" {
			segs = append(segs, seg)
		}
		well = well && closed && seg.Text != ""
		rest, _ = CutBrackets(rest)
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
func scanReceiver(s string) (seg Segment, rest string, closed bool) {
	s = s[1:]
	if strings.HasPrefix(s, "*") {
		seg.Kind, s = Pointer, s[1:]
	}
	end := 0
	for end < len(s) && s[end] != '[' && s[end] != ')' && s[end] != '.' {
		end++
	}
	seg.Text = s[:end]
	s, _ = CutBrackets(s[end:])
	rest, closed = strings.CutPrefix(s, ")")
	return seg, rest, closed
}

// scanWord reads a word, or a suffix such as -range1, from the start of s.
func scanWord(s string) (Segment, string) {
	if n := suffixLen(s); n > 0 {
		return Segment{s[:n], Literal}, s[n:]
	}
	end := 0
	for end < len(s) && s[end] != '.' && s[end] != '[' && (s[end] != '-' || suffixLen(s[end:]) == 0) {
		end++
	}
	return Segment{Text: s[:end]}, s[end:]
}

// suffixLen is the length of the "-range1" or "-fm" that s starts with, or 0.
func suffixLen(s string) int {
	rest, ok := strings.CutPrefix(s, "-fm")
	if number, is := strings.CutPrefix(s, "-range"); is {
		rest = strings.TrimLeft(number, decimals)
		ok = rest != number
	}
	if !ok || rest != "" && rest[0] != '.' && rest[0] != '-' {
		return 0
	}
	return len(s) - len(rest)
}

// marked returns the segment of a word behind others, which the compiler may have chosen and not
// the programmer. A literal is func1, or 1 if it was compiled into another literal. Since Go 1.27
// that depends on inlining, so that both are 1. The second init function is init.1, though, and
// init.func1 a literal outside of functions. No literal is 0, as in the f.part.0 of C compilers.
// A method called func1 would be taken for a closure, but has never been seen.
func marked(seg Segment, before []Segment) Segment {
	number := strings.TrimPrefix(seg.Text, "func")
	inits := number == seg.Text && len(before) > 0 && before[len(before)-1] == Segment{Text: "init"}
	wraps := strings.TrimPrefix(strings.TrimPrefix(seg.Text, "gowrap"), "deferwrap")
	switch {
	case isNumber(number) && number != "0" && !inits:
		return Segment{number, Literal}
	case isNumber(wraps):
		return Segment{seg.Text, Mark}
	}
	return seg
}

// CutBrackets returns what follows the bracket that closes the one in front of s, if there is
// one. Brackets in quotes, the field tags of a struct shape, do not count. Where nothing closes
// it, that is what follows the last bracket there is.
func CutBrackets(s string) (rest string, closed bool) {
	if s == "" || s[0] != '[' {
		return s, true
	}
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return s[i+1:], true
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
		return s[last+1:], false
	}
	return "", false
}

const decimals = "0123456789"

func isNumber(s string) bool { return s != "" && strings.TrimLeft(s, decimals) == "" }
