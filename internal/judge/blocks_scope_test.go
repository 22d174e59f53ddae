package judge_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/judge"
)

// scopedBlock is ten samples with labels, of a main.work that calls main.step.
func scopedBlock(labels map[string][]string) *profile.Profile {
	p := &profile.Profile{
		SampleType:    []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType:    &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:        1e7,
		DurationNanos: 1e8,
	}
	s := &profile.Sample{Value: []int64{10, 1e8}, Label: labels}
	for i, name := range []string{"main.step", "main.work", "main.main", "runtime.main"} {
		f := &profile.Function{ID: uint64(i + 1), Name: name}
		l := &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f, Line: 1}}}
		p.Function, p.Location, s.Location = append(p.Function, f), append(p.Location, l), append(s.Location, l)
	}
	p.Sample = append(p.Sample, s)
	return p
}

// A budget that nothing is ever in the scope of is given up after 300 samples,
// and says so; one that something is in the scope of is not.
func TestTrialIneffective(t *testing.T) {
	labels := map[string][]string{"region": {"eu"}, "endpoint": {"/a"}}
	for _, tt := range []struct {
		budget string
		labels map[string][]string
		want   string
	}{
		{"main.step below 20% where endpoint=/x", labels, "no sample within endpoint=/x"},
		{"main.step below 20% where tenant=x", labels, "no sample within tenant=x"},
		{"main.step below 20% where tenant=x", nil, "no sample within tenant=x"},
		{"main.other absent where tenant=x", labels, "no sample within tenant=x"},
		{"main.step below 20% in main.serve where endpoint=/a", labels, "no sample within main.serve and endpoint=/a"},
		{"main.step below 20% in main.serve", labels, "no sample within main.serve"},
		{"main.step below 20% when process above 5 cores", labels, "idle: judged only when process above 5 cores, now at 1 core"},
		{"main.step below 20% when process above 0.5 cores", labels, ""},
		{"main.step below 20% where endpoint=/a, region=eu", labels, ""},
		{"main.other absent in main.work", labels, ""},
		{"main.step below 20%", labels, ""},
	} {
		trial := newTrial(t, tt.budget)
		facts := judge.Facts{Kind: "cpu", Elapsed: 100 * time.Millisecond}
		p := scopedBlock(tt.labels)
		for i := range 30 {
			if trial.Unreachable(0) {
				t.Errorf("%s: given up after %d samples", tt.budget, 10*i)
			}
			if err := trial.Add(p.Copy(), facts); err != nil {
				t.Fatal(err)
			}
		}
		if got := trial.Unreachable(0); got != (tt.want != "") {
			t.Errorf("%s: given up: %t", tt.budget, got)
		}
		if tt.want == "" {
			continue
		}
		results, err := trial.Close(p, facts)
		if err != nil {
			t.Fatal(err)
		}
		if res := results[0]; res.Verdict != budget.Inconclusive || !strings.HasPrefix(res.Reason, tt.want) {
			t.Errorf("%s: %v: %s", tt.budget, res.Verdict, res.Reason)
		}
	}
}

// TestTrialGrowthCut: growth does not pass where stacks were cut off, since what it is
// about may be in what they have lost.
func TestTrialGrowthCut(t *testing.T) {
	stacks := func(times int) *profile.Profile {
		return folded.Must(fmt.Sprintf("cpu 10s\n%smain.walk %d\nmain.main;main.run;main.rest %d\n", strings.Repeat("main.walk;", 63), 18*times, 2*times))
	}
	trial := newTrial(t, "main.lost grows below 5 points")
	facts := judge.Facts{Kind: "cpu", Baseline: tableOf(t, folded.Must("cpu 10s\nmain.main;main.run;main.lost 5000\nmain.main;main.run;main.rest 5000\n"))}
	for range 40 {
		if err := trial.Add(stacks(1), facts); err != nil {
			t.Fatal(err)
		}
	}
	results, err := trial.Close(stacks(40), facts)
	if err != nil {
		t.Fatal(err)
	}
	if res := results[0]; res.Verdict != budget.Inconclusive || !strings.Contains(res.Reason, "the runtime has cut off") {
		t.Errorf("%v: %s", res.Verdict, res.Reason)
	}
}

// A rate passes that nothing was in the scope of, because that is nothing of
// anything; the reason shows that there was no sample.
func TestTrialUnseenRate(t *testing.T) {
	trial := newTrial(t, "process below 50ms per call where tenant=x")
	facts := judge.Facts{Kind: "cpu", Elapsed: 100 * time.Millisecond, Work: map[string]float64{"call": 10}}
	p := scopedBlock(nil)
	for range 40 {
		if err := trial.Add(p.Copy(), facts); err != nil {
			t.Fatal(err)
		}
	}
	facts.Work["call"] = 400
	results, err := trial.Close(p, facts)
	if err != nil {
		t.Fatal(err)
	}
	if res := results[0]; res.Verdict != budget.Pass || !strings.Contains(res.Reason, "(0 samples)") {
		t.Errorf("%v: %s", res.Verdict, res.Reason)
	}
}

// The first line is about the first of the list beneath it.
func TestTrialFirstLeads(t *testing.T) {
	trial := newTrial(t, "no function above 20% cumulative")
	p := scopedBlock(nil)
	frame := map[string]*profile.Location{}
	for _, l := range p.Location {
		frame[l.Line[0].Function.Name] = l
	}
	for _, name := range []string{"main.parse", "main.compile", "main.other"} {
		f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name}
		frame[name] = &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f, Line: 1}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, frame[name])
	}
	p.Sample = nil
	add := func(n int64, stack ...string) {
		s := &profile.Sample{Value: []int64{n, n * 1e7}}
		for _, name := range append(stack, "main.step", "main.work", "main.main", "runtime.main") {
			s.Location = append(s.Location, frame[name])
		}
		p.Sample = append(p.Sample, s)
	}
	add(8, "main.parse", "main.compile")
	add(9, "main.compile")
	add(3, "main.other")
	facts := judge.Facts{Kind: "cpu", Elapsed: 100 * time.Millisecond}
	var blocks []*profile.Profile
	for range 60 {
		if err := trial.Add(p.Copy(), facts); err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, p.Copy())
	}
	sum, err := profile.Merge(blocks)
	if err != nil {
		t.Fatal(err)
	}
	results, err := trial.Close(sum, facts)
	if err != nil {
		t.Fatal(err)
	}
	res := results[0]
	if len(res.Offenders) < 2 || res.Offenders[0].Function != "main.parse" || res.Offenders[1].Function != "main.compile" {
		t.Fatalf("the deepest does not come first:\n%s", res)
	}
	if first := res.Offenders[0]; !strings.HasPrefix(res.Reason, first.Function+" at ") || math.Abs(res.Value-first.Share) > 1e-9 {
		t.Errorf("%s: want it to begin with %s at %.2f%%", res.Reason, first.Function, 100*first.Share)
	}
}
