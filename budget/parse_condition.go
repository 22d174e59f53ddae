package budget

import "strings"

// condition reads "process above 0.1 cores".
func (p *parser) condition() Condition {
	figure := p.tok
	c := Condition{Figure: figure.raw}
	if m, wrong := figureMistake(figure.raw); wrong {
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
