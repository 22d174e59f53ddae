package judge_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/judge"
)

// Each sort of budgets says what it needs, and how long its alert takes.
func TestNeedsAndAlert(t *testing.T) {
	const minute = time.Minute
	lasting := alert.Lasting(minute, 10*time.Second)
	counted := alert.Counted(minute)
	with := func(r alert.Rule, change func(*alert.Rule)) alert.Rule {
		change(&r)
		return r
	}
	for _, tt := range []struct {
		sentence string
		needs    judge.Needs
		alert    alert.Rule
	}{
		{"fmt.Println below 20%", judge.Needs{Profile: "cpu"}, with(lasting, func(r *alert.Rule) { r.Share, r.Streams = true, true })},
		{"no function above 20%", judge.Needs{Profile: "cpu"}, with(lasting, func(r *alert.Rule) { r.Each, r.Share, r.Streams = true, true, true })},
		{"no function above 2 cores", judge.Needs{Profile: "cpu"}, with(lasting, func(r *alert.Rule) { r.Each, r.Streams = true, true })},
		{"process below 2 cores where endpoint=/a", judge.Needs{Profile: "cpu"}, with(lasting, func(r *alert.Rule) { r.Streams = true })},
		{"no function above 20% of heap", judge.Needs{Profile: "heap", Periodic: true}, with(counted, func(r *alert.Rule) { r.Each, r.Streams = true, true })},
		{"fmt.Println below 100 of goroutine", judge.Needs{Profile: "goroutine", Periodic: true}, with(counted, func(r *alert.Rule) { r.Streams = true })},
		{"fmt.Println absent", judge.Needs{Profile: "cpu"}, with(lasting, func(r *alert.Rule) { r.AtOnce = true })},
		{"fmt.Println absent of heap", judge.Needs{Profile: "heap", Periodic: true}, with(lasting, func(r *alert.Rule) { r.AtOnce = true })},
		{"fmt.Println absent for 2 windows", judge.Needs{Profile: "cpu"}, alert.For(2, 0, minute)},
		{"no function grows above 5 points", judge.Needs{Profile: "cpu", Baseline: true}, with(lasting, func(r *alert.Rule) { r.Each, r.Streams = true, true })},
		{"process grows below 10% per request", judge.Needs{Profile: "cpu", Baseline: true}, with(lasting, func(r *alert.Rule) { r.Streams = true })},
		{"process below 2 cores", judge.Needs{Profile: "cpu", Periodic: true, Counters: true}, counted},
		{"process below 5ms per request", judge.Needs{Profile: "cpu", Periodic: true, Counters: true}, counted},
		{"process below 1MiB of allocs per request for 5m", judge.Needs{Profile: "allocs", Periodic: true, Counters: true},
			with(alert.For(0, 5*minute, minute), func(r *alert.Rule) { r.Counted = true })},
		{"goroutines below 100", judge.Needs{Periodic: true}, counted},
		{"heap steady", judge.Needs{Periodic: true, Calls: true}, counted},
		{"no goroutine leaked", judge.Needs{Profile: "goroutineleak", Periodic: true}, with(lasting, func(r *alert.Rule) { r.AtOnce, r.Each = true, true })},
	} {
		rules, err := bridge.Rules(budget.Must(tt.sentence))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.needs, rules[0].Needs()); diff != "" {
			t.Errorf("%s: needs (-want +got):\n%s", tt.sentence, diff)
		}
		if diff := cmp.Diff(tt.alert, rules[0].Alert(minute, 10*time.Second)); diff != "" {
			t.Errorf("%s: alert (-want +got):\n%s", tt.sentence, diff)
		}
	}
}

// A process over its limit has offenders also where the duration of the profile is not known: they
// are shares of it. One within its limit has none.
func TestOffendersOfCores(t *testing.T) {
	p := folded.Must("cpu\nmain.main;main.work 900\nmain.main;main.rest 100\n")
	for cores, want := range map[float64]int{2: 1, 0.5: 0} {
		findings, err := judgeOf(t, []string{"process below 1 cores"}).Table(t.Context(), tableOf(t, p), judge.Facts{Figures: map[string]float64{"cores": cores}})
		if err != nil {
			t.Fatal(err)
		}
		if got := findings[0].Offenders; len(got) != want || want > 0 && got[0].Function != "main.work" {
			t.Errorf("%g cores: the offenders are %+v, want %d", cores, got, want)
		}
	}
}
