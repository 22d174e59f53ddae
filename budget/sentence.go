package budget

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
)

// budget reads a sentence:
//
//	[name ":"] subject rule [amount] {clause}
//
// What the words mean together is checked on the value, by the code behind
// Validate, so that both refuse the same.
func (p *parser) budget() {
	p.name()
	p.subject()
	p.rule()
	p.clauses()
	if p.err == nil {
		p.b.check(p.report)
	}
	if p.b.Kind == "cpu" {
		p.b.Kind = ""
	}
}

// name reads "checkout-tls:" if it is there.
func (p *parser) name() {
	at := p.tok
	p.said[partName] = at // without a name, the sentence's beginning stands for it
	if at.kind != tokenWord || !strings.HasSuffix(at.raw, ":") {
		return
	}
	p.b.Name = strings.TrimSuffix(at.raw, ":")
	if !unit.IsName(p.b.Name) {
		p.fail(at, nameExpected, nameAdvice, plainName(p.b.Name)...)
	}
	p.advance()
}

// plainName is a name with a dash for whatever no name has, and a colon.
func plainName(name string) []string {
	bare := strings.Join(strings.FieldsFunc(name, func(r rune) bool { return !unit.IsName("a" + string(r)) }), "-")
	if !unit.IsName(bare) {
		return []string{""}
	}
	return []string{bare + ":"}
}

// subject reads what the budget is about.
func (p *parser) subject() {
	at, next := p.tok, p.peek()
	p.said[partSubject] = at
	switch {
	case at.raw == "no":
		p.advance()
		p.no(at)
		return
	case at.kind == tokenQuoted && (next.kind == tokenEnd || next.kind == tokenComma):
		p.fail(at, "a sentence without quotes", "leave out the quotes: a line holds the bare sentence", at.text)
	case strings.EqualFold(at.raw, "no"):
		p.fail(at, "keywords in lower case", "", "no")
	case !at.isPattern() || isKeyword(at.raw):
		p.fail(at, subjectExpected, "")
	case subjectWords[strings.ToLower(at.raw)] != "" && next.raw != "below" && next.raw != "absent":
		lines := p.instead(at, subjectWords[strings.ToLower(at.raw)])
		if p.b.Subject = at.raw; isNamed(at.raw) && strings.ContainsAny(next.raw, "./") { // function main.work
			p.b.Subject = next.raw
			lines = p.instead(p.span(at, next), next.raw)
		}
		p.refuse(at, mistake{expected: subjectExpected}, lines)
	case ruleWords[strings.ToLower(at.raw)] == "absent" && next.isPattern() && !isKeyword(next.raw): // never main.work
		p.refuse(at, mistake{expected: subjectExpected}, p.instead(p.span(at, next), next.raw+" absent"))
	case slices.Contains(leads, strings.ToLower(at.raw)) && next.isPattern() && !isRule(next.raw) && !strings.HasSuffix(next.raw, ":"): // keep the heap below 64MiB
		p.fail(at, subjectExpected, "", "")
	case classOf(at.raw) == classPattern:
		// A quantity is refused when its limit is known.
		if m, wrong := patternMistake(at.raw, partSubject); wrong {
			var meant []string
			switch name, rest, named := strings.Cut(at.raw, ":"); {
			case strings.Trim(at.raw, "-*•") == "": // of a list
				meant = append(meant, "")
			case at.kind == tokenQuoted:
				meant = append(meant, at.text)
			case named && !strings.Contains(name, "."):
				meant = append(meant, name+": "+rest)
			}
			lines := p.instead(at, append(meant, plainPatterns(at.raw)...)...)
			if strings.HasPrefix(at.raw, "'") || strings.HasPrefix(at.raw, "`") { // a shell's
				lines = append(lines, strings.Trim(p.lex.line, " \t'`"))
			}
			p.b.Subject = at.raw // for the example
			p.refuse(at, m, lines)
		}
	}
	p.b.Subject = at.raw
	p.advance()
}

