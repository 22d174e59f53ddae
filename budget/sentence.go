package budget

import (
	"math"
	"strconv"
	"strings"

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
		p.fail(at, nameExpected, nameAdvice)
	}
	p.advance()
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
	case at.kind == tokenQuoted && next.kind == tokenEnd:
		p.fail(at, "a sentence without quotes", "leave out the quotes: a line holds the bare sentence", at.text)
	case strings.EqualFold(at.raw, "no"):
		p.fail(at, "keywords in lower case", "", "no")
	case !at.isPattern() || isKeyword(at.raw):
		p.fail(at, subjectExpected, "")
	case subjectWords[strings.ToLower(at.raw)] != "" && next.raw != "below" && next.raw != "absent":
		p.b.Subject = at.raw
		p.fail(at, subjectExpected, "", subjectWords[strings.ToLower(at.raw)])
	case classOf(at.raw) == classPattern:
		// A quantity is refused when its limit is known.
		if m, wrong := patternMistake(at.raw, partSubject); wrong {
			name, rest, _ := strings.Cut(at.raw, ":")
			if strings.Contains(name, ".") {
				rest = ""
			}
			p.fail(at, m.expected, m.advice, name+": "+rest)
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
		p.b.Subject = what.raw
		var meant []string
		if subject, ok := strings.CutPrefix(subjectWords[strings.ToLower(what.raw)], "no "); ok {
			meant = append(meant, subject)
		}
		p.fail(what, `"function", "package" or "goroutine" after "no"`, "", append(meant, nearest(what.raw, "function", "package", "goroutine"))...)
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
		p.fail(at, rulesText(p.b.Subject), "", p.rulesMeant(at.raw)...)
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
		p.fail(at, expected, "", append(p.rulesMeant(at.raw), word)...)
		return
	}
	p.advance()
	p.b.Limit, p.said[partLimit] = p.amount()
}

// rulesMeant returns what may be meant by a word in the place of a rule.
func (p *parser) rulesMeant(word string) []string {
	limit := p.b.limitWord()
	var list []string
	if amount := strings.TrimLeft(word, "<>=≤≥"); startsWithNumber(amount) {
		list = append(list, limit+" "+amount)
	}
	for _, meant := range wordsMeant(ruleWords, word, "above", "below", "absent", "grows", "steady", "leaked") {
		if meant == "above" || meant == "below" {
			meant = limit
		}
		list = append(list, meant)
	}
	return list
}

// amount reads a number and its unit, attached or as the next word. The token spans
// both.
func (p *parser) amount() (Amount, token) {
	at := p.tok
	if at.kind != tokenWord || !startsWithNumber(at.raw) {
		p.fail(at, "an amount, such as 20%, 0.2 cores, 64MiB, 5000", "", strings.TrimLeft(at.text, "<>=~≤≥+"))
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
	if u, ok := unit.Meant(next.raw); ok && next.kind == tokenWord {
		p.fail(p.span(at, next), "a number with a known unit", unitsAdvice, withUnit(digits, u))
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
	if v, err := strconv.ParseFloat(strings.ReplaceAll(raw, "_", ""), 64); err == nil { // 5_000, 1e3
		list = append(list, strconv.FormatFloat(v, 'f', -1, 64))
	}
	return list
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
