package budget_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	. "github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
)

// What is divided by an amount of work that is none would be infinite, or nothing:
// neither is broken nor kept.
func TestFault_38_AmountsOfWork(t *testing.T) {
	set := Must("process below 1us per request", "no function above 1us per request", "fmt.Println below 1us per request", "process grows below 10% per request")
	p := folded.Must("cpu 10s\nmain.main;main.serve;main.work 990\nmain.main;main.serve;fmt.Println 10\n")
	const leastAmount = 1e-100
	tests := []struct {
		work    float64
		verdict Verdict
		reason  string
	}{
		{1e9, Pass, ""},
		{1000, Fail, ""},
		{leastAmount, Fail, ""},
		{leastAmount / 2, Inconclusive, "no request was counted"},
		{5e-324, Inconclusive, "no request was counted"},
		{math.Inf(1), Inconclusive, "no request was counted"},
		{0, Inconclusive, "no request was counted"},
		{math.NaN(), Inconclusive, "no request was counted"},
	}
	for _, tt := range tests {
		facts := Facts{
			Work:     map[string]float64{"request": tt.work},
			Baseline: Baseline{Profile: folded.Must("cpu 10s\nmain.main;main.serve;main.work 1000\n"), Work: map[string]float64{"request": tt.work}},
		}
		for i, r := range judged(t, set, p, facts) {
			if i < 3 && (r.Verdict != tt.verdict || !strings.Contains(r.Reason, tt.reason)) {
				t.Errorf("work %v, %s: %v: %s", tt.work, r.Budget, r.Verdict, r.Reason)
			}
			if _, err := json.Marshal(r); err != nil {
				t.Errorf("work %v, %s: %v", tt.work, r.Budget, err)
			}
		}
	}
}

// A profile that was built by hand may lack anything; that is no reason to panic.
func TestFault_37_BuiltByHand(t *testing.T) {
	set := Must("no function above 20%", "process below 1.5 cores", "no function grows above 5 points", "main.main absent")
	whole := func() *profile.Profile { return folded.Must("cpu 10s\nmain.main;main.work 1000\n") }
	tests := []struct {
		name   string
		spoil  func(p *profile.Profile)
		enough bool // to judge by
	}{
		{"types that are nil", func(p *profile.Profile) { p.SampleType = []*profile.ValueType{nil, nil} }, false},
		{"a type that is nil", func(p *profile.Profile) { p.SampleType[1] = nil }, false},
		{"no types", func(p *profile.Profile) { p.SampleType = nil }, false},
		{"a sample that is nil", func(p *profile.Profile) { p.Sample[0] = nil }, false},
		{"a location that is nil", func(p *profile.Profile) { p.Location[0] = nil }, false},
		{"a sample's location that is nil", func(p *profile.Profile) { p.Sample[0].Location[0] = nil }, false},
		{"a function that is nil", func(p *profile.Profile) { p.Function[0] = nil }, false},
		{"a line without a function", func(p *profile.Profile) { p.Location[0].Line[0].Function = nil }, false},
		{"nothing listed", func(p *profile.Profile) { p.Location, p.Function = nil, nil }, true},
		{"no period type", func(p *profile.Profile) { p.PeriodType = nil }, true},
		{"nothing at all", func(p *profile.Profile) { *p = profile.Profile{} }, false},
	}
	for _, tt := range tests {
		broken := whole()
		tt.spoil(broken)
		results, err := set.Judge(broken, Facts{Baseline: Baseline{Profile: whole()}})
		if (err != nil) == (results != nil) {
			t.Errorf("%s: %d results and the error %v", tt.name, len(results), err)
		}
		for i, r := range results {
			if r.Reason == "" || r.Verdict == Pass && i == 2 && !tt.enough {
				t.Errorf("%s: %s: %v: %q", tt.name, r.Budget, r.Verdict, r.Reason)
			}
		}
		if results, err := set.Judge(whole(), Facts{Baseline: Baseline{Profile: broken}}); (err != nil) == (results != nil) {
			t.Errorf("%s, in the baseline: %d results and the error %v", tt.name, len(results), err)
		}
	}
	if r := judged(t, set, whole(), Facts{Baseline: Baseline{Profile: whole()}}); r[0].Verdict != Fail || r[2].Verdict != Pass {
		t.Errorf("the whole one: %v: %s; %v: %s", r[0].Verdict, r[0].Reason, r[2].Verdict, r[2].Reason)
	}
}

// The runtime records one contention in so many, and scales what it records: the amount
// stays, and what it rests on are fewer samples.
func TestContentionFraction(t *testing.T) {
	p := folded.Must("mutex 10s\nmain.main;main.run;main.store;sync.(*Mutex).Unlock 20000 2s\nmain.main;main.run;main.load;sync.(*Mutex).Unlock 20 2ms\n")
	for _, tt := range []struct {
		sentence string
		fraction int
		want     Verdict
	}{
		{"main.store below 0.15 cores of mutex", 1, Fail},
		{"main.store below 0.15 cores of mutex", 2000, Inconclusive}, // of ten contentions
		{"main.load below 0.15 cores of mutex", 1, Pass},
		{"no function above 0.15 cores of mutex", 1, Fail},
		{"no function above 0.25 cores of mutex", 1, Pass},
	} {
		r := judged(t, Must(tt.sentence), p, Facts{Kind: "mutex", MutexFraction: tt.fraction})[0]
		if r.Verdict != tt.want || r.Unit != "s waited per second" || strings.Contains(r.Reason, "cores") {
			t.Errorf("one in %d: want %s in seconds waited, got %s\n%s", tt.fraction, tt.want, r.Unit, r)
		}
		if strings.HasPrefix(tt.sentence, "main.store") && math.Abs(r.Value-0.2) > 1e-9 {
			t.Errorf("one in %d: main.store has %v, want 0.2", tt.fraction, r.Value)
		}
	}
}
