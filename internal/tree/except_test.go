package tree

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/profguard/profguard/internal/pattern"
)

// TestExcept: what is accepted is charged neither to its function nor to its callers, and what it calls by itself.
func TestExcept(t *testing.T) {
	text := `cpu 10s
runtime.main;main.main;main.run;main.serve;main.audit;main.hash 7
runtime.main;main.main;main.run;main.serve;main.audit 5
runtime.main;main.main;main.run;main.serve;main.other 3
runtime.main;main.main;main.run 2
`
	for except, want := range map[string][]string{
		"main.audit": {"entry main.run 2", "entry main.run;main.serve 0", "aside main.audit 5", "aside main.audit;main.hash 7", "entry main.run;main.serve;main.other 3"},
		"main.run":   {"aside main.run 2", "aside main.run;main.serve 0", "aside main.run;main.serve;main.audit 5", "aside main.run;main.serve;main.audit;main.hash 7", "aside main.run;main.serve;main.other 3"},
		"main.none":  {"entry main.run 2", "entry main.run;main.serve 0", "entry main.run;main.serve;main.audit 5", "entry main.run;main.serve;main.audit;main.hash 7", "entry main.run;main.serve;main.other 3"}, // the clean twin
	} {
		whole := treeOf(t, &Counter{}, table(t, text))
		got, err := whole.Except([]string{except})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, show(got)); diff != "" {
			t.Errorf("%s, -want +got\n%s", except, diff)
		}
		if diff := cmp.Diff(sums(t, table(t, text), except), got.Hits()); diff != "" || got.N() != whole.N() {
			t.Errorf("%s: %v samples of %v; hits, -charge +tree\n%s", except, got.N(), whole.N(), diff)
		}
	}
	if _, err := new(Tree).Except([]string{"main..f("}); err == nil {
		t.Error("a pattern that is none is taken")
	}
}

// TestExceptOfWindows: real windows are charged as package charge does it with a pattern of any function that has a
// node. Nodes are what samples can be charged to, so a pattern of the runtime, or of a function that foreign code
// calls behind its door, accepts nothing. Package charge accepts what such a function takes of its callers.
func TestExceptOfWindows(t *testing.T) {
	for file, table := range recorded(t) {
		whole := treeOf(t, &Counter{}, table)
		except := func(text string) map[string]float64 {
			tree, err := whole.Except([]string{text})
			if err != nil {
				t.Fatal(err)
			}
			return tree.Hits()
		}
		for _, n := range whole.Nodes()[1:] {
			text := pattern.Quote(n.Name)
			if diff := cmp.Diff(sums(t, table, text), except(text)); diff != "" {
				t.Errorf("%s, except %s: hits, -charge +tree\n%s", file, text, diff)
			}
		}
		for _, text := range []string{"runtime.mallocgc", "net/http.(*Client).Post"} {
			if diff := cmp.Diff(whole.Hits(), except(text)); diff != "" || cmp.Equal(sums(t, table, text), whole.Hits()) {
				t.Errorf("%s, except %s: hits, -whole +tree\n%s", file, text, diff)
			}
		}
	}
}
