package unit

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// A Work is a unit of work, which follows "per" in a budget. It is the name of a counter,
// which labels may restrict: http_requests_total{code="200"}.
type Work struct {
	Name   string
	Labels map[string]string
}

// Expressions are compiled when the first budget asks: not all programs have one.
var workExpressions = sync.OnceValues(func() (work, label *regexp.Regexp) {
	const name = `[a-zA-Z0-9][\w.-]*`
	const some = `\s*(` + name + `)\s*=\s*("(?:[^"\\]|\\.)*")\s*`
	return regexp.MustCompile(`^(` + name + `)(?:\{` + some + `(?:,` + some + `)*\})?$`), regexp.MustCompile(some)
})

// ParseWork reads a unit of work. It reports false for other texts.
func ParseWork(text string) (Work, bool) {
	work, label := workExpressions()
	match := work.FindStringSubmatch(text)
	if match == nil {
		return Work{}, false
	}
	w := Work{Name: match[1]}
	for _, pair := range label.FindAllStringSubmatch(text[len(w.Name):], -1) {
		value, err := strconv.Unquote(pair[2])
		if _, twice := w.Labels[pair[1]]; err != nil || twice {
			return w, false
		}
		if w.Labels == nil {
			w.Labels = map[string]string{}
		}
		w.Labels[pair[1]] = value
	}
	return w, true
}

// IsName reports whether text is a name, of a unit of work or of a budget: a letter or a
// digit, and letters, digits, "_", "." and "-" behind it.
func IsName(text string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	return text != "" && strings.Contains(letters, text[:1]) && strings.Trim(text, letters+"_.-") == ""
}

// CutCount splits a unit and how many there were of it, as in requests{code="200"}=12. The last
// "=" divides them, as labels have one, too.
func CutCount(text string) (unit, count string) {
	at := max(strings.LastIndexByte(text, '='), 0)
	return text[:at], strings.TrimPrefix(text[at:], "=")
}
