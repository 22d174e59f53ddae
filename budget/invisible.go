package budget

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// isInvisible reports whether a character does not show: control and format
// characters, such as the zero width space that comes with text from web pages,
// fillers and variation selectors. No Go name has any, and a pattern with one
// would look right and match nothing.
func isInvisible(r rune) bool {
	return !unicode.IsGraphic(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// invisibleIn returns the first invisible character of a word, and where it is.
// Labels are data and may have those that emoji are made of.
func invisibleIn(word string, m mode) (at int, character string) {
	for i, r := range word {
		if isInvisible(r) && (m == modeWord || !unicode.IsPrint(r)) {
			return i, word[i : i+utf8.RuneLen(r)]
		}
	}
	return -1, ""
}

// invisibleRemedy says which character of a word does not show.
func invisibleRemedy(word, character string, m mode) string {
	r, _ := utf8.DecodeRuneInString(character)
	remedy := fmt.Sprintf("%U", r)
	if name := invisibleName(r); name != "" {
		remedy = name + " (" + remedy + ")"
	}
	remedy += " does not show: "
	bare := strings.Map(func(r rune) rune {
		if isInvisible(r) {
			return -1
		}
		return r
	}, word)
	switch {
	case bare == "":
		remedy += "leave it out"
	case m == modeWord && word[0] == '/':
		remedy += fmt.Sprintf(`leave it out, or write \x{%X}`, r)
	case m == modeWord:
		remedy += `write "` + short(bare) + `", without it`
	default:
		remedy += fmt.Sprintf(`leave it out, or write \u%04X in double quotes`, r)
	}
	return remedy
}

const visibleExpected = "characters that show"

// invisibleName names the invisible characters that text comes by most.
func invisibleName(r rune) string {
	switch {
	case r == 0xad:
		return "a soft hyphen"
	case r == 0x200b:
		return "a zero width space"
	case r == 0x200c:
		return "a zero width non-joiner"
	case r == 0x200d:
		return "a zero width joiner"
	case r == 0x2060:
		return "a word joiner"
	case r == 0xfeff:
		return "a byte order mark"
	case r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return "a mark that sets the direction of writing"
	case unicode.Is(unicode.Cc, r):
		return "a control character"
	}
	return ""
}
