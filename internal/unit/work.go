package unit

import (
	"strconv"
	"strings"
)

// A Work is a unit of work: what a budget has behind "per". It is the name of a
// counter, which labels may narrow: http_requests_total{code="200"}.
type Work struct {
	Name   string
	Labels map[string]string
}

// ParseWork reads a unit of work. It reports false for what is none.
func ParseWork(text string) (Work, bool) {
	name, rest, narrowed := strings.Cut(text, "{")
	w := Work{Name: name}
	if !IsName(name) || !narrowed {
		return w, IsName(name)
	}
	w.Labels = map[string]string{}
	for {
		key, after, ok := strings.Cut(strings.TrimSpace(rest), "=")
		if key = strings.TrimSpace(key); !ok || !IsName(key) || w.Labels[key] != "" {
			return w, false
		}
		after = strings.TrimSpace(after)
		value, err := strconv.QuotedPrefix(after)
		if err != nil {
			return w, false
		}
		rest = strings.TrimSpace(after[len(value):])
		if w.Labels[key], err = strconv.Unquote(value); err != nil {
			return w, false
		}
		if rest == "}" {
			return w, true
		}
		if rest, ok = strings.CutPrefix(rest, ","); !ok {
			return w, false
		}
	}
}

// IsName reports whether text is a name, of a unit of work or of a budget: a letter or a
// digit, and letters, digits, "_", "." and "-" behind it.
func IsName(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case i > 0 && (c == '_' || c == '.' || c == '-'):
		default:
			return false
		}
	}
	return text != ""
}
