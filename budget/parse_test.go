package budget_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	. "github.com/profguard/profguard/budget"
)

// A form is a sentence, the value it stands for, and how that prints; "" is
// the sentence itself.
type form struct {
	text  string
	want  Budget
	print string
}

func percent(v float64) Amount { return Amount{v, "%"} }

func forms() []form {
	each := Budget{Subject: "no function", Limit: percent(20)}
	tls := Budget{Subject: "crypto/tls", Limit: percent(5)}
	with := func(b Budget, change func(*Budget)) Budget {
		change(&b)
		return b
	}
	return []form{
		// The sentences of the design, one by one.
		{"no function above 20% cumulative", each, ""},
		{"no function above 5% flat except runtime/..., encoding/json",
			Budget{Subject: "no function", Limit: percent(5), Flat: true, Except: []string{"runtime/...", "encoding/json"}}, ""},
		{"no package above 30% flat", Budget{Subject: "no package", Limit: percent(30), Flat: true}, ""},
		{"portlist absent                                  # package, path or function, by whole names",
			Budget{Subject: "portlist", Rule: "absent"}, "portlist absent"},
		{"fmt.Println absent in main.(*Server).ServeHTTP   # only on paths through that function",
			Budget{Subject: "fmt.Println", Rule: "absent", In: "main.(*Server).ServeHTTP"}, "fmt.Println absent in main.(*Server).ServeHTTP"},
		{"crypto/tls.(*Conn).Handshake below 5% cumulative", Budget{Subject: "crypto/tls.(*Conn).Handshake", Limit: percent(5)}, ""},
		{"crypto/tls below 0.2 cores", Budget{Subject: "crypto/tls", Limit: Amount{0.2, "cores"}}, ""},
		{"encoding/json below 40us per request", Budget{Subject: "encoding/json", Limit: Amount{40, "us"}, Per: "request"}, ""},
		{"process below 1.5 cores", Budget{Subject: "process", Limit: Amount{1.5, "cores"}}, ""},
		{"process below 2ms per request", Budget{Subject: "process", Limit: Amount{2, "ms"}, Per: "request"}, ""},
		{"no function above 20% where endpoint=/checkout   # pprof labels",
			with(each, func(b *Budget) { b.Where = map[string]string{"endpoint": "/checkout"} }),
			"no function above 20% cumulative where endpoint=/checkout"},
		{"no function above 64MiB of heap", Budget{Subject: "no function", Limit: Amount{64, "MiB"}, Kind: "heap"}, ""},
		{"no function above 10% of allocs when process above 0.1 cores",
			Budget{Subject: "no function", Limit: percent(10), Kind: "allocs", When: Condition{Figure: "process", Amount: Amount{0.1, "cores"}}},
			"no function above 10% cumulative of allocs when process above 0.1 cores"},
		{"no function above 500 of goroutine", Budget{Subject: "no function", Limit: Amount{500, ""}, Kind: "goroutine"}, ""},
		{"no function above 0.1 cores of mutex", Budget{Subject: "no function", Limit: Amount{0.1, "cores"}, Kind: "mutex"}, ""},
		{"sync below 0.1 cores flat of block", Budget{Subject: "sync", Limit: Amount{0.1, "cores"}, Flat: true, Kind: "block"}, ""},
		{"goroutines below 5000", Budget{Subject: "goroutines", Limit: Amount{5000, ""}}, ""},
		{"heap below 64MiB", Budget{Subject: "heap", Limit: Amount{64, "MiB"}}, ""},
		{"rss below 15MiB", Budget{Subject: "rss", Limit: Amount{15, "MiB"}}, ""},
		{"gc below 5%", Budget{Subject: "gc", Limit: percent(5)}, ""},
		{"goroutines steady", Budget{Subject: "goroutines", Rule: "steady"}, ""},
		{"heap steady", Budget{Subject: "heap", Rule: "steady"}, ""},
		{"no goroutine leaked                                                            # where the runtime has the profile",
			Budget{Subject: "no goroutine", Rule: "leaked"}, "no goroutine leaked"},
		{"no function grows above 5 points                                               # against the baseline",
			Budget{Subject: "no function", Rule: "grows", Limit: Amount{5, "points"}}, "no function grows above 5 points"},
		{"process grows below 10% per request                                            # against the baseline",
			Budget{Subject: "process", Rule: "grows", Limit: percent(10), Per: "request"}, "process grows below 10% per request"},
		{"checkout-tls: crypto/tls below 5% for 3 windows                                # a name, and how long before it fires",
			with(tls, func(b *Budget) { b.Name, b.ForWindows = "checkout-tls", 3 }),
			"checkout-tls: crypto/tls below 5% cumulative for 3 windows"},

		// Subjects and patterns.
		{"(*Poller).Poll below 5% flat", Budget{Subject: "(*Poller).Poll", Limit: percent(5), Flat: true}, ""},
		{"/a b, c#d\\/e/ absent", Budget{Subject: "/a b, c#d\\/e/", Rule: "absent"}, ""},
		{"main.Map[go.shape.struct { A int }] absent", Budget{Subject: "main.Map[go.shape.struct { A int }]", Rule: "absent"}, ""},
		{"größe absent", Budget{Subject: "größe", Rule: "absent"}, ""},
		{"container/heap absent", Budget{Subject: "container/heap", Rule: "absent"}, ""},
		{`"type:.eq.main.T" absent`, Budget{Subject: `"type:.eq.main.T"`, Rule: "absent"}, ""},
		{"no: portlist absent", Budget{Name: "no", Subject: "portlist", Rule: "absent"}, ""},
		{"a.b_c-9:\tportlist\u00a0absent", Budget{Name: "a.b_c-9", Subject: "portlist", Rule: "absent"}, "a.b_c-9: portlist absent"},
		{"\ufeffportlist absent", Budget{Subject: "portlist", Rule: "absent"}, "portlist absent"},
		{"größe.日本 absent # \u200b", Budget{Subject: "größe.日本", Rule: "absent"}, "größe.日本 absent"},
		{`/a\x{200B}/ absent`, Budget{Subject: `/a\x{200B}/`, Rule: "absent"}, `/a\x{200B}/ absent`},
		{"portlist absent where mood=\"\u2764\ufe0f\"", Budget{Subject: "portlist", Rule: "absent", Where: map[string]string{"mood": "\u2764\ufe0f"}}, "portlist absent where mood=\u2764\ufe0f"},
		{"portlist absent where k=\"a\u200bb\"", Budget{Subject: "portlist", Rule: "absent", Where: map[string]string{"k": "a\u200bb"}}, `portlist absent where k="a\u200bb"`},

		// Rules.
		{"crypto/tls grows below 1 point", Budget{Subject: "crypto/tls", Rule: "grows", Limit: Amount{1, "points"}}, ""},
		{"crypto/tls grows below 1 points of heap", Budget{Subject: "crypto/tls", Rule: "grows", Limit: Amount{1, "points"}, Kind: "heap"},
			"crypto/tls grows below 1 point of heap"},
		{"no package grows above 150% per request", Budget{Subject: "no package", Rule: "grows", Limit: percent(150), Per: "request"},
			"no package grows above 150% cumulative per request"},
		{"process grows below 10% per request of allocs", Budget{Subject: "process", Rule: "grows", Limit: percent(10), Per: "request", Kind: "allocs"}, ""},
		{"encoding/gob absent of allocs", Budget{Subject: "encoding/gob", Rule: "absent", Kind: "allocs"}, ""},

		// Amounts.
		{"crypto/tls below 5 %", tls, "crypto/tls below 5% cumulative"},
		{"crypto/tls below 5.0% of cpu", tls, "crypto/tls below 5% cumulative"},
		{"crypto/tls below .5%", with(tls, func(b *Budget) { b.Limit.Value = 0.5 }), "crypto/tls below 0.5% cumulative"},
		{"f below 40µs per call", Budget{Subject: "f", Limit: Amount{40, "us"}, Per: "call"}, "f below 40us per call"},
		{"f below 40 μs per call", Budget{Subject: "f", Limit: Amount{40, "us"}, Per: "call"}, "f below 40us per call"},
		{"f below 1s flat per call of mutex", Budget{Subject: "f", Limit: Amount{1, "s"}, Flat: true, Per: "call", Kind: "mutex"}, ""},
		{"f below 0.5 per call of block", Budget{Subject: "f", Limit: Amount{0.5, ""}, Per: "call", Kind: "block"}, ""},
		{"f below 1000 of mutex", Budget{Subject: "f", Limit: Amount{1000, ""}, Kind: "mutex"}, ""},
		{"f below 10 GB of allocs", Budget{Subject: "f", Limit: Amount{10, "GB"}, Kind: "allocs"}, "f below 10GB of allocs"},
		{"f below 12KiB of allocs per call", Budget{Subject: "f", Limit: Amount{12, "KiB"}, Per: "call", Kind: "allocs"}, "f below 12KiB per call of allocs"},
		{"f below 10% of goroutine", with(Budget{Subject: "f", Limit: percent(10)}, func(b *Budget) { b.Kind = "goroutine" }), "f below 10% cumulative of goroutine"},
		{"process below 64MiB of heap", Budget{Subject: "process", Limit: Amount{64, "MiB"}, Kind: "heap"}, ""},
		{"process below 1000000 of allocs", Budget{Subject: "process", Limit: Amount{1e6, ""}, Kind: "allocs"}, ""},
		{"process below 12.5 per request of allocs", Budget{Subject: "process", Limit: Amount{12.5, ""}, Per: "request", Kind: "allocs"}, ""},

		// Clauses, in any order.
		{"no function above 20% except none", with(each, func(b *Budget) { b.Except = []string{"none"} }), "no function above 20% cumulative except none"},
		{"no function above 20% except a ,b", with(each, func(b *Budget) { b.Except = []string{"a", "b"} }), "no function above 20% cumulative except a, b"},
		{"crypto/tls below 5% for 1h30m in main.f", with(tls, func(b *Budget) { b.In, b.ForTime = "main.f", 90*time.Minute }),
			"crypto/tls below 5% cumulative in main.f for 1h30m"},
		{"gc below 5% for 300s", Budget{Subject: "gc", Limit: percent(5), ForTime: 5 * time.Minute}, "gc below 5% for 5m"},
		{"gc below 5% for 1h", Budget{Subject: "gc", Limit: percent(5), ForTime: time.Hour}, ""},
		{"gc below 5% for 1.5s", Budget{Subject: "gc", Limit: percent(5), ForTime: 1500 * time.Millisecond}, ""},
		{"gc below 5% for 1 windows", Budget{Subject: "gc", Limit: percent(5), ForWindows: 1}, "gc below 5% for 1 window"},
		{"gc below 5% when gc below 1%", Budget{Subject: "gc", Limit: percent(5), When: Condition{Figure: "gc", Below: true, Amount: percent(1)}}, ""},
		{"gc below 5% when goroutines above 100 for 3 windows",
			Budget{Subject: "gc", Limit: percent(5), When: Condition{Figure: "goroutines", Amount: Amount{100, ""}}, ForWindows: 3}, ""},
		{`crypto/tls below 5% where b = "x, y # \"z\"" , a=/q?r=s in f`,
			with(tls, func(b *Budget) { b.In, b.Where = "f", map[string]string{"a": "/q?r=s", "b": `x, y # "z"`} }),
			`crypto/tls below 5% cumulative in f where a=/q?r=s, b="x, y # \"z\""`},
		{`crypto/tls below 5% where "a key"="", none=in`,
			with(tls, func(b *Budget) { b.Where = map[string]string{"a key": "", "none": "in"} }),
			`crypto/tls below 5% cumulative where "a key"="", none=in`},
		{"process below 1 cores where tenant=a when heap above 1GiB for 2m",
			Budget{Subject: "process", Limit: Amount{1, "cores"}, Where: map[string]string{"tenant": "a"},
				When: Condition{Figure: "heap", Amount: Amount{1, "GiB"}}, ForTime: 2 * time.Minute},
			"process below 1 core where tenant=a when heap above 1GiB for 2m"},
		{"no goroutine leaked when goroutines above 10 for 2 windows",
			Budget{Subject: "no goroutine", Rule: "leaked", When: Condition{Figure: "goroutines", Amount: Amount{10, ""}}, ForWindows: 2}, ""},
	}
}

