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
