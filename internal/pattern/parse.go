package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/profguard/profguard/internal/names"
)

// maxDots is the number of dots in a pattern's last element that are tried as the end of the
// package. Packages have one or two, as in yaml.v3.
const maxDots = 8

// maxLength bounds a pattern. It is the longest function name that the decoder
// accepts, so that every name can be written as a pattern.
const maxLength = 16 << 10

var errItem = errors.New("it names no function or type; write F, T.Method or (*T).Method")

// Parse reads a pattern. Space around it is ignored. The error says what is
// wrong with the text and what to write instead.
func Parse(text string) (*Pattern, error) {
	text = strings.TrimSpace(text)
	var p Pattern
	var err error
	switch {
	case text == "":
		err = errors.New("it is empty; write a package, a function, or /regexp/")
	case len(text) > maxLength && text[0] != '"':
		err = fmt.Errorf("it has %d bytes; at most %d are allowed", len(text), maxLength)
	case text[0] == '"':
		err = p.parseQuoted(text)
	case text[0] == '/':
		p.regexp, p.needs, err = parseRegexp(text)
	default:
		p.readings, err = parseReadings(text)
	}
	if err != nil {
		return nil, fmt.Errorf("parse pattern %.100q: %w", text, err)
	}
	return &p, nil
}

// parseQuoted reads "...", the name of a function as a report prints it. If it can be read as
// a pattern, it is one; any other name stands for itself.
func (p *Pattern) parseQuoted(text string) error {
	name, err := strconv.Unquote(text)
	switch {
	case err != nil:
		return errors.New(`the quotes hold no string as Go writes it; after a backslash write n, t, ", \, or xNN`)
	case len(name) > maxLength:
		return fmt.Errorf("the name has %d bytes; at most %d are allowed", len(name), maxLength)
	case strings.TrimSpace(name) == "":
		return errors.New("there is nothing between the quotes; write the name of a function")
	case name[0] != '/' && name[0] != '"':
		if q, err := Parse(name); err == nil {
			p.readings = q.readings
			return nil
		}
	}
	p.foreign = name
	return nil
}

// parseReadings reads a text in Go's form in every way that makes sense. Packages may have
// dots, as in yaml.v3, so each dot of the last element may be the end of the package.
func parseReadings(text string) ([]reading, error) {
	head := text // all that can be part of a path
	if i := strings.IndexAny(text, "[("); i >= 0 {
		head = text[:i]
	}
	if err := checkHead(text, head); err != nil {
		return nil, err
	}
	slash := strings.LastIndexByte(head, '/') + 1

	var readings []reading
	if head == text {
		readings = append(readings, reading{path: pathOf(text)})
	}
	add := func(path pathSpec, item string) {
		switch segs, well := names.Scan(item, nil); {
		case !well || len(segs) == 0:
		case item == "*": // fmt.* is all of fmt
			readings = append(readings, reading{path, nil})
		default:
			readings = append(readings, reading{path, segs})
		}
	}
	dots := 0
	for i := slash; i < len(head) && dots < maxDots; i++ {
		if head[i] == '.' {
			dots++
			add(pathOf(text[:i]), text[i+1:])
		}
	}
	if slash == 0 {
		add(nil, text)
	}
	if len(readings) == 0 {
		return nil, errItem
	}
	return withMoved(readings), nil
}

// withMoved adds, for packages whose work has moved, the packages that do it now. A pattern for the
// whole package is about all of them; in those of crypto also the functions have the old names.
func withMoved(readings []reading) []reading {
	for _, r := range readings {
		for _, m := range names.Moved {
			if r.item == nil && r.path.match(m.From) {
				for _, to := range m.To {
					readings = append(readings, reading{pathOf(to), nil})
				}
			}
		}
		if len(r.path) > 1 && r.path[0] == "crypto" && r.path[1] != "internal" && r.path[1] != everything {
			path := append(append(pathOf(names.FIPS), everything), r.path[1:]...)
			readings = append(readings, reading{path, r.item})
		}
	}
	return readings
}

func pathOf(text string) pathSpec { return strings.Split(names.CanonicalPath(text), "/") }

