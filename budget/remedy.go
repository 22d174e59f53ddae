package budget

import (
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/spelling"
	"github.com/profguard/profguard/internal/unit"
)

// mostReplaced is the most words that are replaced: "All functions under 20 percent" needs five.
const mostReplaced = 6

// remedy says what to write instead of a wrong sentence: the sentence with other words in the
// place of wrong ones, or with a clause more, if it is right then, or else an example.
func (p *parser) remedy() string {
	tried := p
	for range mostReplaced {
		next := tried.replaced()
		if next == nil {
			break
		}
		if next.err == nil {
			return `did you mean "` + next.b.String() + `"?`
		}
		tried = next
	}
	advice := "write,"
	if p.advice != "" {
		advice = p.advice + ";"
	}
	example := tried.b.example()
	// A limit of bytes or of time may only lack a clause, which is tried as in replaced. A limit in
	// minutes is left out: 500m is meant as half a core by those who write it.
	for dim, clause := range map[unit.Dimension]string{unit.Bytes: " of heap", unit.Time: " per request"} {
		if len(tried.lex.line) > longestLine {
			break
		}
		if with := try(tried.lex.line + clause); with.err == nil && with.b.Limit.dimension() == dim && with.b.Limit.Unit != "m" {
			return advice + ` for example, "` + with.b.String() + `"`
		}
	}
	if with := try(example + clauseExamples[tried.clause]); with.err == nil {
		example = with.b.String()
	}
	return advice + ` for example, "` + example + `"`
}

// clauseExamples are right clauses.
var clauseExamples = [parts]string{
	partExcept: " except runtime/...", partIn: " in main.handler", partWhere: " where endpoint=/checkout",
	partWhen: " when process above 0.1 cores", partFor: " for 3 windows",
}

// replaced returns the sentence with another word in the place of the wrong one, or of the
// subject, if it is right up to there then, and nil if there is none.
func (p *parser) replaced() *parser {
	line := p.lex.line
	if len(line) > longestLine {
		return nil
	}
	for _, at := range []token{p.wrong, p.places[partSubject]} {
		meant := suggest(at.raw)
		if at == p.wrong {
			meant = append(p.meant, meant...)
		}
		for _, word := range meant {
			again := try(line[:at.off] + word + line[at.end():])
			if again.err == nil || len(again.lex.line)-again.wrong.off <= len(line)-p.wrong.end() {
				return again
			}
		}
	}
	return nil
}

// example is a right sentence with the same subject and rule, if these are right.
func (b *Budget) example() string {
	if b.subjectMistake().expected != "" {
		return subjects[0].rules[0].example
	}
	rules := subjectOf(b.Subject).rules
	for _, r := range rules {
		if r.name == b.Rule {
			return r.example
		}
	}
	return rules[0].example
}

// try reads a sentence that may be right.
func try(line string) *parser {
	p := &parser{lex: lexer{line: line}}
	p.advance()
	p.budget()
	return p
}

// suggest returns words that may be meant by a wrong one, the most likely first.
func suggest(word string) []string {
	list := meanings(word, synonyms, quantities)
	if slices.Contains(kinds.Names(), word) {
		list = append(list, "of "+word)
	}
	if digits, rest := splitNumber(word); digits != "" { // 20percent, 64mb, 5 minutes
		for _, meant := range append(meanings(strings.TrimSpace(rest), synonyms), strings.TrimSpace(rest)) {
			if _, ok := unit.Named(meant); ok {
				list = append(list, digits+meant)
			}
		}
	}
	keywords := slices.Concat(figures, strings.Fields("no function package goroutine above below absent grows steady leaked windows cores points"),
		slices.Concat(clauseWords[:]...), kinds.Names())
	// One wrong letter in three, two at the most: "abov" is "above", and "cumulatve" is "cumulative".
	if near := spelling.Nearest(strings.ToLower(word), min(len(word)/3, 2), keywords); near != "" && near != word {
		list = append(list, near)
	}
	return list
}

// limitMeant is the limit with the unit that is missing: 20 is 20%, but 0.2 may be anything.
func (b *Budget) limitMeant(said string) []string {
	list := fits(b)
	usual := map[unit.Dimension]string{unit.Share: "%", unit.Points: " points", unit.Cores: " cores"}
	if len(list) > 0 && b.Limit.Unit == "" && b.Limit.Value >= 1 && b.Limit.Value < 100 && usual[list[0].dim] != "" {
		return []string{said + usual[list[0].dim]}
	}
	return nil
}
