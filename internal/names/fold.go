package names

import (
	"strings"
	"unicode"
)

// Fold returns the name of the function that holds the code with this name, in the source: see the
// package documentation. Names that are not Go's stay. A folded name is that of a function, too, as the
// linker writes it, and folds to itself.
func Fold(full string) string {
	var buf [8]Segment
	s := Parse(full, buf[:0])
	if s.Path == "" || len(s.Segments) == 0 {
		return full
	}
	held := holder(s.Segments)
	if len(held) == 0 { // of a damaged name
		return full
	}
	written, _ := cut(full) // the linker's escapes stay, so that a folded name can be parsed
	path := origin(unvendored(written))
	if len(path) == len(written) && len(held) == len(s.Segments) && len(path)+1+textLen(held) == len(full) {
		return full // without allocating
	}
	return path + "." + text(held)
}

// holder are the segments of the function that holds what the segments name.
func holder(segs []Segment) []Segment {
	end := len(segs)
	for end > 0 && segs[end-1].Kind >= Mark {
		end--
	}
	if end == len(segs) {
		return segs // a function as written
	}
	begin := end
	for begin > 0 && segs[begin-1].Kind < Mark {
		begin--
	}
	held := segs[begin:end]
	for i := len(held) - 1; i > 0; i-- {
		if held[i].Kind == Pointer { // its method was inlined into what stands before
			return held[i:]
		}
	}
	held = held[max(0, len(held)-2):]
	switch {
	case len(held) == 2 && held[0] == held[1] && unicode.IsLower(rune(held[0].Text[0])):
		return held[1:] // a literal of main.main, inlined into it; only types such as Error have a method of their name
	}
	return held
}

func textLen(segs []Segment) (n int) {
	for _, seg := range segs {
		if n += len(seg.Text) + 1; seg.Kind == Pointer {
			n += len("(*)")
		}
	}
	return n - 1
}

func text(segs []Segment) string {
	var b strings.Builder
	for i, seg := range segs {
		if i > 0 {
			b.WriteByte('.')
		}
		if seg.Kind == Pointer {
			b.WriteString("(*" + seg.Text + ")")
		} else {
			b.WriteString(seg.Text)
		}
	}
	return b.String()
}
