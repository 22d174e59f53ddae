package budget

import (
	"math"
	"strconv"
	"strings"
)

// amount reads a number and its unit, attached or as the next word. It limits
// the subject; examples goes into the message when there is none. The token spans
// both.
func (p *parser) amount(subject, examples string) (Amount, token) {
	at := p.tok
	expected := "an amount, such as " + examples
	switch {
	case p.err != nil:
		return Amount{}, at
	case at.kind == tokenQuoted:
		p.fail(at, expected, "leave out the quotes: "+at.text)
	case at.kind != tokenWord || isKeyword(at.raw):
		p.fail(at, expected, "say how much is too much")
	case !startsWithNumber(at.raw):
		p.noAmount(at, expected)
	}
	if p.err != nil {
		return Amount{}, at
	}

	if r, ok := ratioAt(p.lex.line[at.off:]); ok && p.slash(at, subject, r) {
		return Amount{}, at
	}
	digits, suffix := splitNumber(at.raw)
	value, err := strconv.ParseFloat(digits, 64)
	if err != nil || math.IsInf(value, 0) {
		p.fail(at, expected, "write the number with digits and at most one point")
		return Amount{}, at
	}
	p.advance()
	next := p.tok
	if suffix != "" {
		name, ok := unitNamed(suffix)
		if !ok {
			p.badSuffix(at, subject, digits, suffix)
		}
		return Amount{value, name}, at
	}
	if next.kind == tokenComma && p.adjacentDigit(next) {
		group := p.peek()
		remedy := didYouMean(digits + "." + group.raw)
		if whole, _ := splitNumber(group.raw); len(whole) == 3 {
			remedy = didYouMean(digits + group.raw)
		}
		p.fail(p.span(at, group), "a number without commas", remedy)
		return Amount{}, at
	}
	if next.kind != tokenWord || isKeyword(next.raw) || p.startsSentence() {
		return Amount{Value: value}, at
	}
	if name, ok := unitNamed(next.raw); ok {
		p.advance()
		return Amount{value, name}, p.span(at, next)
	}
	if unit, clause := glued(next.raw); clause != "" {
		p.fail(p.span(at, next), blankExpected, didYouMean(withUnit(digits, unit)+" "+clause))
	} else if meant := unitMeant(next.raw); meant != "" {
		p.fail(p.span(at, next), "a number with a known unit", didYouMean(withUnit(digits, meant)))
	} else if isThing(next.raw) {
		p.fail(next, "a unit or a clause", thingRemedy(p.ahead(subject), next.raw, digits))
	} else if clauseMeant(next.raw) == "" {
		p.fail(next, "a unit or a clause", "units are "+unitList)
	}
	return Amount{Value: value}, at
}

// noAmount explains a word that does not begin like a number.
func (p *parser) noAmount(at token, expected string) {
	trimmed := strings.TrimLeft(at.raw, "<>=~≤≥+")
	switch {
	case at.raw[0] == '-':
		p.fail(at, "a positive amount", "a limit below zero can never be kept: "+didYouMean(at.raw[1:]))
	case trimmed != at.raw && startsWithNumber(trimmed):
		p.fail(at, expected, didYouMean(trimmed))
	case isLimitish(at.raw) || at.raw == "than":
		p.fail(at, expected, `leave out "`+at.raw+`"`)
	default:
		p.fail(at, expected, "an amount begins with a digit")
	}
}

// badSuffix explains what stands behind a number without being a unit.
func (p *parser) badSuffix(at token, subject, digits, suffix string) {
	const expected = "a number with a known unit"
	unit, clause := glued(suffix)
	switch {
	case clause != "":
		p.fail(at, blankExpected, didYouMean(withUnit(digits, unit)+" "+clause))
	case suffix[0] == '_' || suffix[0] == '\'':
		p.fail(at, "a number without separators", didYouMean(strings.NewReplacer("_", "", "'", "").Replace(at.raw)))
	case (suffix[0] == 'e' || suffix[0] == 'E') && startsWithNumber(strings.TrimLeft(suffix[1:], "+-")):
		remedy := "write all digits"
		if v, err := strconv.ParseFloat(at.raw, 64); err == nil && v >= 1e-9 && v <= 1e15 {
			remedy = didYouMean(strconv.FormatFloat(v, 'f', -1, 64))
		}
		p.fail(at, "a number without exponent", remedy)
	case suffix[0] == '.':
		p.fail(at, "a number with at most one point", "write it as 20, 0.2 or 1.5")
	case (suffix[0] == 'm' || suffix[0] == 'h') && len(suffix) > 1 && startsWithNumber(suffix[1:]):
		p.fail(at, "a duration in one unit", "write 90s instead of 1m30s")
	case thousands(digits, suffix) != "" && countsOnly(p.ahead(subject)):
		p.fail(at, "a number with all its digits", didYouMean(thousands(digits, suffix)))
	case unitMeant(suffix) != "":
		p.fail(at, expected, didYouMean(withUnit(digits, unitMeant(suffix))))
	case isThing(suffix):
		p.fail(at, expected, thingRemedy(p.ahead(subject), suffix, digits))
	case suffix == "x":
		p.fail(at, expected, "write growth in percent: twice as much is 100% more")
	default:
		p.fail(at, expected, "units are "+unitList)
	}
}

const blankExpected = "a blank after the amount"

// glued cuts "%except" into the unit and the clause's keyword that follows it
// without a blank, and returns "" for any other word.
func glued(word string) (unit, clause string) {
	for _, clause := range []string{"cumulative", "flat", "per", "of", "except", "in", "where", "when", "for"} {
		unit, ok := strings.CutSuffix(word, clause)
		if !ok {
			continue
		}
		if name, known := unitNamed(unit); known || unit == "" {
			return name, clause
		}
	}
	return "", ""
}

// adjacentDigit reports whether a digit follows the comma at once, as in
// "1,000".
func (p *parser) adjacentDigit(comma token) bool {
	rest := p.lex.line[comma.end():]
	return rest != "" && rest[0] >= '0' && rest[0] <= '9'
}

// splitNumber cuts "1.5GiB" into its number and the rest.
func splitNumber(word string) (digits, rest string) {
	end, point := 0, false
	for end < len(word) && (word[end] >= '0' && word[end] <= '9' || word[end] == '.' && !point) {
		point = point || word[end] == '.'
		end++
	}
	return word[:end], word[end:]
}

func startsWithNumber(word string) bool {
	word = strings.TrimPrefix(word, ".")
	return word != "" && word[0] >= '0' && word[0] <= '9'
}

// withUnit attaches a unit, or each of several ("MB or MiB"), to a number.
func withUnit(digits, units string) string {
	var texts []string
	for unit := range strings.SplitSeq(units, " or ") {
		if unit == "points" || unit == "cores" {
			unit = " " + unit
		}
		texts = append(texts, digits+unit)
	}
	return strings.Join(texts, `" or "`)
}

// isThing reports whether a word names what a count counts.
func isThing(word string) bool {
	switch strings.ToLower(word) {
	case "goroutine", "goroutines", "object", "objects", "times", "samples", "allocs", "allocations", "contentions", "threads":
		return true
	}
	return false
}
