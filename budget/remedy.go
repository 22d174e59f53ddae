package budget

import (
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/spelling"
	"github.com/profguard/profguard/internal/unit"
)

// remedy says what to write instead of a wrong sentence: two sentences if the line has two,
// a similar sentence that is right, or else an example.
func (p *parser) remedy() string {
	if first, second := p.two(); second != "" {
		return `did you mean two lines, "` + first + `" and "` + second + `"?`
	}
	if meant := p.meaning(); meant != "" {
		return `did you mean "` + meant + `"?`
	}
	if p.wrong.advice == "" {
		return `write, for example, "` + p.example() + `"`
	}
	return clip(p.wrong.advice, longestAdvice) + `; for example, "` + p.example() + `"`
}

// two returns the budgets of a line that has two.
func (p *parser) two() (first, second string) {
	line := p.lex.line
	words := lexer{line: line}
	for t := words.next(modeWord); t.kind != tokenEnd && len(line) <= longestLine; t = words.next(modeWord) {
		b := try(line[t.off:])
		if b.err != nil {
			continue
		}
		a := try(strings.TrimSuffix(strings.TrimRight(line[:t.off], " \t,;"), " and"))
		if a.err == nil && a.b.When == (Condition{}) { // "and" may join two conditions
			return a.b.String(), b.b.String()
		}
	}
	return "", ""
}

// try reads a sentence that may be right.
func try(line string) *parser {
	p := &parser{lex: lexer{line: line}}
	p.advance()
	p.budget()
	return p
}

// mostTries is the most sentences that are tried. Those with few other words come first:
// "All functions under 20 percent" needs five.
const mostTries = 128

// meaning returns the first similar sentence that is right, "" if there is none. Words are
// replaced one after the other, and each has to make a longer part of the sentence right.
func (p *parser) meaning() string {
	queue, tried := []*parser{p}, 0
	for len(queue) > 0 && tried < mostTries {
		from := queue[0]
		queue = queue[1:]
		for _, line := range append(from.lines, from.others()...) { // the most likely first
			again := try(line)
			if right := again.b.String(); again.err == nil && len(right) <= longestLine {
				return right
			}
			if again.left <= from.left && line != from.lex.line {
				queue = append(queue, again)
			}
			tried++
		}
	}
	return ""
}

// example returns a right sentence that is as similar to the wrong one as possible.
func (p *parser) example() string {
	b, at := p.read, p.wrong.part
	b.Name = ""
	if of := b.ofQuantity(); len(of) > 0 {
		b = of[len(of)-1]
	}
	var lines []string
	for _, kind := range []string{kinds.Goroutine, kinds.Heap, kinds.Allocs} { // the unit may fit to one of these
		if at == partLimit && b.Kind == "" {
			lines = append(lines, b.saying(partKind, "of "+kind))
		}
	}
	plain := Budget{Subject: b.Subject, Rule: b.Rule, Kind: b.Kind}
	if !plain.hasRule() {
		plain.Rule = subjectOf(b.Subject).rules[0]
	}
	lines = append(lines, b.saying(at, b.usual(at)), b.saying(at, ""), b.saying(partPer, "per request"), plain.saying(partLimit, plain.usual(partLimit)))
	for _, line := range lines {
		if len(line) <= longestLine {
			if again := try(line); again.err == nil {
				return again.b.String()
			}
		}
	}
	if p.wrong.expected == patternExpected {
		return "encoding/json below 5% cumulative"
	}
	return "no function above 20% cumulative"
}

// usual is the text of a part in an example.
func (b *Budget) usual(p part) string {
	if p != partLimit {
		return [parts]string{
			partPer: "per request", partExcept: "except runtime/...", partIn: "in main.handler", partWhere: "where endpoint=/checkout",
			partWhen: "when process above 0.1 cores", partFor: "for 3 windows",
		}[p]
	}
	list := fits(b)
	if len(list) == 0 || b.Rule != "" && b.Rule != "grows" {
		return ""
	}
	amount := [...]Amount{unit.Share: {20, "%"}, unit.Points: {5, "points"}, unit.Cores: {0.5, "cores"}, unit.Bytes: {64, "MiB"}, unit.Count: {5000, ""}}[list[0].dim]
	switch {
	case b.Limit.Unit == "" && b.Limit.Value >= 1 && amount.Unit == "MiB":
		amount.Value = b.Limit.Value
	case amount.Unit == "%" && classOf(b.Subject) == judge.Pattern: // a single pattern should have a lower limit
		amount.Value = 5
	}
	if list[0].per == perMust && b.Per == "" {
		return amount.String() + " per request"
	}
	return amount.String()
}

