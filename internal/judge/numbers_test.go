package judge_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/unit"
)

// blocksOf are n blocks of the stacks.
func blocksOf(n int, stacks func(i int) string) (blocks []*profile.Profile) {
	for i := range n {
		blocks = append(blocks, folded.Must("cpu 100ms\n"+stacks(i)))
	}
	return blocks
}

// Where no function comes near the limit, a check names the worst one with its own share.
func TestTrialWorst(t *testing.T) {
	var stacks strings.Builder
	for i := range 60 {
		fmt.Fprintf(&stacks, "runtime.main;main.main;main.run;main.f%d 1\n", i)
	}
	for _, tt := range []struct {
		blocks  int
		verdict budget.Verdict
		reason  string
	}{
		{40, budget.Pass, "main.f0 at 1.67%, surely below 2.83% (2400 samples)"},
		{19, budget.Pass, "main.f0 at 1.67%, likely below "},
		{1, budget.Inconclusive, "too few CPU samples: 60 came, "},
	} {
		trial := newTrial(t, "no function above 20%")
		r := trial.judged(t, blocksOf(tt.blocks, func(int) string { return stacks.String() }))[0]
		if r.Verdict != tt.verdict || !strings.HasPrefix(r.Reason, tt.reason) || math.Abs(r.Value-1./60) > 1e-9 || r.Hits != int64(tt.blocks) {
			t.Errorf("%d blocks: want %q, got %s\nshare %v, %d hits", tt.blocks, tt.reason, r, r.Value, r.Hits)
		}
	}
}

// A budget that is decided stays with the numbers that decided it, while the check goes on
// for others.
func TestTrialDecidedEarly(t *testing.T) {
	trial := newTrial(t, "main.x below 30%", "main.y below 50%")
	results := trial.judged(t, blocksOf(80, func(i int) string {
		x := 1
		if i > 40 {
			x = 6
		}
		return fmt.Sprintf("runtime.main;main.main;main.x %d\nruntime.main;main.main;main.y %d\n", x, 10-x)
	}))
	for i, want := range []budget.Verdict{budget.Pass, budget.Fail} {
		r := results[i]
		if r.Verdict != want || r.Samples >= 410 || math.Abs(float64(r.Hits)/float64(r.Samples)-r.Value) > 1e-9 {
			t.Errorf("want %v with the samples of the blocks up to the verdict: %s\n%d hits of %d, share %v", want, r, r.Hits, r.Samples, r.Value)
		}
	}
}

// Samples of unequal weight are worth fewer than they are, and hits are at most all of them.
func TestHitsOfSamples(t *testing.T) {
	r := judged(t, budget.Must("main.x absent of heap"), folded.Must("heap\nmain.main;main.x 1 1000000\nmain.main;main.x 1 4000000\nmain.main;main.y;main.x 1 1000000\n"))[0]
	if r.Verdict != budget.Fail || r.Samples != 11 || r.Hits != 11 {
		t.Errorf("%s\n%d hits of %d", r, r.Hits, r.Samples)
	}
}

// A CPU profile that was subtracted from another is not judged: it lacks what both have. Of the memory that is in use
// some may have been freed since.
func TestDifference(t *testing.T) {
	for text, refused := range map[string]bool{
		"cpu 10s\nmain.main;main.x 100\nmain.main;main.y -400\n":         true,
		"cpu 10s\nmain.main;main.x 100\nmain.main;main.y 400\n":          false,
		"heap\nmain.main;main.x 9 900000\nmain.main;main.y -9 -900000\n": false,
	} {
		_, err := judgeOf(t, []string{"process below 1 core"}).Table(t.Context(), tableOf(t, folded.Must(text)), judge.Facts{})
		if is := err != nil && strings.Contains(err.Error(), "as the difference of two profiles has: give each profile as it was taken"); is != refused {
			t.Errorf("%s: expected it to be refused: %t, found %v", text, refused, err)
		}
	}
}

// The first line and the first offender show the same bounds, also where stacks were cut off.
func TestBoundsAgree(t *testing.T) {
	findings, err := judgeOf(t, []string{"no function above 20% in main.main"}).Table(t.Context(),
		tableOf(t, folded.Must("cpu 10s\n"+deep(64)+" 200\nruntime.main;main.main;main.run;main.x 500\nruntime.main;main.main;main.rest 300\n")), judge.Facts{})
	if err != nil {
		t.Fatal(err)
	}
	f := findings[0]
	if len(f.Offenders) == 0 || f.Offenders[0].Function != "main.x" || f.Offenders[0].Low != f.Low || f.Offenders[0].High != f.High || f.High < 0.7 {
		t.Errorf("%+v", f)
	}
}

// An amount of a cumulative profile is that of one period, whatever time the profile covers.
func TestAmountsOfPeriods(t *testing.T) {
	j := judgeOf(t, []string{"main.decode below 300MiB of allocs", "main.decode below 20% of allocs"})
	p := folded.Must("allocs 10s\nmain.main;main.run;main.decode 1000 503316480\n") // 480 MiB
	for periods, want := range map[float64]string{0: "480.00MiB", 1: "480.00MiB", 2: "240.00MiB", 0.25: "1.88GiB"} {
		findings, err := j.Table(t.Context(), tableOf(t, p), judge.Facts{Kind: "allocs", Periods: periods})
		if err != nil {
			t.Fatal(err)
		}
		if got := unit.Format(findings[0].Value, unit.Bytes); got != want || findings[1].Value != 1 {
			t.Errorf("%v periods: %s, and %v of all; want %s, and all", periods, got, findings[1].Value, want)
		}
	}
}

// The largest functions are those with the most bytes, or with the most objects. A function with
// a fifth of all comes before its parts, and its parts are not named then.
func TestLargest(t *testing.T) {
	mixed := "allocs 10s rate=1\nmain.main;main.run;main.large 15 1000000\nmain.main;main.run;main.small 80 150000\nmain.main;main.run;main.rest 5 5000\n"
	nested := "cpu 10s\nmain.main;main.run;main.rest 480\nmain.main;main.run;main.late 120\n"
	for _, part := range []string{"a", "b", "c"} {
		nested += "main.main;main.run;main.compile;main." + part + " 130\n"
	}
	for _, tt := range []struct {
		profile, kind string
		of            unit.Dimension
		want          string
	}{
		{mixed, "allocs", unit.Bytes, "main.large main.small"},
		{mixed, "allocs", unit.Count, "main.small main.large"},
		{nested, "cpu", unit.Share, "main.rest main.compile main.late"},
	} {
		j := judge.New([]judge.Rule{judge.Largest(tt.kind, tt.of)})
		findings, err := j.Table(t.Context(), tableOf(t, folded.Must(tt.profile)), judge.Facts{})
		if err != nil {
			t.Fatal(err)
		}
		var named []string
		for _, o := range findings[0].Offenders {
			named = append(named, o.Function)
		}
		if got := strings.Join(named, " "); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.of, got, tt.want)
		}
	}
}
