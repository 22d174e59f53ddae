package judge

import (
	"testing"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/unit"
)

// TestElsewhereIsFree: asking costs nothing where there is nothing to say.
func TestElsewhereIsFree(t *testing.T) {
	var rules []Rule
	for _, subject := range []string{"crypto/sha256", "crypto/tls", "portlist"} {
		rules = append(rules, Rule{Subject: subject, Limit: 0.05, Dimension: unit.Share, Kind: "cpu"})
	}
	j, err := New(rules)
	if err != nil {
		t.Fatal(err)
	}
	table, err := decode.FromProfile(folded.Must("cpu 10s\nmain.main;main.run;main.hash 500\nmain.main;main.run 500\n"), &j.symbols)
	if err != nil {
		t.Fatal(err)
	}
	w, err := j.open(t.Context(), table, Facts{})
	if err != nil {
		t.Fatal(err)
	}
	allocs := testing.AllocsPerRun(10, func() {
		for i := range j.rules {
			if path := w.elsewhere(&j.rules[i]); path != "" {
				t.Errorf("%s: %q", j.rules[i].Subject, path)
			}
		}
	})
	if allocs > 0 {
		t.Errorf("%g allocations to say nothing", allocs)
	}
}
