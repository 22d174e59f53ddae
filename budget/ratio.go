package budget

import "strings"

// A ratio is an amount per unit of work the way it is written elsewhere, with a
// slash: "2ms/request", "2 ms / request".
type ratio struct {
	digits, unit, work string
	length             int // of all of it
}

// ratioAt returns the ratio that text begins with.
func ratioAt(text string) (ratio, bool) {
	digits, rest := splitNumber(text)
	before, after, slash := strings.Cut(rest, "/")
	unit := strings.TrimFunc(before, isSpace)
	if digits == "" || !slash || strings.ContainsFunc(unit, isSpace) || isKeyword(unit) {
		return ratio{}, false
	}
	after = strings.TrimLeftFunc(after, isSpace)
	work := after
	if end := strings.IndexFunc(after, func(r rune) bool { return isSpace(r) || r == ',' || r == ';' }); end >= 0 {
		work = after[:end]
	}
	if !nameOK(work) || startsWithNumber(work) || isKeyword(work) {
		return ratio{}, false // a regular expression, say
	}
	return ratio{digits, unit, work, len(text) - len(after) + len(work)}, true
}

// slash refuses the ratio at a token, unless it may be something else.
func (p *parser) slash(at token, subject string, r ratio) bool {
	all := token{kind: tokenWord, off: at.off, raw: p.lex.line[at.off : at.off+r.length]}
	const expected = `"per" between an amount and its unit of work`
	name, known := unitNamed(r.unit)
	meant := unitMeant(r.unit)
	if r.unit != "" && !known && meant == "" && !isThing(r.unit) {
		return false
	}
	if m, wrong := perMistake(r.work); wrong {
		p.fail(all, m.expected, m.remedy)
		return true
	}
	switch {
	case unitOf(name).dim == dimShare && p.said[partRule].raw != "grows":
		p.fail(all, expected, perNeverRemedy(dimShare))
	case r.unit == "":
		p.fail(all, expected, didYouMean(r.digits+" per "+r.work))
	case known:
		p.fail(all, expected, didYouMean(withUnit(r.digits, name)+" per "+r.work))
	case isThing(r.unit):
		b := p.ahead(subject)
		b.Per = r.work
		p.fail(all, expected, thingRemedy(b, r.unit, r.digits))
	default:
		p.fail(all, expected, didYouMean(strings.ReplaceAll(withUnit(r.digits, meant), `" or "`, " per "+r.work+`" or "`)+" per "+r.work))
	}
	return true
}
