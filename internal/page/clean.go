package page

import (
	"fmt"
	"html"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName is longer than any name that a person reads. Names of generic
// instances have no bound of their own.
const maxName = 300

// Clean makes a name fit to be shown: control characters, separators of lines
// and marks that reorder text become visible escapes, bytes that are no UTF-8
// become U+FFFD, and what is longer than 300 characters is cut. The result still
// has to be escaped for its place.
func Clean(name string) string {
	if isClean(name) {
		return name
	}
	var b strings.Builder
	n := 0
	for _, r := range name {
		if n++; n > maxName {
			b.WriteString("…")
			break
		}
		if shown(r) {
			b.WriteRune(r) // U+FFFD for a byte that is no UTF-8
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func isClean(name string) bool {
	if len(name) > maxName || !utf8.ValidString(name) {
		return false
	}
	for _, r := range name {
		if !shown(r) {
			return false
		}
	}
	return true
}

// shown reports whether a character may be shown as it is. Besides the control
// characters that leaves out all format characters (category Cf: U+202E makes
// the rest of a line run backwards) and all spaces but the common one.
func shown(r rune) bool { return unicode.IsPrint(r) }

// escape makes text of a name, for an element or for an attribute in quotes, in
// HTML as in XML.
func escape(name string) string { return html.EscapeString(Clean(name)) }

// Short drops the directories of a function's package path:
// "net/http.(*conn).serve" becomes "http.(*conn).serve".
func Short(function string) string {
	end := strings.IndexByte(function, '[') // type arguments have paths of their own
	if end < 0 {
		end = len(function)
	}
	if i := strings.LastIndexByte(function[:end], '/'); i >= 0 {
		return function[i+1:]
	}
	return function
}