// no reads what follows "no".
func (p *parser) no(no token) {
	what := p.tok
	p.b.Subject = "no " + what.raw
	if class := classOf(p.b.Subject); class != classEach && class != classLeak || what.kind != tokenWord {
		if p.b.Subject = what.raw; ruleWords[what.raw] != "" { // no more than
			p.b.Subject = ""
		}
		var meant []string
		if subject, ok := strings.CutPrefix(subjectWords[strings.ToLower(what.raw)], "no "); ok {
			meant = append(meant, subject)
		}
		if near := nearest(what.raw, "function", "package", "goroutine"); near != "" {
			meant = append(meant, near)
		}
		lines := p.instead(what, meant...)
		kind, rule := kindWords[strings.ToLower(what.raw)], ruleWords[p.peek().raw]
		switch next := p.peek(); {
		case classOf(what.raw) == classFigure: // no goroutines above 5000
			lines = append(lines, p.instead(p.span(no, what), what.raw)...)
		case len(lines) > 0 || !what.isPattern():
		case kind != "" && (next.raw == "above" || rule == "above"): // no lock above 10ms
			lines = append(lines, p.lex.line[:what.off]+"function"+p.lex.line[what.end():p.end()]+" of "+kind)
		case classOf(what.raw) != classPattern, quantity(what.raw) != nil, strings.ContainsAny(what.raw, "./"): // no main.work
			lines = p.instead(p.span(no, what), what.raw+" absent", what.raw)
		}
		p.refuse(what, mistake{expected: `"function", "package" or "goroutine" after "no"`}, lines)
		return
	}
	p.said[partSubject] = p.span(no, what)
	p.advance()
}

// rule reads what the subject must not do, and the amount that limits it.
func (p *parser) rule() {
	at := p.tok
	p.said[partRule] = at
	switch {
	case at.kind == tokenWord && (at.raw == "above" || at.raw == "below"):
		p.limit()
	case at.kind == tokenWord && isRule(at.raw):
		p.b.Rule = at.raw
		if _, ok := accepted(p.b.Subject, p.b.Rule); !ok {
			p.b.check(p.report)
		}
		p.advance()
		if p.b.Rule == "grows" || p.b.Rule == "steady" && (p.tok.raw == "below" || p.tok.raw == "above") {
			p.limit()
		}
	default:
		p.refuse(at, mistake{expected: rulesText(p.b.Subject)}, p.rulesMeant(at))
	}
}

// limit reads "above" or "below", whichever the subject has, and the amount.
func (p *parser) limit() {
	at, word := p.tok, p.b.limitWord()
	if at.raw != word {
		expected := `"above" after "` + clipped(p.b.Subject) + `"`
		if word == "below" {
			expected = `"below": only "no function" and "no package" stand before "above"`
		}
		p.refuse(at, mistake{expected: expected}, append(p.rulesMeant(at), p.instead(at, word)...))
		return
	}
	p.advance()
	p.b.Limit, p.said[partLimit] = p.amount()
}

// plainPatterns are what is no pattern without what a pattern does not have: arguments, a
// version, a slash at the end.
func plainPatterns(raw string) []string {
	var list []string
	name, _, called := strings.Cut(raw, "(")
	module, after, versioned := strings.Cut(raw, "@")
	if called && name != "" && !strings.HasSuffix(name, ".") {
		list = append(list, name)
	}
	if versioned && module != "" {
		_, folder, _ := strings.Cut(after, "/")
		list = append(list, strings.TrimSuffix(module+"/"+folder, "/"))
	}
	if subtree := strings.ReplaceAll(raw, "/**", "/..."); subtree != raw {
		list = append(list, subtree)
	}
	if bare := strings.TrimSuffix(raw, "/"); bare != raw && bare != "" {
		list = append(list, bare)
	}
	return list
}

