package budget

import "strings"

// condition reads "process above 0.1 cores".
func (p *parser) condition() Condition {
	figure := p.tok
	c := Condition{Figure: figure.raw}
	if m, wrong := figureMistake(figure.raw); wrong {
		if meant := p.conditionMeant(figure.raw); meant != "" {
			m.remedy = didYouMean(meant)
			if p.ahead("process").Limit.Unit == "%" {
				m.remedy = ofOneCore + m.remedy
			}
		}
		p.fail(figure, m.expected, m.remedy)
	}
	p.advance()
	switch at := p.tok; at.raw {
	case "above", "below":
		c.Below = at.raw == "below"
		p.advance()
	default:
		remedy := example("when " + conditionExample(c.Figure))
		switch {
		case strings.HasPrefix(at.raw, "<"):
			remedy = didYouMean("below")
		case strings.HasPrefix(at.raw, ">"):
			remedy = didYouMean("above")
		case nearest(at.raw, "above", "below") != "":
			remedy = didYouMean(nearest(at.raw, "above", "below"))
		}
		p.fail(at, `"above" or "below" after "`+figure.raw+`"`, remedy)
	}
	amount, at := p.amount(c.Figure, "0.1 cores")
	c.Amount = amount
	if m, wrong := conditionMistake(c); wrong {
		p.fail(at, m.expected, m.remedy)
	}
	return c
}

// conditionMeant returns the condition that a word for the CPU of the process
// begins, with the amount that follows, or "". Percent are taken as tools mean them
// that count 100% a core.
func (p *parser) conditionMeant(figure string) string {
	switch strings.ToLower(figure) {
	case "cpu", "load", "cores":
	default:
		return ""
	}
	word := p.peek().raw
	c := Condition{Figure: "process", Below: word == "below", Amount: p.ahead("process").Limit}
	if c.Amount.Unit == "%" {
		c.Amount = coresOf(c.Amount.Value)
	}
	if _, wrong := conditionMistake(c); wrong || word != "above" && word != "below" {
		return ""
	}
	return "when " + c.String()
}

// unless explains a condition, or an exception, the other way round.
func (p *parser) unless(at token, expected string) {
	const idle = "when process above 0.1 cores"
	ahead := p.lex
	figure := ahead.next(modeWord)
	compared := ahead.next(modeWord)
	opposite := map[string]string{"above": "below", "below": "above"}[compared.raw]
	m, wrong := figureMistake(figure.raw)
	switch {
	case opposite != "" && wrong:
		p.fail(p.span(at, figure), expected, m.remedy)
	case opposite != "":
		p.fail(p.span(at, compared), expected, didYouMean("when "+figure.raw+" "+opposite))
	case figure.raw == "busy":
		p.fail(p.span(at, figure), expected, didYouMean("when process below 0.1 cores"))
	case figure.raw == "idle" || figure.raw == "quiet":
		p.fail(p.span(at, figure), expected, didYouMean(idle))
	case strings.HasPrefix(p.said[partSubject].raw, "no ") && namesPattern(figure):
		p.fail(at, expected, didYouMean("except"))
	default:
		p.fail(at, expected, example(idle))
	}
}
