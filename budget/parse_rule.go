package budget

import "strings"

// rule reads what the subject must not do, and the amount that limits it.
func (p *parser) rule(b *Budget) {
	at := p.tok
	p.said[partRule] = at
	limit := b.limitWord()
	if _, ok := accepted(b.Subject, at.raw); !ok && isRule(at.raw) && at.raw != "above" && at.raw != "below" {
		m := ruleMistake(Budget{Subject: b.Subject, Rule: at.raw})
		p.fail(at, m.expected, m.remedy)
		return
	}
	switch at.raw {
	case "above", "below":
		p.limitWord(b, limit)
		p.limit(b)
	case "absent", "leaked":
		b.Rule = at.raw
		p.advance()
	case "grows":
		b.Rule = at.raw
		p.advance()
		p.limitWord(b, limit)
		p.limit(b)
	case "steady":
		b.Rule = at.raw
		p.advance()
		if p.tok.raw == "below" || p.tok.raw == "above" {
			p.limitWord(b, "below")
			p.limit(b)
		}
	default:
		p.noRule(b, limit)
	}
}

// limitWord reads "above" or "below", whichever limit asks for.
func (p *parser) limitWord(b *Budget, limit string) {
	at := p.tok
	switch {
	case at.raw == limit:
		p.advance()
	case p.err != nil:
	case at.raw == "above":
		remedy := didYouMean(b.Subject + strings.TrimSuffix(" "+b.Rule, " ") + " below")
		if meant, ok := isFunctionWord(b.Subject); ok {
			remedy = didYouMean(meant + " above")
		}
		p.fail(at, `"below": what is named stays below its limit, only "no function" and "no package" stand before "above"`, remedy)
	case at.raw == "below":
		p.fail(at, `"above": after "`+b.Subject+`" the limit is what must not be exceeded`,
			didYouMean(b.Subject+strings.TrimSuffix(" "+b.Rule, " ")+" above"))
	case b.Rule == "grows" && at.kind == tokenEnd:
		p.fail(at, `"`+limit+`" and an amount after "grows"`, example(b.Subject+" grows "+limit+" 5 points"))
	default:
		remedy := example(b.Subject + " grows " + limit + " 5 points")
		if startsWithNumber(at.raw) {
			remedy = didYouMean(limit + " " + at.raw)
		} else if ruleMeant(at.raw, limit) == limit || at.raw == "by" {
			remedy = didYouMean(limit)
		}
		p.fail(at, `"`+limit+`" after "grows"`, remedy)
	}
}

// limit reads the amount after "above" or "below".
func (p *parser) limit(b *Budget) {
	b.Limit, p.said[partLimit] = p.amount(b.Subject, "20%, 0.2 cores, 64MiB, 5000")
}

// noRule explains a word that is not a rule.
func (p *parser) noRule(b *Budget, limit string) {
	expected := rulesText(b.Subject)
	at := p.tok
	next := p.peek()
	meant, functions := isFunctionWord(b.Subject)
	verb, denied := p.denied()
	switch {
	case p.err != nil:
	case at.kind == tokenEnd:
		p.fail(at, expected, example(ruleExample(*b)))
	case isArticle(b.Subject) && at.kind == tokenWord && isRule(next.raw):
		p.fail(p.span(p.said[partSubject], at), "a pattern", didYouMean(at.raw))
	case functions:
		p.fail(p.said[partSubject], `"`+meant+`"`, didYouMean(meant+" above"))
	case isStatistic(at.raw) && isRule(next.raw):
		p.statisticFirst(at, next, expected)
	case p.subjectMeant(b, at, next) != "":
		p.fail(at, expected, p.subjectMeant(b, at, next))
	case isKeyword(at.raw) && at.raw != "no":
		remedy := `move "` + at.raw + `" and what belongs to it behind the rule and its amount`
		if meant := p.behindRule(at, ""); meant != "" {
			remedy = didYouMean(meant)
		}
		p.fail(at, expected, remedy)
	case at.raw == ":":
		p.fail(at, expected, didYouMean(b.Subject+":"))
	case at.raw[0] == '<' || at.raw[0] == '>' || at.raw[0] == '=':
		p.fail(at, expected, didYouMean(strings.TrimSpace(limit+" "+strings.TrimLeft(at.raw, "<>="))))
	case denied && deniedMeant(*b, verb.raw, limit) != "":
		p.fail(p.span(at, verb), expected, didYouMean(deniedMeant(*b, verb.raw, limit)))
	case isCopula(at.raw) && isRule(next.raw):
		p.fail(at, expected, `leave out "`+at.raw+`"`)
	case isCopula(at.raw):
		p.fail(at, expected, `leave out "`+at.raw+`": `+example(ruleExample(*b)))
	case strings.EqualFold(at.raw, "no") || strings.EqualFold(at.raw, "not"):
		if isLimitish(next.raw) {
			p.fail(p.span(at, next), expected, didYouMean(limit))
			return
		}
		p.fail(at, expected, didYouMean(b.Subject+" absent"))
	case ruleMeant(at.raw, limit) != "":
		word := at
		if isLimitish(at.raw) && (next.raw == "than" || next.raw == "most" || next.raw == "to") {
			word = p.span(at, next)
		}
		meant := ruleMeant(at.raw, limit)
		if (meant == "above" || meant == "below") && meant != limit {
			meant = limit // a misspelt "above" where it must be "below"
		}
		rule, _, _ := strings.Cut(meant, " ")
		if _, ok := accepted(b.Subject, rule); !ok && rule != limit {
			p.fail(word, expected, ruleMistake(Budget{Subject: b.Subject, Rule: rule}).remedy)
			return
		}
		p.fail(word, expected, didYouMean(meant))
	case startsWithNumber(at.raw):
		p.fail(at, expected, didYouMean(b.Subject+" "+limit+" "+at.raw))
	case at.kind == tokenComma:
		p.fail(at, expected, "a budget has one subject: write a line for each")
	default:
		p.fail(at, expected, example(ruleExample(*b)))
	}
}

// ruleExample returns a budget about the same subject.
func ruleExample(b Budget) string {
	switch {
	case b.Subject == "no goroutine":
		return "no goroutine leaked"
	case classOf(b.Subject) == classPattern:
		return b.Subject + ` below 5%" or "` + b.Subject + " absent"
	}
	return limitExample(Budget{Subject: b.Subject})
}

// isCopula reports whether a word only links a subject with its rule in
// spoken English.
func isCopula(word string) bool {
	switch strings.ToLower(word) {
	case "is", "are", "be", "must", "should", "may", "shall", "stays", "stay", "has", "uses", "takes", "can", "cannot", "to", "do", "does", "will":
		return true
	}
	return false
}

// isLimitish reports whether a word begins a comparison: "more than".
func isLimitish(word string) bool {
	switch strings.ToLower(word) {
	case "more", "less", "at", "up", "over", "under", "above", "below":
		return true
	}
	return false
}