// rulesMeant returns the lines that may be meant where a word stands in the place of a
// rule.
func (p *parser) rulesMeant(at token) []string {
	limit, next := p.b.limitWord(), p.peek()
	var list []string
	if amount := strings.TrimLeft(at.raw, "<>=≤≥"); startsWithNumber(amount) {
		list = append(list, limit+" "+amount)
	}
	for _, meant := range wordsMeant(ruleWords, at.raw, "above", "below", "absent", "grows", "steady", "leaked") {
		if meant == "above" || meant == "below" {
			meant = limit
		}
		list = append(list, meant)
	}
	lines := p.instead(at, list...)
	if meant := notWords[strings.ToLower(next.raw)]; meant != "" && strings.EqualFold(at.raw, "not") {
		lines = append(lines, p.instead(p.span(at, next), meant)...)
	}
	if strings.HasSuffix(at.raw, ":") && p.b.Name == "" { // a name of two words
		words := strings.Fields(strings.TrimSuffix(p.lex.line[:at.end()], ":"))
		lines = append(lines, strings.Join(words, "-")+":"+p.lex.line[at.end():])
	}
	if line, ok := p.clauseBehind(at); ok {
		lines = append(lines, line)
	}
	return append(lines, p.toAmount(at, limit)...)
}

// clauseBehind is the line with a clause that stands in front of the rule, "of heap above
// 5%", behind all else.
func (p *parser) clauseBehind(at token) (string, bool) {
	if clauseParts[at.raw] == 0 || at.kind != tokenWord {
		return "", false
	}
	for ahead := p.lex; ; {
		t := ahead.next(modeWord)
		if t.kind == tokenEnd || t.kind == tokenBad {
			return "", false
		}
		if t.kind == tokenWord && isRule(t.raw) {
			return p.lex.line[:at.off] + p.lex.line[t.off:p.end()] + " " + p.lex.line[at.off:t.off], true
		}
	}
}

// mostFillers is how many words there may be between a subject and its amount: "must not
// ever use more than".
const mostFillers = 6

// toAmount is the line with word in the place of all that stands in front of an amount:
// "must not use more than 5%". A kind of profile among these goes behind all else.
func (p *parser) toAmount(at token, word string) []string {
	var fillers []string
	kind, t, ahead := "", at, p.lex
	for ; len(fillers) < mostFillers && isFiller(t, p.b.Subject); t = ahead.next(modeWord) {
		fillers = append(fillers, t.raw)
		if slices.Contains(kinds.Names(), t.raw) {
			kind = t.raw
		} else if meant := kindWords[strings.ToLower(t.raw)]; meant != "" {
			kind = meant
		}
	}
	if len(fillers) == 0 || t.kind != tokenWord || !startsWithNumber(t.raw) || isLeast(fillers) {
		return nil
	}
	line := p.lex.line[:at.off] + word + " " + p.lex.line[t.off:p.end()]
	if kind == "" {
		return []string{line}
	}
	return []string{line + " of " + kind, line}
}

// end is where the last word of the line ends, before any comment.
func (p *parser) end() int {
	ahead := p.lex
	for t := ahead.next(modeWord); t.kind != tokenEnd && t.kind != tokenBad; t = ahead.next(modeWord) {
	}
	return ahead.last
}

