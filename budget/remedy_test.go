package budget

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// advised are the texts in quotes that a remedy has, but for single words, which
// it may only speak about, and values of labels.
var advised = regexp.MustCompile(`(?:^|[^=])"([^"]* [^"]*)"`)

// proposals are the texts that a remedy says to write.
func proposals(remedy string) []string {
	var list []string
	rest := remedy
	for {
		m := advised.FindStringSubmatchIndex(rest)
		if m == nil {
			return list
		}
		// `"a" or "b c"` has the text ` or ` between quotes.
		if text := rest[m[2]:m[3]]; strings.TrimSpace(text) == text {
			list = append(list, text)
			rest = rest[m[1]:]
		} else {
			rest = rest[m[0]+1:]
		}
	}
}

// TestRemediesParse holds all that the messages advise, of wrong sentences and
// of wrong literals, against Parse.
func TestRemediesParse(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds, on one goroutine")
	}
	seen := map[string]bool{}
	check := func(cited, remedy string, err error) {
		for _, text := range proposals(remedy) {
			if seen[text] || strings.Contains(cited, text) || strings.HasSuffix(text, "...") {
				continue
			}
			seen[text] = true
			if !writable(text) {
				t.Errorf("%q cannot be written anywhere:\n%v", text, err)
			}
		}
	}
	for _, sentence := range wrongSentences(t) {
		_, err := Parse(sentence)
		var syntax *SyntaxError
		if errors.As(err, &syntax) {
			check(sentence, syntax.Remedy, err)
		}
	}
	sentences := len(seen)
	for b := range literals() {
		b.check(stated{measure: b.Flat, kind: b.Kind != ""}, func(m mistake) {
			check("", m.remedy, m)
		})
	}
	if literals := len(seen) - sentences; sentences < 60 || literals < 60 {
		t.Errorf("%d proposals for sentences and %d more for literals, want at least 60 of each", sentences, literals)
	}
}

// writable reports whether a text is a sentence, or a piece of one.
func writable(text string) bool {
	return slices.ContainsFunc([]string{
		text, "f below 5% " + text, "gc below 5% " + text, "no function above 20% " + text, "no function above 20% except f" + text,
		"f " + text, "f below " + text, "process below " + text, "no function " + text, "no function above " + text,
		"f grows below " + text, "process grows below " + text, "goroutines below " + text,
		"no function grows " + text + " points", "f grows " + text + " points", "f below 5ms " + text, "f below 5% where a=b" + text,
		text + " 5 points", text + " 1.5 cores", text + " 5000", "f below 5% " + text + " 1.5 cores", "f " + text + " 5 points", "no function " + text + " 5 points",
		"no function above " + text + " f", "heap below " + text + " 5m", "goroutines below " + text + " 5m",
		"process below " + text + " request", "process below " + text + " heap above 1GiB",
		"gc below 5% when " + text, "gc below 5% when process " + text, "gc below 5% where " + text,
		text + " gc below 5%", text + " absent", text + " above 5%", text + " 5%",
	}, func(sentence string) bool { _, err := Parse(sentence); return err == nil })
}

// literals yields budgets with the combinations of what a Go literal may say,
// right and wrong, from which remedies are made.
func literals() func(func(Budget) bool) {
	return func(yield func(Budget) bool) {
		conditions := []Condition{{}, {Figure: "cpu"}, {Figure: "heap", Amount: Amount{5, "%"}}, {Figure: "gc", Amount: Amount{5, ""}}, {Below: true}}
		for _, subject := range []string{"", "no function", "no package", "no goroutine", "process", "goroutines", "heap", "rss", "gc",
			"main.f", "memory", "cpu", "a:b", "goroutine", "Heap"} {
			for _, rule := range []string{"", "grows", "steady", "absent", "leaked", "above"} {
				for _, kind := range []string{"", "cpu", "heap", "allocs", "mutex", "x"} {
					for _, limit := range []Amount{{}, {0.5, ""}, {12, ""}, {12, "%"}, {100, "%"}, {12, "points"},
						{0.5, "cores"}, {500, "m"}, {12, "MiB"}, {12, "percent"}} {
						for _, per := range []string{"", "call", "second"} {
							b := Budget{Subject: subject, Rule: rule, Kind: kind, Limit: limit, Per: per}
							clauses := b
							clauses.Flat, clauses.In, clauses.When = true, "a b", conditions[len(kind)%len(conditions)]
							clauses.Except, clauses.Where = []string{"none", "idle"}, map[string]string{"a": "b"}
							if !yield(b) || per == "" && !yield(clauses) {
								return
							}
						}
					}
				}
			}
		}
	}
}
