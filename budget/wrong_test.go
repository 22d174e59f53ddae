package budget_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/golden"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
)

// TestFault_32_WrongSentences compares the messages for wrong sentences with testdata/wrong.txt,
// which is meant to be read: a sentence behind "> ", then what Parse says of it. Line, column
// and mark are in TestSyntaxErrorPicture.
func TestFault_32_WrongSentences(t *testing.T) {
	var got strings.Builder
	count := 0
	for _, sentence := range wrongSentences(t) {
		count++
		set, err := Parse(sentence)
		if err == nil {
			t.Errorf("Parse(%q) = %v, want an error", sentence, set)
			continue
		}
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("Parse(%q): the error is a %T, want a *SyntaxError", sentence, err)
			continue
		}
		if syntax.Remedy == "" {
			t.Errorf("Parse(%q) does not say what to do: %v", sentence, err)
		}
		fmt.Fprintf(&got, "> %s\nexpected %s, found %q: %s\n", sentence, syntax.Expected, syntax.Word, syntax.Remedy)
	}
	if count < 60 {
		t.Errorf("%s has %d sentences, want at least 60", wrongFile, count)
	}
	golden.Compare(t, wrongFile, got.String())
}

// wrongFile is in testdata.
const wrongFile = "wrong.txt"

// wrongSentences are those of the golden file.
func wrongSentences(t *testing.T) (list []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", wrongFile))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		if sentence, ok := strings.CutPrefix(line, "> "); ok {
			list = append(list, sentence)
		}
	}
	return list
}

// TestProposals holds the examples of the messages against Parse: each message has one, which is
// right and prints as it stands.
func TestProposals(t *testing.T) {
	proposed, examples := 0, 0
	check := func(remedy string, about any) {
		before, example, shown := strings.Cut(remedy, `for example, "`)
		example = strings.TrimSuffix(example, `"`)
		if set, err := Parse(example); !shown || err != nil || set.String() != example {
			t.Errorf("the remedy %q for %v has no right example: %v", remedy, about, err)
		}
		if examples++; strings.HasPrefix(before, "did you mean ") {
			proposed++
		}
	}
	for _, sentence := range wrongSentences(t) {
		_, err := Parse(sentence)
		var syntax *SyntaxError
		if errors.As(err, &syntax) {
			check(syntax.Remedy, sentence)
		}
	}
	n, every := 0, 19 // which divides none of their lists, so that each word comes
	if testing.Short() {
		every = 191
	}
	for b := range literals() {
		if n++; n%every != 0 {
			continue
		}
		_, err := Parse(b.String())
		var syntax *SyntaxError
		if errors.As(err, &syntax) {
			check(syntax.Remedy, b)
		}
	}
	if proposed < len(MistakenWords()) || examples < 60 {
		t.Errorf("%d proposals and %d examples, want at least %d and 60", proposed, examples, len(MistakenWords()))
	}
}

// TestExamples: each is right, and prints as it stands.
func TestExamples(t *testing.T) {
	for _, e := range RightSentences() {
		set, err := Parse(e.Text)
		if err != nil || set.String() != e.Text || !set[0].IsExample(e) {
			t.Errorf("%s: %v, %v", e.Text, set, err)
		}
	}
}

// TestMistakenWords: what is meant by a wrong word is of the language, and a golden sentence
// shows each line of the table.
func TestMistakenWords(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", wrongFile))
	if err != nil {
		t.Fatal(err)
	}
	for words, meant := range MistakenWords() {
		word := strings.TrimPrefix(meant, "no ")
		_, named := unit.Named(word)
		if !named && !IsKeyword(word) && !slices.Contains(slices.Concat(Figures, kinds.Names(), []string{"function", "package"}), word) {
			t.Errorf("%q is meant by %q, and no word of the language", meant, words)
		}
		list := strings.ReplaceAll(regexp.QuoteMeta(words), " ", "|")
		if !regexp.MustCompile(`(?i:found "[0-9. ]*(` + list + `)"): did you mean "` + regexp.QuoteMeta(meant) + `"`).Match(data) {
			t.Errorf("no sentence of %s shows %q for one of %q", wrongFile, meant, words)
		}
	}
}

