package budget_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	. "github.com/profguard/profguard/budget"
)

// TestValidate plants each mistake that a Go literal can make, in a budget
// that is valid without it.
func TestValidate(t *testing.T) {
	each := Budget{Subject: "no function", Limit: percent(20)}
	tenant := Budget{Subject: "no tenant", Limit: percent(30)}
	tls := Budget{Subject: "crypto/tls", Limit: percent(5)}
	process := Budget{Subject: "process", Limit: Amount{1.5, "cores"}}
	heap := Budget{Subject: "heap", Limit: Amount{64, "MiB"}}
	leak := Budget{Subject: "no goroutine", Rule: "leaked"}
	absent := Budget{Subject: "portlist", Rule: "absent"}
	tests := []struct {
		name   string
		clean  Budget
		plant  func(*Budget)
		reason string // what the error must say
	}{
		{"zero", each, func(b *Budget) { *b = Budget{} }, `expected a subject`},
		{"name", each, func(b *Budget) { b.Name = "a b" }, `found "a b"`},
		{"name with a line", each, func(b *Budget) { b.Name = "a\nb" }, "a name of letters"},
		{"name with a dash first", each, func(b *Budget) { b.Name = "-a" }, "begins with a letter"},
		{"limit of nearly nothing", tls, func(b *Budget) { b.Limit = percent(5e-324) }, "above zero"},
		{"limit beyond all numbers", heap, func(b *Budget) { b.Limit = Amount{1e308, "GiB"} }, "above zero"},
		{"subject with a blank", tls, func(b *Budget) { b.Subject = "crypto tls" }, "one word"},
		{"subject with a comma", tls, func(b *Budget) { b.Subject = "a,b" }, "one word"},
		{"subject with a line", tls, func(b *Budget) { b.Subject = "/a\nb/" }, "one word"},
		{"subject that is a comment", tls, func(b *Budget) { b.Subject = "#a" }, "one word"},
		{"subject in quotes", tls, func(b *Budget) { b.Subject = `"process"` }, "leave out the quotes"},
		{"subject that is a keyword", tls, func(b *Budget) { b.Subject = "absent" }, "word of the language"},
		{"subject like a name", tls, func(b *Budget) { b.Subject = "a:" }, "found ':'"},
		{"subject with a name", tls, func(b *Budget) { b.Subject = "a:b" }, "found ':'"},
		{"subject that is no regular expression", tls, func(b *Budget) { b.Subject = "/(/" }, "missing closing )"},
		{"subject that is not closed", tls, func(b *Budget) { b.Subject = "/a" }, "one word"},
		{"subject cut by a semicolon", tls, func(b *Budget) { b.Subject = "a;b" }, "found ';'"},
		{"subject with a space that does not show", tls, func(b *Budget) { b.Subject = "port\u200blist" }, "visible characters"},
		{"exception with a soft hyphen", each, func(b *Budget) { b.Except = []string{"port\u00adlist"} }, "visible characters"},
		{"no subject of that sort", each, func(b *Budget) { b.Subject = "no method" }, `"function", "package"`},
		{"rule", each, func(b *Budget) { b.Rule = "above" }, `a Rule is ""`},
		{"rule of another subject", each, func(b *Budget) { b.Rule = "absent" }, "above or grows"},
		{"process absent", process, func(b *Budget) { b.Rule = "absent" }, "below or grows"},
		{"heap grows", heap, func(b *Budget) { b.Rule = "grows" }, `below or steady after "heap"`},
		{"gc steady", Budget{Subject: "gc", Limit: percent(5)}, func(b *Budget) { b.Rule = "steady" }, `below after "gc"`},
		{"pattern steady", tls, func(b *Budget) { b.Rule = "steady" }, "below, grows or absent"},
		{"pattern leaked", tls, func(b *Budget) { b.Rule = "leaked" }, "below, grows or absent"},
		{"goroutine not leaked", leak, func(b *Budget) { b.Rule = "" }, "leaked"},
		{"leaked with an amount", leak, func(b *Budget) { b.Limit = Amount{5, ""} }, "no amount"},
		{"absent with an amount", absent, func(b *Budget) { b.Limit = percent(5) }, "no amount"},
		{"absent flat", absent, func(b *Budget) { b.Flat = true }, `found "flat"`},
		{"absent per", absent, func(b *Budget) { b.Per = "call" }, `found "per call"`},
		{"absent except", absent, func(b *Budget) { b.Except = []string{"a"} }, `found "except a"`},
		{"no limit", each, func(b *Budget) { b.Limit = Amount{} }, "above zero"},
		{"zero limit", tls, func(b *Budget) { b.Limit = percent(0) }, "above zero"},
		{"negative", each, func(b *Budget) { b.Limit = percent(-1) }, "above zero"},
		{"NaN", each, func(b *Budget) { b.Limit = percent(math.NaN()) }, "above zero"},
		{"infinite", each, func(b *Budget) { b.Limit = percent(math.Inf(1)) }, "above zero"},
		{"100%", each, func(b *Budget) { b.Limit = percent(100) }, "less than 100%"},
		{"100 points", each, func(b *Budget) { b.Rule, b.Limit = "grows", Amount{100, "points"} }, "less than 100 points"},
		{"unit", each, func(b *Budget) { b.Limit.Unit = "percent" }, "units are"},
		{"unit that is not canonical", process, func(b *Budget) { b.Limit.Unit = "core" }, "units are"},
		{"micro sign", Budget{Subject: "process", Limit: Amount{1, "us"}, Per: "call"}, func(b *Budget) { b.Limit.Unit = "µs" }, "units are"},
		{"unit of nothing", each, func(b *Budget) { b.Limit.Unit = "parsec" }, "units are"},
		{"unit of another kind", each, func(b *Budget) { b.Kind, b.Limit = "heap", Amount{1, "cores"} }, "%, bytes or a count"},
		{"count of a share", each, func(b *Budget) { b.Limit.Unit = "" }, "%, cores or a duration"},
		{"part of a count", Budget{Subject: "goroutines", Limit: Amount{5, ""}}, func(b *Budget) { b.Limit.Value = 5.5 }, "whole number"},
		{"time without work", Budget{Subject: "process", Limit: Amount{2, "ms"}, Per: "call"}, func(b *Budget) { b.Per = "" }, "a duration per unit of work"},
		{"share with work", each, func(b *Budget) { b.Per = "call" }, `no "per" after 20%`},
		{"growth without work", Budget{Subject: "process", Rule: "grows", Limit: percent(10), Per: "call"}, func(b *Budget) { b.Per = "" }, "% per unit of work"},
		{"share of contention", each, func(b *Budget) { b.Kind = "mutex" }, "cores, a duration per unit of work or a count"},
		{"growth of contention", each, func(b *Budget) { b.Kind, b.Rule, b.Limit = "block", "grows", Amount{5, "points"} }, `a kind that has a limit for "no function grows"`},
		{"points without growth", each, func(b *Budget) { b.Limit.Unit = "points" }, "%, cores or a duration"},
		{"share of the process", process, func(b *Budget) { b.Limit = percent(50) }, "cores or a duration per unit of work"},
		{"process flat", process, func(b *Budget) { b.Flat = true }, `found "flat"`},
		{"process in", process, func(b *Budget) { b.In = "a" }, `found "in a"`},
		{"process of mutex", process, func(b *Budget) { b.Kind = "mutex" }, `a kind that has a limit for "process"`},
		{"figure flat", heap, func(b *Budget) { b.Flat = true }, `found "flat"`},
		{"figure of cpu", heap, func(b *Budget) { b.Kind = "cpu" }, `found "of cpu"`},
		{"figure where", heap, func(b *Budget) { b.Where = map[string]string{"a": "b"} }, `found "where a=b"`},
		{"steady of heap", Budget{Subject: "goroutines", Rule: "steady"}, func(b *Budget) { b.Kind = "heap" }, `found "of heap"`},
		{"work", Budget{Subject: "process", Limit: Amount{2, "ms"}, Per: "call"}, func(b *Budget) { b.Per = "a b" }, "unit of work"},
		{"work that is a keyword", Budget{Subject: "process", Limit: Amount{2, "ms"}, Per: "call"}, func(b *Budget) { b.Per = "for" }, "unit of work"},
		{"kind", each, func(b *Budget) { b.Kind = "CPU" }, `a kind of profile after "of": cpu, `},
		{"exception", each, func(b *Budget) { b.Except = []string{"a b"} }, "one word"},
		{"empty exception", each, func(b *Budget) { b.Except = []string{""} }, "leave out the empty one"},
		{"none and more", each, func(b *Budget) { b.Except = []string{"none", "a"} }, `"except none" alone`},
		{"exception that is a keyword", each, func(b *Budget) { b.Except = []string{"in"} }, "word of the language"},
		{"exception that is no value", tenant, func(b *Budget) { b.Except = []string{"two words"} }, "double quotes"},
		{"measure of values", tenant, func(b *Budget) { b.Flat = true }, "only clauses"},
		{"work of a share of values", tenant, func(b *Budget) { b.Per = "request" }, `no "per" after 30%`},
		{"by the label itself", tenant, func(b *Budget) { b.Limit, b.Per = Amount{5, "ms"}, "x by tenant" }, `leave out "by tenant"`},
		{"by nothing that a counter has", tenant, func(b *Budget) { b.Limit, b.Per, b.Subject = Amount{5, "ms"}, "x", `no "two words"` }, "by handler"},
		{"by of functions", each, func(b *Budget) { b.Limit, b.Per = Amount{5, "ms"}, "x by tenant" }, `leave out "by tenant"`},
		{"name of a label", tenant, func(b *Budget) { b.Subject = "no http.route" }, "double quotes"},
		{"kind without labels", tenant, func(b *Budget) { b.Kind = KindMutex }, "cpu or goroutine"},
		{"except after a pattern", tls, func(b *Budget) { b.Except = []string{"a"} }, `found "except a"`},
		{"in", tls, func(b *Budget) { b.In = "a, b" }, "one word"},
		{"in none", tls, func(b *Budget) { b.In = "none" }, "word of the language"},
		{"figure", each, func(b *Budget) { b.When = Condition{Figure: "cpu", Amount: percent(10)} }, `gc after "when"`},
		{"condition without a figure", each, func(b *Budget) { b.When.Below = true }, `after "when"`},
		{"condition without an amount", each, func(b *Budget) { b.When.Figure = "heap" }, "above zero"},
		{"unit of a figure", each, func(b *Budget) { b.When = Condition{Figure: "heap", Amount: percent(10)} }, "expected bytes"},
		{"range of a figure", each, func(b *Budget) { b.When = Condition{Figure: "gc", Amount: percent(100)} }, "less than 100%"},
		{"windows", each, func(b *Budget) { b.ForWindows = -1 }, "above zero"},
		{"time", each, func(b *Budget) { b.ForTime = -time.Second }, "above zero"},
		{"windows and time", each, func(b *Budget) { b.ForWindows, b.ForTime = 1, time.Second }, "set one of"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := test.clean.Validate(); err != nil {
				t.Fatalf("the clean budget is refused: %v", err)
			}
			b := test.clean
			test.plant(&b)
			err := b.Validate()
			if err == nil {
				t.Fatalf("accepted: %q", b)
			}
			if !strings.Contains(err.Error(), test.reason) {
				t.Errorf("the error does not say %q:\n%v", test.reason, err)
			}
			if set, err := Parse(b.String()); err == nil && cmp.Equal(set, Set{b}) {
				t.Errorf("Parse accepts %q", b)
			}
		})
	}
}

