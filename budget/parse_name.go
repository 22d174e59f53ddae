package budget

import "strings"

// name reads "checkout-tls:" if it is there.
func (p *parser) name(b *Budget) {
	p.said[partName] = p.tok // without a name, the sentence's beginning stands for it
	if p.tok.kind != tokenWord || !strings.HasSuffix(p.tok.raw, ":") {
		return
	}
	b.Name = strings.TrimSuffix(p.tok.raw, ":")
	if m, ok := nameMistake(b.Name); ok {
		p.fail(p.tok, m.expected, m.remedy)
		return
	}
	p.advance()
	if p.tok.kind == tokenEnd {
		p.fail(p.tok, "a budget after the name", example("no function above 20%"))
	}
}

// longName refuses a name of several words, "GET /order:", or one that looks like
// a regular expression, "/order:". Nothing that is right has a colon there: in a
// sentence without a keyword up to it.
func (p *parser) longName() {
	before, after, colon := strings.Cut(p.lex.line, ":")
	words := strings.FieldsFunc(strings.TrimPrefix(before, byteOrderMark), isSpace)
	switch {
	case !colon || len(words) == 0 || strings.ContainsAny(before, "\"[#,;"):
		return
	case after != "" && !isSpace([]rune(after)[0]):
		return
	case p.err == nil && (len(words) == 1 || p.tok.kind != tokenWord):
		return // one word, or a regular expression that ends
	case p.err != nil && words[0][0] != '/':
		return
	}
	for _, word := range words {
		if isKeyword(word) {
			return
		}
	}
	start := strings.Index(p.lex.line, words[0])
	at := token{kind: tokenWord, off: start, raw: p.lex.line[start : len(before)+1]}
	const expected = "a name of one word in front of the colon"
	p.err = nil // what the lexer thinks of a slash
	if name := oneWord(words); name != "" {
		p.fail(at, expected, didYouMean(name+":"))
		return
	}
	p.fail(at, expected, "metrics and file names carry it: keep it plain, like checkout-tls")
}

// oneWord joins words to what can be a name, or returns "".
func oneWord(words []string) string {
	split := func(r rune) bool { return r > 'z' || !nameOK(string(r)) && !strings.ContainsRune("_.-", r) }
	return strings.Join(strings.FieldsFunc(strings.Join(words, " "), split), "-")
}