// amount reads a number and its unit, attached or as the next word. The token spans
// both.
func (p *parser) amount() (Amount, token) {
	at := p.tok
	if at.kind != tokenWord || !startsWithNumber(at.raw) {
		lines := p.instead(at, strings.TrimLeft(at.text, "<>=~≤≥+"))
		if at.kind == tokenWord { // below than 5%
			lines = append(lines, p.toAmount(at, "")...)
		}
		p.refuse(at, mistake{expected: "an amount, such as 20%, 0.2 cores, 64MiB, 5000"}, lines)
		return Amount{}, at
	}
	digits, suffix := splitNumber(at.raw)
	value, err := strconv.ParseFloat(digits, 64)
	if err != nil || math.IsInf(value, 0) {
		p.fail(at, "a number of digits and at most one point", "")
		return Amount{}, at
	}
	if suffix != "" {
		u, ok := unit.Named(suffix)
		if !ok {
			p.b.Limit.Value = value // for the example
			if of, ok := rateOf(suffix); ok {
				m := mistake{expected: `no rate: a share, cores, or what a unit of work may take ("per request")`}
				if of.Dimension == dimBytes {
					m.like = Budget{Subject: "process", Limit: Amount{value, of.Name}, Per: "request", Kind: "allocs"}
				}
				p.refuse(at, m, nil)
				return Amount{}, at
			}
			p.fail(at, "a number with a known unit", unitsAdvice, unitsMeant(at.raw, digits, suffix)...)
		}
		p.advance()
		return Amount{value, u.Name}, at
	}
	p.advance()
	next := p.tok
	if u, ok := unit.Named(next.raw); ok && next.kind == tokenWord {
		p.advance()
		return Amount{value, u.Name}, p.span(at, next)
	}
	list := thousandsMeant(value, next.raw) // 5 k
	if u, ok := unit.Meant(strings.TrimRight(next.raw, ".;:!")); ok {
		list = append([]string{withUnit(digits, u)}, list...)
	}
	if len(list) > 0 && next.kind == tokenWord {
		p.b.Limit.Value = value // for the example
		p.fail(p.span(at, next), "a number with a known unit", unitsAdvice, list...)
	}
	if group := p.peek(); next.kind == tokenComma && group.off == next.end() && startsWithNumber(group.raw) {
		whole, _ := splitNumber(group.raw)
		if len(whole) != 3 {
			digits += "."
		}
		p.fail(p.span(at, group), "a number without commas", "", digits+group.raw)
	}
	return Amount{Value: value}, at
}

// unitsMeant returns the amounts that may be meant by one with a suffix that is no unit.
func unitsMeant(raw, digits, suffix string) []string {
	var list []string
	if before, work, slash := strings.Cut(suffix, "/"); slash { // 2ms/request
		if u, ok := unit.Meant(before); ok {
			list = append(list, withUnit(digits, u)+" per "+work)
		}
	}
	if u, ok := unit.Meant(strings.TrimRight(suffix, ".;:!")); ok {
		list = append(list, withUnit(digits, u))
	}
	if v, err := strconv.ParseFloat(strings.NewReplacer("_", "", "'", "").Replace(raw), 64); err == nil { // 5_000, 5'000, 1e3
		list = append(list, strconv.FormatFloat(v, 'f', -1, 64))
	}
	if v, err := strconv.ParseFloat(digits, 64); err == nil {
		list = append(list, thousandsMeant(v, suffix)...)
	}
	return list
}

// rateOf is the unit of an amount in a time, such as MB/s.
func rateOf(suffix string) (unit.Unit, bool) {
	of, in, slash := strings.Cut(suffix, "/")
	u, ok := unit.Meant(of)
	t, timed := unit.Meant(in)
	return u, slash && ok && timed && t.Dimension == dimTime
}

// thousandsMeant returns the amounts that may be meant by a number and a letter for
// thousands: bytes where bytes are limited, otherwise a count.
func thousandsMeant(value float64, letter string) []string {
	for _, t := range []struct {
		letters, bytes string
		count          float64
	}{{"kK", "KiB", 1e3}, {"M", "MiB", 1e6}, {"gG", "GiB", 1e9}} {
		if len(letter) == 1 && strings.Contains(t.letters, letter) {
			return []string{strconv.FormatFloat(value, 'f', -1, 64) + t.bytes, strconv.FormatFloat(value*t.count, 'f', -1, 64)}
		}
	}
	return nil
}

func withUnit(digits string, u unit.Unit) string {
	if u.Dimension == dimPoints || u.Dimension == dimCores {
		return digits + " " + u.Name
	}
	return digits + u.Name
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
