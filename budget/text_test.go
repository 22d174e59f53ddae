package budget_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
)

// TestBudgetText: what a budget writes of itself reads as the same budget.
func TestBudgetText(t *testing.T) {
	all := Default()
	for _, f := range forms() {
		all = append(all, f.want)
	}
	for _, e := range RightSentences() {
		all = append(all, Must(e.Text)...)
	}
	for _, b := range all {
		data, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		var again Budget
		if err := json.Unmarshal(data, &again); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if diff := cmp.Diff(b, again); diff != "" {
			t.Errorf("%s (-written +read):\n%s", data, diff)
		}
	}
	for text, want := range map[string]string{
		"no function over 20%":                 "column 13",
		"":                                     "found 0",
		"portlist absent\ngoroutines below 50": "found 2",
	} {
		b := Budget{Name: "as-it-was"}
		if err := b.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || b.Name != "as-it-was" {
			t.Errorf("%q: %v, want it to say %q", text, err, want)
		}
	}
}

func TestVerdictText(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Verdict
	}{{"inconclusive", Inconclusive}, {"pass", Pass}, {"fail", Fail}, {"likely", Inconclusive}, {"", Inconclusive}} {
		v := Verdict(7)
		if err := v.UnmarshalText([]byte(tt.text)); err != nil || v != tt.want {
			t.Errorf("%q: %v, %v", tt.text, v, err)
		}
	}
	if got := Verdict(7).String() + Verdict(-1).String(); got != "Verdict(7)Verdict(-1)" {
		t.Errorf("unknown ones: %s", got)
	}
}

// TestStringOfOddValues: what no profile says and no sentence means can be printed.
func TestStringOfOddValues(t *testing.T) {
	odd := Budget{Subject: "x", Rule: "y", Kind: "z", Limit: Amount{1, "w"}, When: Condition{Figure: "v"}}
	offender := Offender{Callers: []Frame{{}}, Callees: []Frame{{}}}
	for _, v := range []fmt.Stringer{
		Result{Verdict: 7}, Result{Verdict: -1, Budget: odd, Unit: "u", Offenders: []Offender{offender, offender}, Over: 5},
		Budget{}, odd, Set{{}, odd}, Condition{}, Amount{}, Amount{math.NaN(), "w"}, Offender{}, offender,
	} {
		_ = v.String() // does not panic
	}
	if got := (Result{Verdict: 7, Budget: Must("portlist absent")[0]}).String(); got != "VERDICT(7) portlist absent" {
		t.Errorf("an unknown verdict: %s", got)
	}
}

// TestResultJSON: a result that is read is the one that was written, with its offenders.
func TestResultJSON(t *testing.T) {
	p := folded.Must("cpu 10s\nmain.main;main.serve;fmt.Println 500\nmain.main;main.serve;main.rest 500\n")
	results := judged(t, Must("no function above 20%", "hot: fmt below 90%", "portlist absent", "process below 10ms per request"), p)
	data, err := json.Marshal(results)
	if err != nil {
		t.Fatal(err)
	}
	var again []Result
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(results, again); diff != "" || len(results[0].Offenders) == 0 {
		t.Errorf("%s (-written +read):\n%s", data, diff)
	}
}
