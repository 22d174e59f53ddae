package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// parseRegexp reads /.../, in which \/ stands for a slash.
func parseRegexp(text string) (*regexp.Regexp, error) {
	var expr strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text):
			if text[i+1] != '/' {
				expr.WriteByte('\\')
			}
			i++
			expr.WriteByte(text[i])
		case text[i] == '/' && i+1 < len(text):
			return nil, fmt.Errorf(`found %q after the / that ends the regular expression; write \/ for a slash inside it`, text[i+1:])
		case text[i] == '/' && expr.Len() == 0:
			return nil, errors.New("the regular expression is empty; write what to look for between the slashes")
		case text[i] == '/':
			return regexp.Compile(expr.String())
		default:
			expr.WriteByte(text[i])
		}
	}
	return nil, errors.New("a / at the start opens a regular expression, and no / closes it; write /regexp/, or a package path without the first slash")
}
