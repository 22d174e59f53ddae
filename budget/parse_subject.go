package budget

import "strings"

// subject reads what the budget is about.
func (p *parser) subject(b *Budget) {
	const expected = `a subject: "no function", "no package", "no goroutine", process, goroutines, heap, rss, gc, or a pattern`
	at := p.tok
	p.said[partSubject] = at
	switch {
	case at.raw == "no", at.kind == tokenWord && strings.EqualFold(at.raw, "no") && p.noMeant(p.peek().raw) != "":
		p.noSubject(b)
		return
	case at.kind == tokenQuoted:
		p.fail(at, expected, `patterns are written without quotes: `+at.text)
	case at.kind != tokenWord && at.kind != tokenRegexp:
		p.fail(at, expected, example("crypto/tls below 5%"))
	case at.raw == "-" || at.raw == "*" || at.raw == "•":
		p.fail(at, expected, "leave out the list mark: each line is a budget")
	case isKeyword(at.raw):
		p.fail(at, expected, keywordRemedy(at.raw))
	}
	if m, wrong := subjectMistake(p.ahead(at.raw)); wrong && classOf(at.raw) == classPattern {
		p.fail(at, m.expected, m.remedy)
	}
	b.Subject = at.raw
	p.advance()
}

// noSubject reads "no function", "no package" or "no goroutine".
func (p *parser) noSubject(b *Budget) {
	const expected = `"function", "package" or "goroutine" after "no"`
	no := p.tok
	p.advance()
	what := p.tok
	switch {
	case no.raw != "no":
		p.fail(no, "keywords in lower case", didYouMean("no "+p.noMeant(what.raw)))
	case what.raw == "function", what.raw == "package", what.raw == "goroutine":
		b.Subject = "no " + what.raw
		p.said[partSubject] = p.span(no, what)
		p.advance()
	case what.kind == tokenEnd:
		p.fail(what, expected, example("no function above 20%"))
	case p.noMeant(what.raw) != "":
		p.fail(what, expected, didYouMean("no "+p.noMeant(what.raw)))
	case quantityNamed(what.raw) == "leaks":
		p.fail(p.span(no, what), expected, didYouMean("no goroutine leaked"))
	case p.noneOf(what.raw) != "":
		p.fail(p.span(no, what), expected, didYouMean(p.noneOf(what.raw)))
	case kindMeant(what.raw) == "allocs":
		p.fail(p.span(no, what), expected, example("main.work absent of allocs"))
	default:
		p.fail(what, expected, `for one package or function leave out "no": "`+clipped(what.raw)+` below 5%", or "`+clipped(what.raw)+` absent"`)
	}
}

// noneOf returns the budget that "no allocs above 10%" means: none of the functions
// has more of that kind. Without a limit it is anybody's guess, and "".
func (p *parser) noneOf(word string) string {
	b := p.ahead("no function")
	if b.Kind = kindMeant(word); b.Kind == "" || b.Limit == (Amount{}) || b.Validate() != nil {
		return ""
	}
	return b.String()
}

// noMeant returns what a word after "no" stands for: function, package,
// goroutine, or "".
func (p *parser) noMeant(word string) string {
	if meant, ok := isFunctionWord(word); ok {
		return strings.TrimPrefix(meant, "no ")
	}
	return nearest(word, "function", "package", "goroutine")
}

// patterns reads one pattern, or several with commas between them.
func (p *parser) patterns(part part, several bool) []string {
	var list []string
	var comma token
	for {
		at := p.tok
		switch {
		case len(list) > 0 && p.startsClause():
			p.fail(comma, "a pattern after the comma", noComma)
		case at.kind == tokenQuoted:
			p.fail(at, "a pattern", "patterns are written without quotes: "+at.text)
		case at.kind == tokenEnd && len(list) > 0:
			p.fail(at, "a pattern after the comma", "leave out the last comma, or name what it was for")
		case at.kind != tokenWord && at.kind != tokenRegexp:
			p.fail(at, "a pattern", "write a package, a path or a function: encoding/json, net/http/..., main.(*Server).ServeHTTP")
		case isArticle(at.raw) && p.peek().kind == tokenWord && !isKeyword(p.peek().raw):
			p.fail(p.span(at, p.peek()), "a pattern", didYouMean(p.peek().raw))
		case part == partExcept && isFiller(at.raw) && namesPattern(p.peek()):
			p.fail(at, "a pattern", `leave out "`+at.raw+`"`)
		case isKeyword(at.raw) && (part != partExcept || at.raw != "none"):
			p.fail(at, "a pattern", keywordRemedy(at.raw))
		default:
			if m, wrong := patternMistake(at.raw, part); wrong && at.raw != "none" {
				p.fail(at, m.expected, m.remedy)
			}
		}
		list = append(list, at.raw)
		p.advance()
		if p.err != nil || p.tok.kind != tokenComma {
			return list
		}
		comma = p.tok
		if !several {
			if p.advance(); p.startsClause() {
				p.fail(comma, `one pattern after "in"`, noComma)
			}
			p.fail(comma, `one pattern after "in"`, "join several as a regular expression, /main.a|main.b/, or write a budget for each")
			return list
		}
		p.advance()
	}
}

// startsClause reports whether the present word, behind a comma, begins a clause,
// and is no filler in front of a pattern.
func (p *parser) startsClause() bool {
	_, ok := clausePart(p.tok.raw)
	next := p.peek()
	_, noKind := kindMistake(next.raw)
	return ok && p.tok.kind == tokenWord && (!isFiller(p.tok.raw) || !noKind || !namesPattern(next))
}

// isFiller reports whether a word stands between "except" and its patterns in
// spoken English.
func isFiller(word string) bool {
	return word == "for" || word == "of" || word == "from"
}

// namesPattern reports whether a token is a pattern, and no keyword or number.
func namesPattern(t token) bool {
	_, wrong := patternMistake(t.raw, partExcept)
	return (t.kind == tokenWord || t.kind == tokenRegexp) && !wrong && !startsWithNumber(t.raw)
}

// keywordRemedy says what to do where a keyword stands in the place of a
// pattern or a name.
func keywordRemedy(word string) string {
	return `"` + word + `" is a word of the language: something is missing in front of it; ` +
		`for a package of that name write its full path`
}

func didYouMean(text string) string { return `did you mean "` + short(text) + `"?` }

func example(text string) string { return `write, for example, "` + short(text) + `"` }
