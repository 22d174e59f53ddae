package budget

import (
	"math"
	"slices"
	"strconv"
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
	advice := "write,"
	if p.advice != "" {
		advice = p.advice + ";"
	}
	advice += ` for example, "`
	if len(p.lex.line) > longestLine { // nobody wrote it by hand
		return advice + p.b.example() + `"`
	}
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
	// A limit of bytes or of time may only lack a clause. Minutes do not: 500m is
	// meant as half a core by those who write it.
	for _, lacks := range []struct {
		clause string
		dim    unit.Dimension
	}{{" of heap", unit.Bytes}, {" of allocs", unit.Bytes}, {" per request", unit.Time}} {
		if with := try(tried.lex.line + lacks.clause); with.err == nil && with.b.Limit.dimension() == lacks.dim && with.b.Limit.Unit != "m" {
			return advice + with.b.String() + `"`
		}
	}
	// A percentage of what has no shares may be one of a core.
	cores, isShare := tried.b, func(f fit) bool { return f.dim == unit.Share }
	cores.Limit = Amount{math.Round(cores.Limit.Value*1e10) / 1e12, "cores"} // 1.1/100 has 18 digits
	if tried.b.Limit.Unit == "%" && !slices.ContainsFunc(fits(&tried.b), isShare) && cores.Validate() == nil {
		return advice + cores.String() + `"`
	}
	example := tried.b.example()
	if with := try(example + clauseExamples[tried.clause]); with.err == nil {
		example = with.b.String()
	}
	return advice + example + `"`
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
	for _, at := range []token{p.wrong, p.places[partSubject]} {
		for _, word := range suggest(at.raw) {
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
	s := subjectOf(b.Subject)
	if b.subjectMistake().expected != "" {
		s = &subjects[0]
	}
	at := slices.IndexFunc(s.rules, func(r rule) bool { return r.name == b.Rule })
	return s.rules[max(at, 0)].example
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
	amount := strings.TrimLeft(word, "<>=")
	digits, rest := splitNumber(amount)
	isAmount := digits != "" && rest == "" // 9p is none, but a package
	if digits != "" {                      // 20percent, 64mb, 5 minutes
		for _, meant := range append(meanings(strings.TrimSpace(rest), synonyms), strings.TrimSpace(rest)) {
			if _, ok := unit.Named(meant); ok {
				isAmount = true
				list = append(list, digits+meant)
			}
		}
		if value, _ := strconv.ParseFloat(word, 64); value >= 1 && value < 100 && !strings.HasSuffix(word, ".") { // but 0.2 may be anything
			list = append(list, word+"%", word+" points", word+" cores")
		}
	}
	// A subject has one of "above" and "below", and the other one is wrong there.
	if isAmount {
		for _, compared := range append(meanings(strings.TrimSuffix(word, amount), synonyms), "above", "below") {
			list = append(list, compared+" "+amount)
		}
	}
	if said := append(list, word); slices.Contains(said, "above") || slices.Contains(said, "below") {
		list = append(list, "above", "below")
	}
	keywords := slices.Concat(figures, []string{"no", "function", "package", "goroutine"}, rules, []string{"windows", "cores", "points"},
		slices.Concat(clauseWords[:]...), kinds.Names())
	// One wrong letter in three, two at the most: "abov" is "above", and "cumulatve" is "cumulative".
	if near := spelling.Nearest(strings.ToLower(word), min(len(word)/3, 2), keywords); near != "" && near != word {
		list = append(list, near)
	}
	return list
}
