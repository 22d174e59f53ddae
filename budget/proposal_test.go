package budget

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestProposals holds messages against what the authors of wrong sentences mean:
// the remedy names it, and it is accepted.
func TestProposals(t *testing.T) {
	tests := []struct {
		wrong  string
		remedy string // part of it
		right  string // the sentence that follows the remedy
	}{
		// Labels have exact values.
		{"no function above 20% where endpoint=~/checkout.*", `"where endpoint=/checkout"`, "no function above 20% cumulative where endpoint=/checkout"},
		{"no function above 20% where status!=200", "compared for equality", "no function above 20% cumulative where status=500"},
		{"no function above 20% where status>400", "compared for equality", "no function above 20% cumulative where status=500"},
		{"no function above 20% where endpoint:/checkout", `"endpoint=/checkout"`, "no function above 20% cumulative where endpoint=/checkout"},

		// Quantities are no subjects.
		{"allocations below 10 per request", `"process below 10 per request of allocs"`, "process below 10 per request of allocs"},
		{"allocations below 10 per request of allocs", `"process below 10 per request of allocs"`, "process below 10 per request of allocs"},
		{"alloc below 5%", `"no function above 5% cumulative of allocs"`, "no function above 5% cumulative of allocs"},
		{"allocs grows below 10% per call", `"process grows below 10% per call of allocs"`, "process grows below 10% per call of allocs"},
		{"processes below 1 core", `"process below 1 core"`, "process below 1 core"},
		{"processes below 150%", `"process below 1.5 cores"`, "process below 1.5 cores"},
		{"heaps below 5 cores", `"heap below 64MiB"`, "heap below 64MiB"},
		{"heaps below 5MiB", `"heap below 5MiB"`, "heap below 5MiB"},
		{"mem below 10%", `"no function above 10% cumulative of heap"`, "no function above 10% cumulative of heap"},
		{"memory below 5MiB", `"heap below 5MiB"`, "heap below 5MiB"},
		{"memory steady", `"heap steady"`, "heap steady"},
		{"mem below 5KiB per call", `"process below 5KiB per call of allocs"`, "process below 5KiB per call of allocs"},
		{"goroutins below 50", `"goroutines below 50"`, "goroutines below 50"},
		{"cpu below 10ms per call", `"process below 10ms per call"`, "process below 10ms per call"},
		{"mutex below 10ms per request", `"no function above 10ms per request of mutex"`, "no function above 10ms per request of mutex"},
		{"block below 10ms", `"no function above 10ms per request of block"`, "no function above 10ms per request of block"},
		{"process below 200%", `"2 cores"`, "process below 2 cores"},

		// Conditions.
		{"no function above 20% unless idle", `"when process above 0.1 cores"`, "no function above 20% cumulative when process above 0.1 cores"},
		{"no function above 20% except idle", `"when process above 0.1 cores"`, "no function above 20% cumulative when process above 0.1 cores"},
		{"no function above 20% unless heap above 5MiB", `"when heap below"`, "no function above 20% cumulative when heap below 5MiB"},
		{"no function above 20% unless runtime/...", `"except"`, "no function above 20% cumulative except runtime/..."},
		{"no function above 20% when rps above 100", `"when process above 0.1 cores"`, "no function above 20% cumulative when process above 0.1 cores"},

		{"gc below 5% when cpu above 50%", `"when process above 0.5 cores"`, "gc below 5% when process above 0.5 cores"},
		{"gc below 5% when load below 2 cores", `"when process below 2 cores"`, "gc below 5% when process below 2 cores"},
		{"gc below 5% when cpu above 5MiB", `"when process above 0.1 cores"`, "gc below 5% when process above 0.1 cores"},

		// Nothing of a kind.
		{"no allocs above 10%", `"no function above 10% cumulative of allocs"`, "no function above 10% cumulative of allocs"},
		{"no mutex above 10ms per request", `"no function above 10ms per request of mutex"`, "no function above 10ms per request of mutex"},
		{"no allocs", "main.work absent of allocs", "main.work absent of allocs"},
		{"no leaks", `"no goroutine leaked"`, "no goroutine leaked"},
		{"no leak above 5", `"no goroutine leaked"`, "no goroutine leaked"},

		// Growth and leaks.
		{"goroutine leaks absent", `"no goroutine leaked"`, "no goroutine leaked"},
		{"goroutines don’t leak", `"no goroutine leaked"`, "no goroutine leaked"},
		{"heap does not grow", `"heap steady"`, "heap steady"},
		{"heap must not leak", `"heap steady"`, "heap steady"},
		{"gc does not grow", `"gc below 5%"`, "gc below 5%"},
		{"portlist does not grow", `"portlist grows below 5 points"`, "portlist grows below 5 points"},
		{"heap may not exceed 5MiB", `"below"`, "heap below 5MiB"},

		// Profiles have no percentiles, and no latency.
		{"main.order below 5ms p99", `"main.order below 5ms per request"`, "main.order below 5ms per request"},
		{"main.order below 5ms p99.9 for 3 windows", `"main.order below 5ms per request for 3 windows"`, "main.order below 5ms per request for 3 windows"},
		{"main.order below 5ms per call on average", `"main.order below 5ms per call"`, "main.order below 5ms per call"},
		{"main.order below 10KiB mean of allocs", `"main.order below 10KiB of allocs"`, "main.order below 10KiB of allocs"},
		{"x: main.order p50 below 5ms in main.f", `"x: main.order below 5ms per request in main.f"`, "x: main.order below 5ms per request in main.f"},
		{"main.order latency below 5%", `"main.order below 5% cumulative"`, "main.order below 5% cumulative"},
		{"main.order below 200ms", "CPU time, not latency", "main.order below 200ms per request"},
		{"main.order below 200ms", `in a test the unit of work is "per call"`, "main.order below 200ms per call"},

		// What amounts are of.
		{"allocs below 10MB per second", `no rate per second, only an amount in the window or per unit of work: did you mean "process below 10MB per request of allocs"`, "process below 10MB per request of allocs"},
		{"mem below 10MB per second", "no rate per second", "process below 10MB per request of allocs"},
		{"process below 10MB per second of allocs", `"process below 10MB per request of allocs"`, "process below 10MB per request of allocs"},
		{"main.order below 500 per minute", `"process below 500 per request of allocs"`, "process below 500 per request of allocs"},
		{"process below 10ms per second", `"process below 1.5 cores"`, "process below 1.5 cores"},
		{"cpu below 50%", `taking one core as 100%, did you mean "process below 0.5 cores"`, "process below 0.5 cores"},
		{"process below 50%", `taking one core as 100%, did you mean "0.5 cores"`, "process below 0.5 cores"},
		{"gc below 5% when cpu above 50%", "taking one core as 100%", "gc below 5% when process above 0.5 cores"},

		// Clauses where they are not.
		{"fmt.Printf absent except main.main", `"fmt.Printf absent in main.handler"`, "fmt.Printf absent in main.handler"},
		{"fmt.Printf below 5% flat of cpu except main.main for 3 windows", `"fmt.Printf below 5% flat in main.handler"`, "fmt.Printf below 5% flat in main.handler for 3 windows"},
		{"process of allocs below 1KiB per call", `"process below 1KiB per call of allocs"`, "process below 1KiB per call of allocs"},
		{"x: process of heap below 1 MiB when gc above 5%", `"x: process below 1MiB of heap when gc above 5%"`, "x: process below 1MiB of heap when gc above 5%"},
		{"process per call grows below 10%", `"process grows below 10% per call"`, "process grows below 10% per call"},
		{"main.f where a=b below 5% flat", `"main.f below 5% flat where a=b"`, "main.f below 5% flat where a=b"},

		// Kinds and names in front of the rule, and units as they are written elsewhere.
		{"allocs below 10KB per request", `"process below 10kB per request of allocs"`, "process below 10kB per request of allocs"},
		{"memory below 10mb", `"heap below 10MB"`, "heap below 10MB"},
		{"process allocs below 10KiB per request", `did you mean "process below 10KiB per request of allocs"?`, "process below 10KiB per request of allocs"},
		{"x: process allocs below 10KB per call", `"x: process below 10kB per call of allocs"`, "x: process below 10kB per call of allocs"},
		{"main.f allocs below 10KiB per call for 3 windows", `"main.f below 10KiB per call of allocs for 3 windows"`, "main.f below 10KiB per call of allocs for 3 windows"},
		{"no function allocs above 5%", `"no function above 5% cumulative of allocs"`, "no function above 5% cumulative of allocs"},
		{"heap allocs below 10KB per request", `"process below 10kB per request of allocs"`, "process below 10kB per request of allocs"},
		{"process memory below 64MiB", `"process below 64MiB of heap"`, "process below 64MiB of heap"},
		{"process cpu below 80%", `taking one core as 100%, did you mean "process below 0.8 cores"`, "process below 0.8 cores"},
		{"process cpu grows below 10% per call", `"process grows below 10% per call"`, "process grows below 10% per call"},
		{"order process below 2ms per request", `did you mean "order: process below 2ms per request"?`, "order: process below 2ms per request"},
		{"order json.Marshal below 5%", `"order: json.Marshal below 5% cumulative"`, "order: json.Marshal below 5% cumulative"},
		{"order no function above 20%", `"order: no function above 20% cumulative"`, "order: no function above 20% cumulative"},
		{"order heap below 5MiB", `"order: heap below 5MiB" or "order below 5MiB of heap"`, "order: heap below 5MiB"},

		// Cores.
		{"cores below 1.5", `did you mean "process below 1.5 cores"?`, "process below 1.5 cores"},
		{"x: core below 2 for 3 windows", `"x: process below 2 cores for 3 windows"`, "x: process below 2 cores for 3 windows"},
		{"cores below 2 in main.f", `"process below 2 cores"`, "process below 2 cores"},
		{"process below 80% cpu", `taking one core as 100%, did you mean "process below 0.8 cores"`, "process below 0.8 cores"},
		{"x: process below 80 % CPU for 3 windows", `"x: process below 0.8 cores for 3 windows"`, "x: process below 0.8 cores for 3 windows"},
		{"x: process below 80% cpu usage", `"x: process below 0.8 cores"`, "x: process below 0.8 cores"},

		// Commas in front of clauses.
		{"no function above 20% except main.*, in main.x", "leave out the comma", "no function above 20% cumulative except main.* in main.x"},
		{"no function above 20% except main.*, for 3 times", "leave out the comma", "no function above 20% cumulative except main.* for 3 windows"},
		{"no function above 20% except main.*, of allocs", "leave out the comma", "no function above 20% cumulative of allocs except main.*"},
		{"no function above 20% except main.*, of runtime", `leave out "of"`, "no function above 20% cumulative except main.*, runtime"},
		{"main.f below 5% in main.x, for 3 windows", "leave out the comma", "main.f below 5% cumulative in main.x for 3 windows"},
		{"main.f below 5% in main.x, main.y", "regular expression", "main.f below 5% cumulative in /main.x|main.y/"},
		{"main.f below 5% where a=b, in main.x", "leave out the comma", "main.f below 5% cumulative in main.x where a=b"},

		// What is done, and where.
		{"no function above 20% for /order", `"where endpoint=/order" or "in main.handler"`, "no function above 20% cumulative where endpoint=/order"},
		{"no function above 20% for /order/, x", `"where endpoint=/order/"`, "no function above 20% cumulative where endpoint=/order/"},
		{"json.Marshal below 5% for GET /order", `"for" says how long; what is done is a label or a function on the way`, "json.Marshal below 5% cumulative in main.handler"},
		{`main.f below 5% for post /a\b for 3 windows`, `"where endpoint=/order"`, "main.f below 5% cumulative where endpoint=/order for 3 windows"},
		{"fmt.Println below 5% in handleOrder of main", `did you mean "in main.handleOrder"?`, "fmt.Println below 5% cumulative in main.handleOrder"},
		{"fmt.Println below 5% in main.handleOrder of the main package", `"in main.handleOrder"`, "fmt.Println below 5% cumulative in main.handleOrder"},
		{"fmt.Println below 5% in handleOrder of allocs", "move it forward", "fmt.Println below 5% cumulative of allocs in handleOrder"},

		// Words and signs too many.
		{"no function above 20% except for runtime", `leave out "for"`, "no function above 20% cumulative except runtime"},
		{"process below 2 ms / request", `"2ms per request"`, "process below 2ms per request"},
		{"process below 10mb/call", `"10MB per call" or "10MiB per call"`, "process below 10MB per call of allocs"},
		{"process below 10 allocs / call", `"process below 10 per call of allocs"`, "process below 10 per call of allocs"},
		{"fmt below 5% / request", `leave "per" out`, "fmt below 5% cumulative"},
		{"process below 2 cores / second", "cores", "process below 2 cores"},
		{"A below 5%, fmt below 3%", "one budget a line", "fmt below 3% cumulative"},
		{"A below 5%, b: fmt below 3%", "one budget a line", "b: fmt below 3% cumulative"},
		{"A below 5%, flat", "leave out the comma", "A below 5% flat"},
		{"GET /order: fmt below 3%", `"GET-order:"`, "GET-order: fmt below 3% cumulative"},
		{"POST /a/{id}: fmt below 3%", `"POST-a-id:"`, "POST-a-id: fmt below 3% cumulative"},
	}
	for _, c := range tests {
		t.Run(c.wrong, func(t *testing.T) {
			_, err := Parse(c.wrong)
			var syntax *SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("the error is %v, want a *SyntaxError", err)
			}
			if !strings.Contains(syntax.Remedy, c.remedy) {
				t.Errorf("the remedy %q lacks %q", syntax.Remedy, c.remedy)
			}
			set, err := Parse(c.right)
			if err != nil {
				t.Fatal(err)
			}
			if got := set.String(); got != c.right {
				t.Errorf("%q prints as %q", c.right, got)
			}
		})
	}
}

