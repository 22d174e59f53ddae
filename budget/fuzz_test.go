package budget_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/profguard/profguard/budget"
)

// FuzzParse holds what is promised for every text: no panic, an error that is a
// SyntaxError with a place in the text, or budgets that print and parse back.
func FuzzParse(f *testing.F) {
	for _, form := range forms() {
		f.Add(form.text)
	}
	wrong, err := os.ReadFile("testdata/wrong.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.SplitSeq(string(wrong), "\n") {
		if sentence, ok := strings.CutPrefix(line, "> "); ok {
			f.Add(sentence)
		}
	}
	f.Add("a: gc below 5%\na: gc below 6%\n\nx")
	f.Fuzz(func(t *testing.T, text string) {
		set, err := Parse(text)
		if err != nil {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("the error is a %T", err)
			}
			if syntax.Line < 1 || syntax.Column < 1 || syntax.Column > len(syntax.Text)+1 || !strings.Contains(syntax.Text, syntax.Word) {
				t.Errorf("the place makes no sense: %#v", syntax)
			}
			if syntax.Expected == "" || syntax.Remedy == "" {
				t.Errorf("nothing to go by: %#v", syntax)
			}
			if strings.ContainsAny(syntax.Remedy+syntax.Expected, "\n") {
				t.Errorf("more than a line: %#v", syntax)
			}
			_ = err.Error()
			return
		}
		if err := set.Validate(); err != nil {
			t.Errorf("Parse accepts what Validate refuses: %v", err)
		}
		printed := set.String()
		again, err := Parse(printed)
		if err != nil {
			t.Fatalf("the printed form %q is refused: %v", printed, err)
		}
		if diff := cmp.Diff(set, again); diff != "" {
			t.Errorf("the printed form %q is another set (-want +got):\n%s", printed, diff)
		}
		if twice := again.String(); twice != printed {
			t.Errorf("%q prints as %q", printed, twice)
		}
	})
}

// FuzzBudget assembles values that no sentence may reach: what Validate accepts
// must print as a sentence that means the same.
func FuzzBudget(f *testing.F) {
	f.Add("", "no function", "", 20.0, "%", false, "", "", "", "", "", "", 0)
	f.Add("n", "crypto/tls", "grows", 5.0, "points", true, "", "heap", "", "main.f", "k", "v", 3)
	f.Add("n", "no function", "", 5.0, "ms", true, "request", "", "runtime/...", "main.f", "k", "v w", 3)
	f.Add("", "process", "", 5.5, "", true, "request", "allocs", "", "", "", "\x00\xff", 0)
	f.Fuzz(func(t *testing.T, name, subject, rule string, value float64, unit string, flat bool, per, kind, except, in, key, label string, windows int) {
		b := Budget{Name: name, Subject: subject, Rule: Rule(rule), Limit: Amount{value, unit}, Flat: flat, Per: per, Kind: Kind(kind), In: in, ForWindows: windows}
		if except != "" {
			b.Except = []string{except, "b"}
		}
		if key != "" {
			b.Where = map[string]string{key: label}
		}
		printed := b.String()
		if err := b.Validate(); err != nil {
			if set, err := Parse(printed); err == nil && cmp.Equal(set, Set{b}) {
				t.Errorf("Validate refuses what Parse accepts: %q", printed)
			}
			return
		}
		set, err := Parse(printed)
		if err != nil {
			t.Fatalf("Validate accepts what Parse refuses: %v", err)
		}
		if b.Kind == "cpu" {
			b.Kind = "" // two spellings of one value
		}
		if diff := cmp.Diff(Set{b}, set); diff != "" {
			t.Errorf("%q is another budget (-want +got):\n%s", printed, diff)
		}
	})
}
