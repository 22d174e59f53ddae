package budget_test

import (
	"fmt"
	"testing"

	"github.com/google/pprof/profile"

	. "github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/unit"
)

func TestGrew(t *testing.T) {
	const endless = 1e15
	tests := []struct {
		value, low, high float64
		verdict          Verdict
		dim              unit.Dimension
		census, isNew    bool
		small            bool
		want             string
	}{
		{value: 0.2, low: 0.11, high: 0.3, verdict: Fail, dim: unit.Points, want: "f grew by 20.00 points, surely by more than 11.00 points"},
		{value: 1, low: 0.5, high: 2, verdict: Fail, want: "f grew by 100.00%, surely by more than 50.00%"},
		{value: endless, low: endless, high: endless, verdict: Fail, isNew: true, want: "f is new"},
		{value: 20, low: 0.5, high: endless, verdict: Fail, isNew: true, want: "f is new"},
		{value: 2, low: -0.5, high: endless, isNew: true, want: "f is new, with too few samples to be sure; more samples would tell"},
		{value: 0.06, low: -0.2, high: 0.3, want: "f grew by 6.00%, which may be -20.00% to 30.00%; more samples would tell"},
		{value: 0.06, low: 0.02, high: 0.1, small: true, want: "f grew by 6.00%, which may be 2.00% to 10.00%; the baseline is too small to tell"},
		{value: 0.02, low: -0.1, high: 0.1, verdict: Pass, want: "f grew by 2.00%, surely by less than 10.00%"},
		{value: 0, low: -0.1, high: 0.1, verdict: Pass, want: "f grew by 0.00%, surely by less than 10.00%"},
		{value: -0.0565, low: -0.1, high: 0.03, verdict: Pass, want: "f grew by -5.65%, surely by less than 3.00%"},
		{value: -0.0565, low: -0.1, high: -0.01, verdict: Pass, dim: unit.Points, want: "f grew by -5.65 points, surely by less than -1.00 points"},
		{value: -0.0565, low: -0.2, high: 0.3, want: "f grew by -5.65%, which may be -20.00% to 30.00%; more samples would tell"},
		{value: 0.06, low: -0.2, high: 0.3, dim: unit.Points, want: "f grew by 6.00 points, which may be -20.00 points to 30.00 points; more samples would tell"},
		{value: -0.1, low: -0.1, high: -0.1, verdict: Pass, dim: unit.Points, census: true, want: "f grew by -10.00 points"},
		{value: 0.1, low: 0.1, high: 0.1, verdict: Fail, dim: unit.Points, census: true, want: "f grew by 10.00 points"},
	}
	for _, tt := range tests {
		b := Budget{Subject: "f", Rule: "grows", Limit: Amount{10, "%"}, Per: "request"}
		if tt.dim == unit.Points {
			b.Limit.Unit, b.Per = "points", ""
		}
		if tt.census {
			b.Kind = "goroutine"
		}
		got := bridge.Result[Result](b, judge.Finding{
			Verdict: evidence.Verdict(tt.verdict), Value: tt.value, Low: tt.low, High: tt.high, Samples: 100,
			Reason: judge.Growth{Before: 50, Added: tt.isNew, SmallBaseline: tt.small},
		}).Reason
		counted := "samples"
		if tt.census {
			counted = "goroutines"
		}
		if want := tt.want + " (100 " + counted + " against 50)"; got != want {
			t.Errorf("grew(%v, %v to %v, %v)\n\t= %q,\nwant %q", tt.value, tt.low, tt.high, tt.verdict, got, want)
		}
	}
}

// TestGrowsStaysOpen: where the worst growth is open, the result is, although it speaks
// of the deepest function, which alone would pass.
func TestGrowsStaysOpen(t *testing.T) {
	made := func(inner, outer int) *profile.Profile {
		return folded.Must(fmt.Sprintf("cpu 10s\nmain.main;main.run;main.outer;main.inner %d\nmain.main;main.run;main.outer %d\nmain.main;main.run;main.rest %d\n",
			inner, outer-inner, 100_000-outer))
	}
	r := judged(t, Must("no function grows above 5 points"), made(15_200, 25_900), Facts{Baseline: Baseline{Profile: made(10_000, 20_000)}})[0]
	if r.Verdict != Inconclusive || len(r.Offenders) == 0 || r.Offenders[0].Function != "main.inner" {
		t.Errorf("want it open, naming main.inner: %s", r)
	}
	if r := judged(t, Must("main.inner grows below 5 points"), made(15_200, 25_900), Facts{Baseline: Baseline{Profile: made(10_000, 20_000)}})[0]; r.Verdict != Pass {
		t.Errorf("the deepest alone does not pass, so that this proves nothing: %s", r)
	}
}

// TestGrowsInValues: growth per unit of work is that of bytes and seconds, also where the
// samples of the two profiles stand for different amounts of them.
func TestGrowsInValues(t *testing.T) {
	small := "allocs rate=1\nmain.main;main.run;main.rest 1000 1000000"
	counted := folded.Must(small)
	doubled := folded.Must(small + "\nmain.main;main.run;main.big 1 1000000")
	work := folded.Must("cpu 10s\nmain.main;main.run;main.work 1000")
	finer := folded.Must("cpu 10s\nmain.main;main.run;main.work 4000") // the same time at 400 samples a second
	finer.Period /= 4
	for _, s := range finer.Sample {
		s.Value[1] /= 4
	}
	per := map[string]float64{"request": 1000}
	for _, tt := range []struct {
		sentence    string
		base, now   *profile.Profile
		least, most float64
		not         Verdict
	}{
		{"process grows below 10% per request of allocs", counted, doubled, 0.99, 1.01, Pass},
		{"process grows below 10% per request of allocs", doubled, counted, -0.51, -0.49, Fail},
		{"process grows below 10% per request", work, finer, -0.01, 0.01, Fail},
		{"process grows below 10% per request", finer, work, -0.01, 0.01, Fail},
	} {
		r := judged(t, Must(tt.sentence), tt.now, Facts{Baseline: Baseline{Profile: tt.base, Work: per}, Work: per})[0]
		if r.Value < tt.least || r.Value > tt.most || r.Verdict == tt.not {
			t.Errorf("want growth of %v to %v and no %s: %s", tt.least, tt.most, tt.not, r)
		}
	}
}