// checkHead returns an error for a text that is a mistake in every reading.
func checkHead(text, head string) error {
	if !strings.ContainsFunc(text, func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return errors.New("it would match nearly everything; write at least one letter of what to look for")
	}
	elements := strings.Split(head, "/")
	last := len(elements) - 1
	for i, element := range elements {
		switch {
		case element == everything, element == "" && i == last && head != text: // (*T) alone
		case element == "":
			return errors.New("an element of the path is empty; write as in net/http for a package, as in net/http/... for it and all below it")
		case strings.Contains(element, everything):
			return fmt.Errorf("found %q, but ... must be a whole element of a path; write as in net/http/... for a package and all below it, as in .../http for all paths that end so", element)
		case element[0] == '.' || strings.Contains(element, "..") || i == last && strings.HasSuffix(text, "."):
			return errors.New("there is no name in front of a dot or behind it; write one like net/http.(*conn).serve")
		case strings.Contains(element, ")"):
			return errItem
		}
	}
	return checkCharacters(text)
}

// checkCharacters refuses characters that no Go name has outside the brackets of
// its type arguments.
func checkCharacters(text string) error {
	for i := 0; i < len(text); {
		if text[i] == '[' && i > 0 {
			rest, closed := names.CutBrackets(text[i:])
			if !closed {
				return fmt.Errorf("the [ of %q is not closed; leave the type arguments out, all instances of a function match", text[i:])
			}
			i = len(text) - len(rest)
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '(' && i > 0 && text[i-1] != '.':
			return errors.New("a function is named without its arguments, and a receiver stands behind a dot; write one like net/http.(*conn).serve")
		case strings.HasPrefix(text[i:], "**") && !strings.HasSuffix(text[:i], "("):
			return errors.New("found **, but * stays inside one name; write ... for any number of path elements: net/http/... is all of net/http")
		case strings.ContainsRune(`^$|?\{}+]`, r):
			// + is legal in import paths, but a regular expression is likelier.
			return fmt.Errorf("found %q; write a regular expression between slashes, as in /^net\\.(Dial|Listen)/", r)
		case r < 0x80 && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-~%()*", r), unicode.IsControl(r), unicode.IsSpace(r), r == utf8.RuneError:
			return fmt.Errorf("found %q, which no Go name has; write one like net/http.(*conn).serve, or the whole name in double quotes", r)
		}
		i += size
	}
	return nil
}

// parseRegexp reads /.../, in which \/ is a slash. It also returns what each match has.
func parseRegexp(text string) (_ *regexp.Regexp, needs []string, _ error) {
	end := 1
	for end < len(text) && text[end] != '/' {
		if text[end] == '\\' {
			end++
		}
		end++
	}
	switch {
	case end >= len(text):
		return nil, nil, errors.New("a / at the start opens a regular expression, and no / closes it; write /regexp/, or a package path without the first slash")
	case end+1 < len(text):
		return nil, nil, fmt.Errorf(`found %q after the / that ends the regular expression; write \/ for a slash inside it`, text[end+1:])
	case end == 1:
		return nil, nil, errors.New("the regular expression is empty; write what to look for between the slashes")
	}
	expression := strings.ReplaceAll(text[1:end], `\/`, "/")
	if tree, err := syntax.Parse(expression, syntax.Perl); err == nil {
		needs = needed(tree)
	}
	re, err := regexp.Compile(expression)
	return re, needs, err
}

// needed are texts in an expression that each match has. To look for them takes far less time than
// to match.
func needed(re *syntax.Regexp) (texts []string) {
	switch re.Op {
	case syntax.OpLiteral:
		text := string(re.Rune)
		if re.Flags&syntax.FoldCase == 0 && !strings.ContainsRune(text, utf8.RuneError) { // which also stands for bytes that are not UTF-8
			texts = append(texts, text)
		}
	case syntax.OpCapture, syntax.OpPlus, syntax.OpConcat:
		for _, part := range re.Sub {
			texts = append(texts, needed(part)...)
		}
	}
	return texts
}
