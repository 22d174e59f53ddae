package budget

import (
	"strconv"
	"strings"
)

// ahead returns what the rest of the line seems to say about a subject, without
// moving on: its rule, limit, unit of work and kind. It is for proposals, which
// read best with the numbers that were written.
func (p *parser) ahead(subject string) Budget {
	b := Budget{Subject: subject}
	for l, t := p.lex, p.tok; ; t = l.next(modeWord) {
		number := strings.TrimLeft(t.raw, "<>=~≤≥")
		if meant := growthMeant(t.raw); meant != "" && b.Rule == "" {
			b.Rule = meant
		}
		if b.Limit == (Amount{}) && startsWithNumber(number) && b.Per == "" {
			r, _ := ratioAt(l.line[t.off+len(t.raw)-len(number):])
			b.Per = r.work
		}
		switch {
		case t.kind == tokenEnd, t.kind == tokenBad, t.raw == "when":
			return b
		case t.raw == "per":
			if work := l.next(modeWord).raw; nameOK(work) && !isKeyword(work) {
				b.Per = work
			}
		case t.raw == "of":
			b.Kind = kindMeant(l.next(modeWord).raw)
		case b.Limit == (Amount{}) && startsWithNumber(number):
			digits, unit := splitNumber(number)
			unit, _, _ = strings.Cut(unit, "/")
			if after := l; unit == "" {
				unit, _, _ = strings.Cut(after.next(modeWord).raw, "/")
			}
			if _, known := unitNamed(unit); !known {
				unit, _, _ = strings.Cut(unitMeant(unit), " or ")
			}
			unit, _ = unitNamed(unit)
			if v, err := strconv.ParseFloat(digits, 64); err == nil && unitOf(unit).dim != dimUnknown {
				b.Limit = Amount{v, unit}
			}
		}
	}
}

// thousands returns what a number stands for with a suffix of thousands, as in
// "5k goroutines", or "".
func thousands(digits, suffix string) string {
	v, err := strconv.ParseFloat(digits, 64)
	factor := map[string]float64{"k": 1e3, "m": 1e6}[strings.ToLower(suffix)]
	if err != nil || factor == 0 {
		return ""
	}
	return strconv.FormatFloat(v*factor, 'f', -1, 64)
}

// countsOnly reports whether a limit of the subject is a count, and never bytes.
func countsOnly(b Budget) bool {
	counts := false
	for _, f := range fits(classOf(b.Subject), b) {
		counts = counts || f.dim == dimCount
		if f.dim == dimBytes {
			return false
		}
	}
	return counts
}

// thingRemedy says how a count of things is written, which stand in the kind of
// profile or in the subject and not behind the number.
func thingRemedy(b Budget, thing, digits string) string {
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return "counts stand alone"
	}
	b.Limit = Amount{Value: v}
	switch class := classOf(b.Subject); {
	case class == classFigure:
	case kindMeant(thing) == "allocs":
		b.Kind = "allocs"
		return didYouMean(b.String())
	case kindMeant(thing) != "goroutine" && thing != "threads":
	case class == classProcess:
		return didYouMean(Budget{Subject: "goroutines", Limit: b.Limit}.String())
	default:
		b.Kind, b.Per = "goroutine", ""
		return didYouMean(b.String())
	}
	return "counts stand alone: " + didYouMean(digits)
}

// isSourceFile reports whether a pattern is a place in the source: a file with a
// line, or a file alone, for which no package path stands without a slash.
func isSourceFile(text string) bool {
	file, line, cut := strings.Cut(text, ":")
	if !strings.HasSuffix(file, ".go") || text[0] == '/' {
		return false
	}
	_, after := splitNumber(line)
	return cut && startsWithNumber(line) && strings.Trim(after, ":0123456789") == "" || !cut && !strings.Contains(file, "/")
}

// isArticle reports whether a word in front of a pattern only says what the
// pattern is.
func isArticle(word string) bool {
	switch word {
	case "package", "pkg", "function", "func", "method", "type", "the":
		return true
	}
	return false
}
