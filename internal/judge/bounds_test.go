package judge_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/release"
)

// judgeOf is a judge of budgets.
func judgeOf(t *testing.T, lines []string) *judge.Judge {
	t.Helper()
	rules, err := bridge.Rules(budget.Must(lines...))
	if err != nil {
		t.Fatal(err)
	}
	j := judge.New(rules)
	return j
}

// A baseline is counted within the limits of a window. What is beyond them is an error,
// each time.
func TestBaselineOfManyNames(t *testing.T) {
	stacks := func(n int) string {
		var b strings.Builder
		b.WriteString("cpu 10s\n")
		for i := range n {
			fmt.Fprintf(&b, "main.main;example.com/x.F%d 1\n", i)
		}
		return b.String()
	}
	var lines []string
	for i := range 12 {
		lines = append(lines, fmt.Sprintf("b%d: no function grows above 5 points except example.com/y.G%d", i, i))
	}
	j := judgeOf(t, lines)
	window, facts := folded.Must(stacks(100)), judge.Facts{Baseline: tableOf(t, folded.Must(stacks(30_000)))}
	for range 2 {
		if _, err := j.Table(t.Context(), tableOf(t, window), facts); err == nil || !strings.Contains(err.Error(), "baseline: the budgets ask for more than 300,000 sums") {
			t.Errorf("a baseline of 30,000 names and 12 parts: %v", err)
		}
	}
	facts.Baseline = tableOf(t, folded.Must(stacks(100)))
	if _, err := j.Table(t.Context(), tableOf(t, window), facts); err != nil {
		t.Error(err)
	}
}

// Each condition on labels is compared with each label of a profile, which is bounded like
// frames times parts.
func TestLabelsTimesConditions(t *testing.T) {
	p := folded.Must("cpu 10s\nmain.main;example.com/x.F 1\n")
	labels := map[string][]string{}
	for i := range 32 {
		labels[fmt.Sprintf("k%d", i)] = []string{"v"}
	}
	for range 2000 {
		p.Sample = append(p.Sample, &profile.Sample{Location: p.Sample[0].Location, Value: p.Sample[0].Value, Label: labels})
	}
	for _, n := range []int{100, 900} {
		var lines []string
		for i := range n {
			lines = append(lines, fmt.Sprintf("b%d: example.com/x below 1%% where k%d=v%d", i, i%32, i))
		}
		j := judgeOf(t, lines)
		if _, err := j.Table(t.Context(), tableOf(t, p), judge.Facts{}); (err != nil) != (n == 900) || err != nil && !strings.Contains(err.Error(), "64000 labels times") {
			t.Errorf("%d conditions: %v", n, err)
		}
	}
}

// noReleases compare nothing.
type noReleases struct{}

func (noReleases) Compare(context.Context, release.Options) (*release.Comparison, string) {
	return nil, "there is nothing to compare"
}

// TestBaselineOfBuilds: a baseline is not counted, and takes no memory, if all growth is that of builds.
func TestBaselineOfBuilds(t *testing.T) {
	builds := []string{"no function grows above 3 points per request", "no function grows above 5 points", "process grows below 10% per request"}
	window := folded.Must("cpu 10s\nmain.main;main.serve 100\n")
	facts := judge.Facts{Baseline: tableOf(t, folded.Must("cpu 10s\nmain.main;main.serve 50\n"))}
	for _, test := range []struct {
		lines    []string
		releases judge.Releases
		counted  bool
	}{
		{append(builds, "no function above 20%"), noReleases{}, false},
		{append(builds, "main.serve grows below 5 points"), noReleases{}, false},
		{append(builds, "no package grows above 5 points"), noReleases{}, true},
		{builds, nil, true},
		{[]string{"no function above 20%"}, nil, false},
	} {
		j := judgeOf(t, test.lines)
		facts.Releases = test.releases
		for range 2 {
			if _, err := j.Table(t.Context(), tableOf(t, window), facts); err != nil {
				t.Fatal(err)
			}
		}
		if j.HasCountedBaseline() != test.counted {
			t.Errorf("%q with %v: counted %t, want %t", test.lines, test.releases, !test.counted, test.counted)
		}
	}
}