// ofQuantity returns the budgets that may be meant if the subject is a quantity.
func (b Budget) ofQuantity() (list []Budget) {
	meant := quantity(b.Subject)
	if classOf(b.Subject) != judge.Pattern || meant == "" || meant == unmeasured {
		return nil
	}
	subjects := []string{meant}
	if slices.Contains(kinds.Names(), meant) && meant != kinds.Heap {
		subjects, b.Kind = []string{"process", "no function"}, meant
	}
	for _, b.Subject = range subjects {
		list = append(list, b)
	}
	return list
}

// meant returns the sentences that may be meant by a budget with a mistake in a part.
func (b Budget) meant(p part) (lines []string) {
	add := func(p part, said string) { lines = append(lines, b.saying(p, said)) }
	switch c, dim := classOf(b.Subject), b.Limit.dimension(); p {
	case partSubject:
		for _, of := range b.ofQuantity() {
			lines = append(lines, of.String())
		}
		if name, rest, ok := strings.Cut(b.Subject, ":"); ok && !strings.Contains(name, ".") { // checkout:portlist absent
			add(partSubject, name+": "+rest)
		}
	case partRule:
		switch figure := c == judge.Figure && b.Subject != "goroutines"; {
		case b.Rule == "leaked" && !figure:
			b = Budget{Name: b.Name, Subject: "no goroutine", Rule: "leaked"}
		case b.Rule == "leaked" || b.Rule == "grows" && c == judge.Figure: // over hours
			b.Rule, b.Limit = "steady", Amount{}
		}
		return []string{b.String()}
	case partKind:
		if c == judge.Process && b.Kind == kinds.Goroutine {
			b.Subject = "goroutines"
			add(partKind, "")
		}
	case partLimit:
		number := Amount{Value: b.Limit.Value}.String()
		switch {
		case b.Limit.Value == 0 && c == judge.Pattern && b.Rule == "":
			b.Rule, b.Limit, b.Flat, b.Per = "absent", Amount{}, false, ""
			return []string{b.String()}
		case dim == unit.Count && b.Per == "" && b.Limit.Value >= 1 && b.Limit.Value < 100 && b.Rule != "steady":
			add(partLimit, number+" points")
			add(partLimit, number+" %")
			add(partLimit, number+" cores")
		case dim == unit.Points && b.Rule == "":
			add(partLimit, number+" %")
		case b.Limit.Unit != "m" && (dim == unit.Time || c == judge.Process && b.Rule == "grows"): // 500m is half a core to Kubernetes
			add(partPer, "per request")
		}
	}
	return lines
}

// synonyms are words of the language, each with words that people write in its place.
func synonyms() []synonym {
	return []synonym{
		{"no", "any every each all"}, {"above", "over > >= more exceeds"}, {"below", "under < <= = == max less most to"},
		{"absent", "never missing forbidden banned"}, {"steady", "stable constant"}, {"leaked", "leak leaks"},
		{"flat", "self own"}, {"cumulative", "cum total"}, {"per", "each every a"}, {"of goroutine", "goroutines"}, {"goroutine", "goroutines"},
		{"except", "exclude excluding without"}, {"in", "inside within from"}, {"where", "with"}, {"when", "if while"}, {"for", "during"},
		{",", "and or"}, {" ", ", the is are be must stay stays keep limit uses at up by than time usage"}, {"#", "// --"},
	}
}

// suggest returns other words for a word. A parser proposes one only if the sentence is right
// with it.
func suggest(word string) []string {
	keywords := slices.Concat(strings.Fields("no function package goroutine above below absent grows steady leaked windows"),
		slices.Concat(clauseWords[:]...), figures, kinds.Names())
	list := meanings(quantities, word)
	for _, kind := range append(list, word) {
		if slices.Contains(kinds.Names(), kind) {
			list = append(list, "of "+kind)
		}
	}
	list = append(list, meanings(synonyms(), word)...)
	if near := nearest(word, keywords...); near != "" && near != word {
		list = append(list, near)
	}
	if slices.Contains(list, "no function") || slices.Contains(list, "no package") { // "function main.work"
		list = append(list, " ")
	}
	return list
}

// nearest returns the candidate that word is most likely a misspelling of, or
// "" when none is close. Letter case is ignored.
func nearest(word string, candidates ...string) string {
	// One wrong letter in three, two at the most: "abov" is "above" and
	// "cumulatve" is "cumulative", but "foo" is not "for".
	limit := min(len(word)/3, 2)
	if len(word) > 24 {
		return "" // longer than any keyword with two letters too many
	}
	best := ""
	for _, c := range candidates {
		if len(c) > len(word)+limit || len(word) > len(c)+limit {
			continue
		}
		if d := spelling.Distance(strings.ToLower(word), c); d <= limit {
			best, limit = c, d-1
		}
	}
	return best
}
