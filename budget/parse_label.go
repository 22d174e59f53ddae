package budget

import "strings"

const (
	// labelOperators are what queries elsewhere have in the place of "=", or make
	// of it. In quotes they may stand in a key.
	labelOperators = "!<>~"
	// keySpecial is what a key must be quoted for, and a value need not.
	keySpecial = "=" + labelOperators
)

// labels reads k=v, k2=v2. The present word is the first key.
func (p *parser) labels() map[string]string {
	const expected = `a label: key=value`
	labels := map[string]string{}
	var comma token
	for {
		key := p.tok
		if _, clause := clausePart(key.raw); clause && len(labels) > 0 && p.peekIn(modeKey).kind != tokenEquals {
			p.fail(comma, "a label after the comma", noComma)
		}
		if key.kind != tokenWord && key.kind != tokenQuoted {
			p.fail(key, expected, example("where endpoint=/checkout"))
		}
		if key.kind == tokenWord {
			p.operator(key)
		}
		if _, twice := labels[key.text]; twice {
			p.fail(key, "each label once", "a sample has one value of a label: write a budget for each value")
		}
		p.advanceIn(modeKey)
		if p.tok.kind != tokenEquals {
			p.noEquals(key)
		}
		p.advanceIn(modeValue)
		value := p.tok
		switch {
		case value.kind != tokenWord && value.kind != tokenQuoted:
			p.fail(value, "the label's value", `write key=value; an empty value is written ""`)
		case value.kind == tokenWord && value.raw[0] == '=':
			p.fail(value, "the label's value", `write one "="; a value that begins with one needs quotes`)
		case value.kind == tokenWord && value.raw[0] == '~':
			p.fail(p.span(key, value), exactLabel, exactRemedy(labelText(key.text, keySpecial), value.raw))
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
		comma = p.tok
		p.advanceIn(modeKey)
	}
}

const exactLabel = "key=value, with an exact value"

// exactRemedy says what to write for a condition that only queries elsewhere
// have.
func exactRemedy(key, value string) string {
	value = strings.TrimLeft(value, "~^")
	value = strings.TrimSuffix(strings.TrimSuffix(value, "$"), ".*")
	if value == "" || strings.ContainsAny(value, `.*+?()[]{}|^$\`) || labelText(value, "") != value {
		value = "value"
	}
	return "labels are compared for equality, with one value each: " + example("where "+key+"="+value)
}

// operator refuses a key with an operator, which may look like part of it.
func (p *parser) operator(key token) {
	name, rest := key.raw, p.lex.line[key.end():]
	to := key
	if next := p.peek(); name == "not" && next.kind == tokenWord && next.raw[0] != '=' {
		name, _, _ = strings.Cut(next.raw, "=")
		to = next
	}
	if end := strings.IndexAny(name, labelOperators); end >= 0 {
		name = name[:end]
		if rest != "" && rest[0] == '=' { // status!=200
			to.raw += rest[:wordLength(rest, modeValue)]
		}
	} else if to == key {
		return
	}
	if name == "" {
		name = "endpoint"
	}
	p.fail(p.span(key, to), exactLabel, exactRemedy(name, ""))
}

// noEquals explains what stands behind a key in the place of "=".
func (p *parser) noEquals(key token) {
	remedy := example("where " + labelText(key.text, keySpecial) + "=value")
	before, after, colon := strings.Cut(key.raw, ":")
	switch {
	case colon && before != "" && after != "" && key.kind == tokenWord:
		p.fail(key, `"=" between the label's key and its value`, didYouMean(before+"="+after))
		return
	case p.tok.raw == "is" || p.tok.raw == ":":
		remedy = didYouMean("=")
	}
	p.fail(p.tok, `"=" after the label's key`, remedy)
}