// TestAccepted parses the clean twins: what looks like the mistakes above, and
// means what it says.
func TestAccepted(t *testing.T) {
	for _, sentence := range []string{
		`no function above 20% cumulative where endpoint="/checkout/*"`,
		`no function above 20% cumulative where "status!"=200`,
		`no function above 20% cumulative where "a>b"=c, d="~e"`,
		"no function above 20% cumulative where d=e~",
		"github.com/shirou/gopsutil/v4/mem below 10% cumulative",
		"example.com/processes below 1 core",
		"progress below 10% cumulative",
		"processor below 10% cumulative",
		"main.leaks absent",
		"no function above 20% cumulative except example.com/idle",
		"no function above 20% cumulative except unless",
		"/order: x/ absent",
		"/a b: c/ absent",
		"a: /order: x/ absent",
		"main.Map[struct { a: int }] absent",
		"portlist absent # note: seen once",
		`portlist absent where a="b: c"`,
		"fmt below 40us per call in /call/",
		"no function above 5% cumulative except /a/, /b/",
		"main.p99 below 5ms per request",
		"main.order below 5ms per p99 in median",
		"example.com/latency below 5% cumulative",
		"example.com/core below 5% cumulative",
		`"core" below 5% cumulative`,
		"no function above 5% cumulative where a=b, for=c, in=d",
		"main.f below 5% cumulative in /order/",
		"allocs: process below 10KiB per request of allocs",
	} {
		set, err := Parse(sentence)
		if err != nil {
			t.Error(err)
			continue
		}
		want, _, _ := strings.Cut(sentence, " # ")
		if got := set.String(); got != want {
			t.Errorf("%q prints as %q", sentence, got)
		}
		if err := set.Validate(); err != nil {
			t.Error(err)
		}
	}
}

// TestLabelLiterals prints labels that no sentence has without quotes.
func TestLabelLiterals(t *testing.T) {
	for _, where := range []map[string]string{{"a!": "b"}, {"a~": "~b"}, {"<": ">"}, {"a": "~"}, {"a=": "=b"}} {
		want := Set{{Subject: "portlist", Rule: "absent", Where: where}}
		got, err := Parse(want.String())
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q is another set (-want +got):\n%s", want, diff)
		}
	}
}

// literals yields budgets with the combinations of what a Go literal may say,
// right and wrong, from which remedies are made.
func literals() func(func(Budget) bool) {
	return func(yield func(Budget) bool) {
		conditions := []Condition{{}, {Figure: "cpu"}, {Figure: "heap", Amount: Amount{5, "%"}}, {Figure: "gc", Amount: Amount{5, ""}}, {Below: true}}
		for _, subject := range []string{"", "no function", "no goroutine", "process", "goroutines", "heap", "gc", "main.f", "memory", "a:b", "goroutins", "Heap"} {
			for _, rule := range []Rule{"", "grows", "steady", "absent", "leaked", "above"} {
				for _, kind := range []Kind{"", "cpu", "allocs", "mutex", "x"} {
					for _, limit := range []Amount{{}, {0.5, ""}, {12, "%"}, {100, "%"}, {12, "points"}, {500, "m"}, {12, "MiB"}, {12, "percent"}} {
						for _, per := range []string{"", "call", "second"} {
							b := Budget{Subject: subject, Rule: rule, Kind: kind, Limit: limit, Per: per}
							clauses := b
							clauses.Flat, clauses.In, clauses.When = true, "a b", conditions[len(kind)%len(conditions)]
							clauses.Except, clauses.Where = []string{"none", "for"}, map[string]string{"a": "b"}
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
