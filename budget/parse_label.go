package budget

// labels reads k=v, k2=v2. The present word is the first key.
func (p *parser) labels() map[string]string {
	const expected = `a label: key=value`
	labels := map[string]string{}
	for {
		key := p.tok
		if key.kind != tokenWord && key.kind != tokenQuoted {
			p.fail(key, expected, example("where endpoint=/checkout"))
		}
		if _, twice := labels[key.text]; twice {
			p.fail(key, "each label once", "a sample has one value of a label: write a budget for each value")
		}
		p.advanceIn(modeKey)
		if p.tok.kind != tokenEquals {
			p.fail(p.tok, `"=" after the label's key`, example("where "+labelText(key.text, "=")+"=value"))
		}
		p.advanceIn(modeValue)
		value := p.tok
		switch {
		case value.kind != tokenWord && value.kind != tokenQuoted:
			p.fail(value, "the label's value", `write key=value; an empty value is written ""`)
		case value.kind == tokenWord && value.raw[0] == '=':
			p.fail(value, "the label's value", `write one "="; a value that begins with one needs quotes`)
		case value.kind == tokenWord && (value.raw[0] == '\'' || value.raw[0] == '`'):
			p.fail(value, "the label's value", `write double quotes, key="a b"`)
		}
		labels[key.text] = value.text
		p.advance()
		if p.err != nil {
			return nil
		}
		if p.tok.kind != tokenComma {
			return labels
		}
		p.advanceIn(modeKey)
	}
}
