package budget

import (
	"slices"
	"strings"
)

// reworded returns the budget that a line says that is written otherwise, for
// messages to propose, and whether it is right.
func (p *parser) reworded(line string) (Budget, bool) {
	if p.proposal {
		return Budget{}, false // a proposal's mistakes propose nothing, or there is no end to it
	}
	again := parser{lex: lexer{line: line}, proposal: true}
	again.advance()
	b := again.budget()
	return b, again.err == nil
}

// longestTail is how many words behind the rule are tried as the place of a clause:
// "grows below 5 points" is the longest that a clause follows at once.
const longestTail = 4

// behindRule returns the sentence in which what begins at a word stands behind the
// rule and its amount, or other words in its place; "" where that is wrong.
func (p *parser) behindRule(at token, instead string) string {
	var rule token
	var ends []int
	for l, t := p.lex, p.tok; t.kind != tokenEnd && t.kind != tokenBad; t = l.next(modeWord) {
		switch {
		case len(ends) > 0:
			ends = append(ends, t.end())
		case isRule(t.raw):
			rule, ends = t, []int{t.end()}
		}
	}
	if len(ends) == 0 {
		return ""
	}
	if instead == "" {
		instead = p.lex.line[at.off:rule.off]
	}
	last := ends[len(ends)-1]
	line := p.lex.line[:last]
	// Right behind the amount, or behind the other clauses.
	for _, end := range append(slices.Clone(ends[:min(len(ends), longestTail)]), last) {
		if meant, ok := p.reworded(line[:at.off] + line[rule.off:end] + " " + strings.TrimSpace(instead) + " " + line[end:]); ok {
			return meant.String()
		}
	}
	return ""
}

// isStatistic reports whether a word says which of many times is meant. A profile
// has their sum.
func isStatistic(word string) bool {
	word = strings.ToLower(word)
	switch word {
	case "median", "average", "avg", "mean", "percentile", "latency":
		return true
	}
	digits, ok := strings.CutPrefix(word, "p")
	_, rest := splitNumber(digits)
	return ok && startsWithNumber(digits) && rest == ""
}

const (
	noStatistic = "a profile has no percentiles, no averages and no latency"
	perWork     = noStatistic + "; the CPU time per unit of work can be limited: "
)

// statistic explains a percentile or an average behind the amount.
func (p *parser) statistic(at token, expected string) {
	word := at
	rest := p.lex
	for t := rest.next(modeWord); isStatistic(t.raw); t = rest.next(modeWord) {
		word = p.span(at, t) // "p99 latency"
	}
	before, after := p.lex.line[:at.off], p.lex.line[word.end():]
	remedy := noStatistic + ": leave it out"
	if meant, ok := p.reworded(before + "per request" + after); ok && meant.Limit.dimension() == dimTime && meant.Kind == "" {
		remedy = perWork + didYouMean(meant.String())
	} else if meant, ok := p.reworded(before + after); ok {
		remedy = noStatistic + ": " + didYouMean(meant.String())
	}
	p.fail(word, expected, remedy)
}

// statisticFirst explains one in front of the rule.
func (p *parser) statisticFirst(at, rule token, expected string) {
	remedy := noStatistic + ": leave it out"
	if meant, ok := p.reworded(p.lex.line[:at.off] + p.lex.line[rule.off:]); ok {
		remedy = noStatistic + ": " + didYouMean(meant.String())
	} else if meant := p.behindRule(at, "per request"); meant != "" {
		remedy = perWork + didYouMean(meant)
	}
	p.fail(at, expected, remedy)
}

