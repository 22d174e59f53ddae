package budget

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/profguard/profguard/internal/golden"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
)

// TestFault_32_WrongSentences compares the messages for wrong sentences with testdata/wrong.txt,
// which is meant to be read: a sentence behind "> ", then what Parse says.
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
		got.WriteString("> " + sentence + "\n" + err.Error() + "\n\n")
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

// TestProposals holds what the messages propose against Parse: each message has a whole
// sentence, which is right and prints as it stands.
func TestProposals(t *testing.T) {
	proposed, examples := 0, 0
	check := func(remedy string, about any) {
		sentence, meant := strings.CutPrefix(remedy, `did you mean "`)
		if meant {
			proposed++
			sentence = strings.TrimSuffix(sentence, `"?`)
		} else if _, sentence, meant = strings.Cut(remedy, `for example, "`); meant {
			examples++
			sentence = strings.TrimSuffix(sentence, `"`)
		} else {
			t.Errorf("the remedy %q for %v shows no sentence", remedy, about)
		}
		if set, err := Parse(sentence); meant && (err != nil || set.String() != sentence) {
			t.Errorf("%q is proposed for %v: %v", sentence, about, err)
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
	t.Logf("%d proposals, %d examples", proposed, examples)
	if proposed < 60 || examples < 60 {
		t.Errorf("%d proposals and %d examples, want at least 60 of each", proposed, examples)
	}
}

// TestExamples: each is right, and prints as it stands.
func TestExamples(t *testing.T) {
	for _, s := range subjects {
		for _, r := range s.rules {
			set, err := Parse(r.example)
			if err != nil || set.String() != r.example || set[0].Rule != r.name || subjectOf(set[0].Subject).name != s.name {
				t.Errorf("%s: %v, %v", r.example, set, err)
			}
		}
	}
}

// TestSynonyms: what is meant by a wrong word is of the language.
func TestSynonyms(t *testing.T) {
	for _, s := range append(synonyms, quantities...) {
		for word := range strings.FieldsSeq(s.meant) {
			_, named := unit.Named(word)
			known := named || isKeyword(word) || slices.Contains(figures, word) || slices.Contains(kinds.Names(), word) ||
				slices.Contains([]string{",", "function", "package"}, word)
			if !known {
				t.Errorf("%q is meant by %q, and no word of the language", word, s.words)
			}
		}
	}
}

// TestMeant: what is proposed is what the author of a wrong sentence means, and
// where that is anybody's guess nothing is proposed, "".
func TestMeant(t *testing.T) {
	for wrong, meant := range map[string]string{
		"no function above 20":                               "no function above 20% cumulative",
		"x: main.f belwo 5% in main.g":                       "x: main.f below 5% cumulative in main.g",
		"allocations below 10 per request of allocs":         "",
		"alloc below 5%":                                     "",
		"memory below 5MiB for 5m":                           "heap below 5MiB for 5m",
		"memory below 64mb":                                  "heap below 64MB",
		"no function over 20%":                               "no function above 20% cumulative",
		"no functions above 20%":                             "no function above 20% cumulative",
		"portlist never":                                     "portlist absent",
		"memory steady":                                      "heap steady",
		"heap grows below 5%":                                "",
		"goroutins below 50":                                 "goroutines below 50",
		"mutex below 10ms per request":                       "",
		"main.f below 20% of mutex":                          "",
		"no function above 20% except main.*, in main.x":     "",
		"no function above 20% except a or b":                "",
		"crypto/tls below 5% where endpoint=a or tenant=b":   "",
		"crypto/tls below 5% within 5m":                      "",
		"main.f below 200ms":                                 "",
		"process below 5":                                    "process below 5 cores",
		"crypto/tls grows below 5":                           "crypto/tls grows below 5 points",
		"gc below 2,5%":                                      "",
		"heap below 64mb":                                    "heap below 64MB",
		"process below 2ms/request":                          "",
		"main.f below 5% where endpoint:/checkout":           "",
		"GC below 5%":                                        "gc below 5%",
		"goroutines leaked":                                  "no goroutine leaked",
		"heap below 64 M":                                    "heap below 64MiB",
		"process below 8k per request of allocs":             "process below 8KiB per request of allocs",
		"no function above 20% except a b":                   "",
		"no function above 20% except package runtime":       "",
		"no function above 20% of CPU time":                  "no function above 20% cumulative",
		"no function above 20% // the hot ones":              "",
		"no function must ever use more than 20% cpu":        "",
		"no function uses more than 20% of cpu":              "no function above 20% cumulative",
		"main.f must not use more than 5%":                   "",
		"main.f at most 5%":                                  "main.f below 5% cumulative",
		"no function in main.f above 20%":                    "",
		"main.f grows by more than 5 points":                 "main.f grows below 5 points",
		"main.f below 5% when process more than 0.1 cores":   "main.f below 5% cumulative when process above 0.1 cores",
		"All functions under 20 percent":                     "no function above 20% cumulative",
		"functions below 20%":                                "no function above 20% cumulative",
		"function main.work below 20%":                       "",
		"no main.work":                                       "",
		"no main.work in main.g":                             "",
		"never main.work":                                    "",
		"no process above 2 cores":                           "",
		"heap not growing":                                   "",
		"process below 500 goroutines":                       "",
		"checkout tls: portlist absent":                      "",
		"checkout : portlist absent":                         "",
		"cpu budget: process below 2 cores":                  "",
		"cpu : process below 2 cores":                        "",
		"memory budget: heap below 2GB":                      "",
		"memory below: 2GB":                                  "heap below 2GB",
		"main.work below: 5%":                                "main.work below 5% cumulative",
		"heap below: 64MiB":                                  "heap below 64MiB",
		"no function above: 20%":                             "no function above 20% cumulative",
		"main.work grows: below 5 points":                    "main.work grows below 5 points",
		"main.work absent:":                                  "main.work absent",
		"x: main.f below 0% in main.g":                       "",
		"check/out: main.f absent":                           "",
		"- main.f absent":                                    "",
		"'no function above 20%'":                            "",
		"no function above 20% except the runtime":           "",
		"main.f below 5%, goroutines below 5000":             "",
		"heap below 64MiB; gc below 5%":                      "",
		"no function above 20% no package above 30%":         "",
		"gc below 5% when heap above 1MiB and rss below 9MB": "",
		"heap must be steady":                                "heap steady",
		"goroutines below 1 000":                             "",
		"goroutines below 5,000":                             "",
		"process below 0,500 cores":                          "",
		"process below 1,500 cores":                          "",
		"process below 0 500 cores":                          "",
		"rss below 1.5 500 MiB":                              "",
		"goroutines below 5 5":                               "",
		"no memory leak":                                     "",
		"memory leaked":                                      "",
		"the heap must stay below 64MiB":                     "heap below 64MiB",
		"limit heap to 64MiB":                                "",
		"memory usage below 64MiB":                           "heap below 64MiB",
		"main.f = 0":                                         "",
		"no function above 20 %.":                            "",
		"no goroutines above 1000":                           "",
		"blocking below 10%":                                 "",
		"main.f below 5% and main.g below 5%":                "",
		"no line above 5%":                                   "",
		"main.f at least 5%":                                 "",
		"main.f not less than 5%":                            "",
		"main f below 5%":                                    "",
		"max 20% per function":                               "",
		"5% encoding/json":                                   "",
		"crypto/tls below 200m cores":                        "",
		"checkout-tls crypto/tls below 5%":                   "",
		"rss below 15 MiBs":                                  "",
		"rss below 15 Mbytes":                                "",
		"20% below encoding/json":                            "",
		"latency below 20ms per request":                     "",
		"main.f below 40us per 100 requests":                 "",
		"no function above 120%":                             "",
		"heap steady of allocs":                              "",
		"json below 5% flat cumulative":                      "",
		"heap below 64":                                      "",
		"no function above 0.2":                              "",
		"process below 500m":                                 "",
		"process below 500 mCPU":                             "",
		"process below 1500millicores":                       "",
		"process below 50%":                                  "",
		"portlist not absent":                                "",
		"crypto/tls never below 5%":                          "",
		"crypto/tls grows below 5%":                          "",
		"no function above 20% where endpoint=~/checkout.*":  "",
		"no function above 20% where status!=200":            "",
		"gc below 5% when cpu above 50%":                     "",
		"gc below 5% unless heap above 5MiB":                 "",
		"handler.go:44 absent":                               "",
		"main.f below 5% for 3":                              "",
		"fmt below 5% / request":                             "",
		"core below 2":                                       "process below 2 cores",
		"main.f below 5% in main.g, main.h":                  "",
		"main.f below 40us per request p99":                  "",
		"no function above 20% for /order":                   "",
		"crypto/tls below 5% when process above 10%":         "",
		"form above 5%":                                      "form below 5% cumulative",
		"no function above 20% of goroutine/allocs":          "",
	} {
		_, err := Parse(wrong)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("Parse(%q): %v, want a *SyntaxError", wrong, err)
			continue
		}
		proposal, _ := strings.CutPrefix(syntax.Remedy, `did you mean "`)
		if proposal = strings.TrimSuffix(proposal, `"?`); proposal == syntax.Remedy {
			proposal = ""
		}
		if proposal != meant {
			t.Errorf("Parse(%q) proposes %q, want %q\n%v", wrong, proposal, meant, err)
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