// TestValidateAll is about several mistakes at once.
func TestValidateAll(t *testing.T) {
	b := Budget{Name: "a b", Subject: "no function", Limit: percent(120), In: "x y", ForWindows: -1}
	err := b.Validate()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{`found "a b"`, "less than 100%", `found "in x y"`, "above zero"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}

	set := Must("gc below 5%", "a: heap below 1GiB")
	if err := set.Validate(); err != nil {
		t.Errorf("a clean set is refused: %v", err)
	}
	set = append(set, Budget{Name: "a", Subject: "heap", Rule: "steady"}, set[0], Budget{Subject: "gc"})
	err = set.Validate()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{`budget "a": expected a unique name`, "places 2 and 3", "places 1 and 4", "above zero"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}
}

// TestValidateOneMistake: a kind where none belongs is one mistake, and not two.
func TestValidateOneMistake(t *testing.T) {
	for _, b := range []Budget{
		{Subject: "heap", Limit: Amount{64, "MiB"}, Kind: "odd"},
		{Subject: "goroutines", Rule: "steady", Kind: "odd"},
	} {
		if err := b.Validate(); err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), `found "of odd"`) {
			t.Errorf("%s: want one mistake, \"of odd\": %v", b, err)
		}
	}
}

// TestUnitsOfKinds tries every unit with every subject, rule and kind: what
// Validate accepts must be what fits says, and parse back.
func TestUnitsOfKinds(t *testing.T) {
	accepted, n := 0, 0 // n is the number of combinations
	for _, subject := range []string{"no function", "no package", "main.f", "process", "goroutines", "heap", "rss", "gc", "no goroutine"} {
		for _, rule := range []string{"", "grows", "steady", "absent", "leaked"} {
			for _, kind := range []string{"", "heap", "allocs", "goroutine", "mutex", "block"} {
				for _, unit := range []string{"%", "points", "cores", "ms", "MiB", ""} {
					for _, per := range []string{"", "call"} {
						b := Budget{Subject: subject, Rule: Rule(rule), Kind: Kind(kind), Limit: Amount{12, unit}, Per: per}
						invalid := b.Validate()
						if n++; invalid != nil && n%7 != 0 { // Parse looks long for a remedy; 7 divides none of the lists
							continue
						}
						set, err := Parse(b.String())
						if (invalid == nil) != (err == nil) {
							t.Errorf("%q: Validate says %v, Parse %v", b, invalid, err)
						}
						if invalid != nil {
							continue
						}
						accepted++
						if diff := cmp.Diff(Set{b}, set); diff != "" {
							t.Errorf("%q is another budget (-want +got):\n%s", b, diff)
						}
					}
				}
			}
		}
	}
	// Counted from the table in the package documentation, so that a unit that
	// comes or goes is seen: code subjects 3 x (3+3+5+2+4+4 limits, 2+1+2+1
	// growths), points per unit of work of each function, process 2+4+1 limits, 2 growths, figures 4 limits.
	if want := 3*(21+6) + 1 + 7 + 2 + 4; accepted != want {
		t.Errorf("%d combinations are accepted, want %d", accepted, want)
	}
}

// TestFault_90_LongName: metrics, events and files carry a budget's name.
func TestFault_90_LongName(t *testing.T) {
	for n, refused := range map[int]bool{1: false, 100: false, 101: true, 100_000: true} {
		b := Budget{Name: strings.Repeat("n", n), Subject: "no function", Limit: percent(20)}
		_, parsed := Parse(b.String())
		for _, err := range []error{b.Validate(), parsed} {
			if (err != nil) != refused || err != nil && (len(err.Error()) > 1000 || !strings.Contains(err.Error(), "a name of at most 100 letters")) {
				t.Errorf("%d letters: %v", n, err)
			}
		}
	}
}
