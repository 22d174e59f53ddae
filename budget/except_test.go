package budget_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/folded"
)

// An exception with a day holds to the end of that day, and is counted again after it.
func TestExceptUntil(t *testing.T) {
	set := budget.Must("no function above 20% cumulative except main.encode until 2027-01-31, main.list")
	for _, tt := range []struct {
		at     string
		except string
		ending int
	}{
		{"2026-11-27T12:00:00Z", "main.encode main.list", 1},
		{"2027-01-31T23:59:59Z", "main.encode main.list", 1},
		{"2027-02-01T00:00:00Z", "main.list", 0},
		{"2027-02-01T08:00:00+09:00", "main.encode main.list", 1}, // it is still January in UTC
	} {
		at, err := time.Parse(time.RFC3339, tt.at)
		if err != nil {
			t.Fatal(err)
		}
		rules, err := bridge.RulesAt(set, at)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(rules[0].Except, " "); got != tt.except || len(rules[0].Ending) != tt.ending {
			t.Errorf("at %s: except %s and %d that end, want %s and %d", tt.at, got, len(rules[0].Ending), tt.except, tt.ending)
		}
	}
}

// What was accepted until a day that is over is an offender, or makes one of what calls it, and the reason says
// so. Of one that is still accepted, and of what has no part in an offender, there is nothing to say.
func TestExceptOver(t *testing.T) {
	const listed = "cpu 10s\nmain.main;main.serve;main.encode 400\nmain.main;main.serve;main.list 600\n"
	// Most of main.query is in main.encode, which is below the limit itself.
	const calling = "cpu 200s\nmain.main;main.serve;main.query;main.encode 3000\nmain.main;main.serve;main.query;main.fill 1800\nmain.main;main.serve;main.list 15200\n"
	for _, tt := range []struct {
		profile, except string
		want            budget.Verdict
		reason          string
	}{
		{listed, "main.encode until 2020-01-31, main.list", budget.Fail, "main.encode was accepted until 2020-01-31, which is over"},
		{listed, "main.encode until 2020-01-31, main.encode until 2021-01-31, main.list", budget.Fail, "until 2021-01-31, which is over"},
		{listed, "main.encode from main.other until 2020-01-31, main.list", budget.Fail, "main.encode was accepted from main.other until 2020-01-31, which is over"},
		{listed, "main.encode until 9999-12-31, main.list", budget.Pass, ""},
		{listed, "main.encode, main.list until 9999-12-31", budget.Pass, ""},
		{listed, "main.list", budget.Fail, ""},
		{calling, "main.encode until 2020-01-31, main.list", budget.Fail, "main.encode was accepted until 2020-01-31, which is over"},
		{calling, "main.encode until 9999-12-31, main.list", budget.Pass, ""},
		{calling, "main.list until 2020-01-31, main.query", budget.Fail, "main.list was accepted until 2020-01-31, which is over"},
		{calling, "main.fill until 2020-01-31, main.list", budget.Fail, ""},  // it has less of main.query
		{calling, "main.serve until 2020-01-31, main.list", budget.Fail, ""}, // what it calls is charged all the time
	} {
		set := budget.Must("no function above 20% cumulative except " + tt.except)
		var b bytes.Buffer
		if err := folded.Must(tt.profile).Write(&b); err != nil {
			t.Fatal(err)
		}
		results, err := set.JudgeReader(&b, budget.Facts{Module: "main"})
		if err != nil {
			t.Fatal(err)
		}
		r := results[0]
		if r.Verdict != tt.want || !strings.Contains(r.Reason, tt.reason) || tt.reason == "" && strings.Contains(r.Reason, "which is over") || strings.Count(r.Reason, "which is over") > 1 {
			t.Errorf("except %s: %v", tt.except, r)
		}
	}
}

func TestExceptUntilText(t *testing.T) {
	for _, text := range []string{
		"no function above 20% cumulative except encoding/json until 2027-01-31",
		"no function above 20% cumulative except encoding/json until 2027-01-31, net/http, /a until b/ until 2028-02-29 when process above 0.1 cores",
		`no package above 20% cumulative except "x until 2027-01-31"`, // a name
		"no function above 20% cumulative except encoding/json.Unmarshal from main.(*server).debugState",
		`no function above 20% cumulative except encoding/json from "a from b" until 2027-01-31, from from from, net/http`,
	} {
		if got := budget.Must(text)[0].String(); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
	for text, want := range map[string]string{
		"no function above 20% except encoding/json until 2027-02-30":      "a day after",
		"no function above 20% except encoding/json until":                 "a day after",
		"no function above 20% except encoding/json until 31.1.2027":       "such as 2027-01-31",
		"no function above 20% except until 2027-01-31":                    "is a word of the language",
		"no function above 20% except none until 2027-01-31":               `"except none" without a day`,
		"no function above 20% until 2027-01-31":                           `follow a name after "except"`,
		"no function above 20% except none from main.serve":                `"except none" alone`,
		"no function above 20% except a from":                              "expected a pattern",
		"no function above 20% except a from until 2027-01-31":             "is a word of the language",
		"no function above 20% except a until 2027-01-31 from b":           "a clause",
		"no function grows above 5 points except a from b":                 `without "from"`,
		"portlist absent except portlist until 2027-01-31":                 "only clauses that go with",
		"no function above 20% except a until 2027-01-31 until 2028-01-31": "a clause",
	} {
		if _, err := budget.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	for _, except := range []string{"a until", "a until soon", "a from", "a from none", "a from b c", "from b", "a until 2027-01-31 from b", "until 2027-01-31", "a until 2027-01-31 x", ""} {
		b := budget.Budget{Subject: "no function", Limit: budget.Amount{Value: 20, Unit: "%"}, Except: []string{except}}
		if err := b.Validate(); err == nil {
			t.Errorf("%q is valid", except)
		}
	}
}