func TestParse(t *testing.T) {
	for _, f := range forms() {
		t.Run(f.text, func(t *testing.T) {
			set, err := Parse(f.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(Set{f.want}, set); diff != "" {
				t.Errorf("wrong value (-want +got):\n%s", diff)
			}
			want := f.print
			if want == "" {
				want = f.text
			}
			if got := set.String(); got != want {
				t.Errorf("prints as %q, want %q", got, want)
			}
			again, err := Parse(want)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(set, again); diff != "" {
				t.Errorf("the printed form is another budget (-want +got):\n%s", diff)
			}
			if err := set.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestParseLines(t *testing.T) {
	text := "\ufeff# the service's budgets\r\n\r\nno function above 20%\r\n   # indented\r\n\tportlist absent # why\r\n   \n/a#b/ absent"
	set, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	want := "no function above 20% cumulative\nportlist absent\n/a#b/ absent"
	if got := set.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, text := range []string{"", "\n\n", "# nothing", "\ufeff", " \t\r\n"} {
		if set, err := Parse(text); err != nil || len(set) != 0 {
			t.Errorf("Parse(%q) = %v, %v, want nothing", text, set, err)
		}
	}
}

// The remedy for a second budget of the same name is no sentence, which would be the same again.
func TestTakenName(t *testing.T) {
	for _, text := range []string{"gc below 5%\ngc below 5%", "processor below 1 core\nprocessor below 1 core", "a: processor below 1 core\na: processor below 2 cores"} {
		_, err := Parse(text)
		var wrong *SyntaxError
		if want := "line 1 has this one already: rename one, or remove it"; !errors.As(err, &wrong) || wrong.Remedy != want {
			t.Errorf("%q: %v, want the remedy %q", text, err, want)
		}
	}
}

// TestParseErrors is about the texts of which several lines are wrong.
func TestParseErrors(t *testing.T) {
	tests := []struct {
		name, text   string
		lines        []int // of the errors
		line, column int   // of the first
		word         string
	}{
		{"one", "portlist absent\ncrypto/tls above 5%\n", []int{2}, 2, 12, "above"},
		{"several", "portlist absnt\r\ngc below 5%\r\n\r\n  heap below 5%\r\n", []int{1, 4}, 1, 10, "absnt"},
		{"name twice", "a: portlist absent\n a: gc below 5%", []int{2}, 2, 2, "a:"},
		{"sentence twice", "gc below 5%\ngc below  5 % # again", []int{2}, 2, 1, "gc below  5 %"},
		{"name twice after a mistake", "a: portlist absnt\na: gc below 5%", []int{1}, 1, 13, "absnt"},
		{"carriage return", "gc below\r\n", []int{1}, 1, 9, ""},
		{"end before a comment", "gc below   # 5%", []int{1}, 1, 9, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			set, err := Parse(test.text)
			if set != nil {
				t.Errorf("got the set %v beside the error", set)
			}
			var first *SyntaxError
			if !errors.As(err, &first) {
				t.Fatalf("got %v, want a *SyntaxError", err)
			}
			if first.Line != test.line || first.Column != test.column || first.Word != test.word {
				t.Errorf("the first error is at line %d, column %d, %q, want line %d, column %d, %q",
					first.Line, first.Column, first.Word, test.line, test.column, test.word)
			}
			if strings.Contains(first.Text, "\r") {
				t.Errorf("the line %q ends with a carriage return", first.Text)
			}
			errs := []error{err}
			if joined, ok := err.(interface{ Unwrap() []error }); ok {
				errs = joined.Unwrap()
			}
			var lines []int
			for _, err := range errs {
				lines = append(lines, err.(*SyntaxError).Line)
			}
			if diff := cmp.Diff(test.lines, lines); diff != "" {
				t.Errorf("wrong lines (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseManyErrors(t *testing.T) {
	_, err := Parse(strings.Repeat("what is this\n", 1000))
	text := err.Error()
	if got := strings.Count(text, "parse budget: line "); got != MostErrors {
		t.Errorf("%d lines are reported, want %d", got, MostErrors)
	}
	if want := "parse budget: the text after line 20 was not read"; !strings.HasSuffix(text, want) {
		t.Errorf("the error does not end with %q:\n%s", want, text)
	}
}

// A text without budgets is an empty set: nil would be the default budgets to a
// guard.
func TestParseNothing(t *testing.T) {
	for _, text := range []string{"", "\n", "# nothing yet", "\t\n # a\n\n"} {
		set, err := Parse(text)
		if set == nil || len(set) != 0 || err != nil {
			t.Errorf("Parse(%q) = %#v, %v, want an empty set", text, set, err)
		}
	}
	if set := Must(); set == nil {
		t.Error("Must() is nil")
	}
}

func TestMust(t *testing.T) {
	if got, want := Must("gc below 5%", "portlist absent").String(), "gc below 5%\nportlist absent"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	defer func() {
		text, _ := recover().(string)
		if !strings.HasPrefix(text, "budget.Must: parse budget: line 2, column 10:") {
			t.Errorf("the panic says %q", text)
		}
	}()
	Must("gc below 5%", "portlist above 5%")
	t.Error("no panic")
}

// A unit of work may be a counter with labels, which hold blanks and commas.
func TestPerCounter(t *testing.T) {
	for _, sentence := range []string{
		"process below 2ms per http_requests_total",
		`process below 2ms per http_requests_total{code="200"}`,
		`x: encoding/json below 12KiB per requests_total{code="200", path="/a b"} of allocs for 3 windows`,
		`process below 2ms per jobs_total{size="[0,10)"} for 3 windows`, `process below 1ms per r{p="a} b", q="\"{"}`,
	} {
		set, err := Parse(sentence + " # a comment")
		if err != nil {
			t.Errorf("%s: %v", sentence, err)
			continue
		}
		if got := set.String(); got != sentence+"\n" && got != sentence {
			t.Errorf("%s is read as %s", sentence, got)
		}
	}
	for _, sentence := range []string{
		"process below 2ms per requests_total{", "process below 2ms per requests_total{}", "process below 2ms per requests_total{code=200}",
		"process below 2ms per {code=\"200\"}", "process below 2ms per requests_total {code=\"200\"}",
	} {
		if set, err := Parse(sentence); err == nil {
			t.Errorf("%s is read as %s, want an error", sentence, set)
		}
	}
}