// subjectMeant says which budget is meant by one with a word too many between
// the subject and its rule: a kind of profile, "main.f allocs below 10KiB", or a
// subject behind a name that lacks its colon, "order process below 1 core"; "" where
// it is neither.
func (p *parser) subjectMeant(b *Budget, at, rule token) string {
	if !isRule(rule.raw) && at.raw != "no" || at.kind != tokenWord && at.kind != tokenRegexp {
		return ""
	}
	var list []string
	taking := ""
	known := at.raw == "no" || classOf(at.raw) != classPattern || strings.ContainsAny(at.raw, "./")
	if known && nameOK(b.Subject) && !strings.Contains(b.Subject, ".") && classOf(b.Subject) == classPattern {
		subject := p.said[partSubject]
		if meant, ok := p.reworded(p.lex.line[:subject.end()] + ":" + p.lex.line[subject.end():]); ok {
			list = append(list, meant.String())
		}
	}
	if kind := kindMeant(at.raw); kind != "" && isRule(rule.raw) && !strings.ContainsAny(at.raw, "./") {
		if meant := p.kindFirst(b, kind, at); meant != "" {
			list = append(list, meant)
			if ahead := p.ahead("process"); b.Subject == "process" && kind == "cpu" && ahead.Limit.Unit == "%" && ahead.Rule == "" {
				taking = ofOneCore
			}
		}
	}
	if len(list) == 0 {
		return ""
	}
	return taking + didYouMean(strings.Join(list, `" or "`))
}

// kindFirst returns the budget about a kind of profile that stands in front of the
// rule, or "".
func (p *parser) kindFirst(said *Budget, kind string, at token) string {
	if meant := p.behindRule(at, "of "+kind); meant != "" {
		return meant
	}
	b := p.ahead(said.Subject)
	b.Name = said.Name
	if classOf(b.Subject) == classFigure { // "heap allocs": figures have no kind
		b.Subject = "process"
	}
	if b.Kind = kind; kind == "cpu" {
		b.Kind = ""
	}
	if b.Subject == "process" && b.Kind == "" && b.Limit.Unit == "%" && b.Rule == "" {
		b.Limit = coresOf(b.Limit.Value)
	}
	if b.Limit == (Amount{}) || b.Validate() != nil {
		return ""
	}
	return b.String()
}

// route refuses "for /order" and "for GET /order", whose author limits it for what
// is done and not for a time. The present word is "for".
func (p *parser) route() {
	rest := p.lex
	t := rest.next(modeWord)
	switch strings.ToUpper(t.raw) {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		t = rest.next(modeWord)
	}
	if !strings.HasPrefix(t.raw, "/") {
		return
	}
	path := p.lex.line[t.off:]
	path = path[:wordLength(path, modeWord)]
	at := token{kind: tokenWord, off: p.tok.off, raw: p.lex.line[p.tok.off : t.off+len(path)]}
	if labelText(path, "") != path || len(path) > longestWord {
		path = "/order"
	}
	p.fail(at, howLong+`, after "for"`, `"for" says how long; what is done is a label or a function on the way: `+
		example("where endpoint="+path+`" or "in main.handler`))
}

// inOf explains "in handleOrder of main". The present word is "of".
func (p *parser) inOf(in string) {
	rest := p.lex
	t := rest.next(modeWord)
	for isArticle(t.raw) {
		t = rest.next(modeWord)
	}
	if kindMeant(t.raw) != "" || t.kind != tokenWord || !namesPattern(t) {
		return
	}
	meant := t.raw + "." + in
	if strings.HasPrefix(in, t.raw+".") {
		meant = in
	}
	if _, wrong := patternMistake(meant, partIn); wrong || in == "" || in[0] == '/' || startsWithNumber(in) {
		return
	}
	if next := rest.next(modeWord); next.raw == "package" {
		t = next // "of the main package"
	}
	p.fail(p.span(p.said[partIn], t), "the package in front of the function, with a point", didYouMean("in "+meant))
}

// percentOfCPU explains "process below 80% cpu".
func (p *parser) percentOfCPU(b *Budget, at token) {
	limit := p.said[partLimit]
	meant := Budget{Name: b.Name, Subject: "process", Limit: coresOf(b.Limit.Value)}
	line := p.lex.line
	if all, ok := p.reworded(line[:limit.off] + meant.Limit.String() + line[at.end():]); ok {
		meant = all
	}
	p.fail(p.span(limit, at), `cores or a duration per unit of work for "process"`, ofOneCore+didYouMean(meant.String()))
}
