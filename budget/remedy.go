package budget

import "slices"

// remedy says what to write instead of a wrong sentence: the word that is meant, if it is known,
// or what to do about the mistake, and a right sentence with the same subject, rule and clause.
func (p *parser) remedy() string {
	subject, r, clause := p.b.Subject, p.b.Rule, p.clause
	inSubject, expected, meant := p.wrong.off <= p.places[partSubject].off, p.err.Expected, ""
	if inSubject {
		expected = subjectExpected
	}
	if len(p.wrong.raw) <= longestWord {
		meant = meaning(p.wrong.raw, expected)
	}
	advice := "write,"
	switch {
	case meant != "":
		advice = `did you mean "` + meant + `"? Write,`
	case p.advice != "":
		advice = p.advice + ";"
	}
	switch {
	case inSubject:
		subject = meant
	case isRule(meant):
		r = Rule(meant)
	case clausePart(meant) != 0:
		clause = clausePart(meant)
	}
	return advice + ` for example, "` + example(subject, r, clause) + `"`
}

// example is a right sentence with this subject, rule and clause, as far as these go together.
func example(name string, r Rule, clause part) string {
	s := subjectOf(name)
	if b := (&Budget{Subject: name}); b.subjectMistake().expected != "" {
		s = &subjects[0]
	}
	right := s.rules[max(slices.IndexFunc(s.rules, func(has rule) bool { return has.name == r }), 0)]
	if b := (&Budget{Subject: s.name, Rule: right.name}); b.Label() != "" && clause == partExcept {
		return right.example + " except internal"
	} else if b.takes(clause) {
		return right.example + clauseExamples[clause]
	}
	return right.example
}

// clauseExamples are right clauses.
var clauseExamples = [parts]string{
	partExcept: " except runtime/...", partIn: " in main.handler", partWhere: " where endpoint=/checkout",
	partWhen: " when process above 0.1 cores", partFor: " for 3 windows",
}
