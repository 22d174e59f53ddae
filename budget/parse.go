package budget

import (
	"errors"
	"fmt"
	"strings"
)

// mostErrors limits the errors for a text that does not contain budgets at all. People read
// no more than a screenful.
const mostErrors = 20

// Parse reads budgets, one a line. The package documentation is the reference of the language.
//
// The error reports every wrong line, up to twenty. [errors.As] finds the first as a
// [*SyntaxError]. The set is nil if and only if there is an error. A text without a budget is
// an empty set and not nil, because nil means the default budgets to a guard. A guard refuses an
// empty set.
func Parse(text string) (Set, error) {
	set, first := Set{}, map[string]int{} // by name, the line that it is from
	var errs []error
	text = strings.TrimPrefix(text, "\ufeff") // some editors leave a byte order mark
	for i, sentence := range strings.Split(text, "\n") {
		line := i + 1
		p := parser{lex: lexer{line: strings.TrimSuffix(sentence, "\r")}}
		p.advance()
		if p.err == nil && p.tok.kind == tokenEnd {
			continue
		}
		p.budget()
		if p.err == nil {
			name := p.b.identity()
			if earlier, taken := first[name]; taken {
				at := p.places[partName]
				if p.b.Name == "" {
					at = p.span(at, token{off: p.lex.last})
				}
				p.fail(at, "a unique name for each budget", "")
				p.err.Remedy = fmt.Sprintf("line %d has this one already: rename one, or remove it", earlier)
			}
			first[name] = line
		}
		if p.err == nil {
			set = append(set, p.b)
			continue
		}
		p.err.Line = line
		if p.err.Remedy == "" {
			p.err.Remedy = plain(p.remedy())
		}
		if errs = append(errs, p.err); len(errs) == mostErrors {
			errs = append(errs, fmt.Errorf("parse budget: the text after line %d was not read", line))
			break
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return set, nil
}

// Must is [Parse] for budgets that are written in the program. It panics if they are wrong.
func Must(lines ...string) Set {
	set, err := Parse(strings.Join(lines, "\n"))
	if err != nil {
		panic("budget.Must: " + err.Error())
	}
	return set
}

// UnmarshalText reads a sentence, as [Parse] does.
func (b *Budget) UnmarshalText(text []byte) error {
	set, err := Parse(string(text))
	if err == nil && len(set) != 1 {
		err = fmt.Errorf("parse budget: expected one, found %d", len(set))
	}
	if err == nil {
		*b = set[0]
	}
	return err
}