// TestAccepted parses the clean twins: what looks like the mistakes above, and
// means what it says.
func TestAccepted(t *testing.T) {
	for _, sentence := range []string{
		"no function above 20% cumulative where endpoint=/checkout/*",
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
		"no function above 5% cumulative except main.main",
		"core below 5% cumulative",
		"cores below 3 of goroutine",
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

// TestQuantityRemedies tries every quantity with every rule, unit and unit of
// work: what is proposed must be accepted.
func TestQuantityRemedies(t *testing.T) {
	words := []string{"cpu", "p99", "latency", "threads", "goroutine", "goroutins", "allocs", "allocations", "mutex", "contentions", "block", "mem", "heaps", "leaks", "garbage", "processes", "PROCESS", "Rss"}
	for _, word := range words {
		for _, rule := range []string{"below", "grows below", "steady", "absent", "leaked", "under"} {
			for _, limit := range []string{"", "5%", "250%", "0%", "5 points", "2 cores", "3ms", "64MiB", "500", "0.5"} {
				for _, per := range []string{"", "per call", "per second", "per of"} {
					sentence := strings.Join(strings.Fields(word+" "+rule+" "+limit+" "+per), " ")
					_, err := Parse(sentence)
					var syntax *SyntaxError
					if !errors.As(err, &syntax) {
						t.Fatalf("Parse(%q): %v, want a *SyntaxError", sentence, err)
					}
					_, after, ok := strings.Cut(syntax.Remedy, `did you mean "`)
					proposal, _, _ := strings.Cut(after, `"`)
					if classOf(proposal) == classProcess || classOf(proposal) == classFigure {
						continue // but for the capitals
					}
					if _, err := Parse(proposal); !ok || err != nil {
						t.Errorf("Parse(%q) proposes %q: %v", sentence, proposal, err)
					}
				}
			}
		}
	}
}
