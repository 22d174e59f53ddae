package judge_test

import (
	"context"
	"errors"
	"testing"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/release"
)

// compared is a comparison that is known.
type compared []release.Function

func (c compared) Compare(_ context.Context, o release.Options) (*release.Comparison, string) {
	return &release.Comparison{Per: o.Per, Limit: o.Limit, Functions: c}, ""
}

// TestUndecidedFunction: where nothing is decided, the finding is of the function that is nearest to it, whatever
// bounds others have that are surely or far below the limit.
func TestUndecidedFunction(t *testing.T) {
	function := func(name string, status release.Status, value, low, high float64) release.Function {
		return release.Function{Name: name, Status: status, Points: release.Growth{Value: value, Low: low, High: high}}
	}
	flat := function("main.flat", release.Same, 0.001, -0.001, 0.002)
	below := function("main.below", release.Undecided, 0.002, -0.002, 0.046)
	audit := function("main.audit", release.Undecided, 0.05, -0.01, 0.12)
	grown := function("main.valid", release.Grown, 0.2, 0.1, 0.3)
	grown.Named = true
	j := judgeOf(t, []string{"no function grows above 3 points per request"})
	window := tableOf(t, folded.Must("cpu 10s\nmain.main;main.serve 100\n"))
	for _, test := range []struct {
		functions compared
		verdict   evidence.Verdict
		who       string
	}{
		{compared{flat, below, audit}, evidence.Inconclusive, "main.audit"},
		{compared{flat, below}, evidence.Inconclusive, "main.below"},
		{compared{grown, flat, below, audit}, evidence.Fail, "main.valid"},
		{compared{flat}, evidence.Pass, "main.flat"},
	} {
		findings, err := j.Table(t.Context(), window, judge.Facts{Releases: test.functions})
		if err != nil {
			t.Fatal(err)
		}
		if f := findings[0]; f.Verdict != test.verdict || f.Who != test.who {
			t.Errorf("expected %v of %s, found %v of %s (%v)", test.verdict, test.who, f.Verdict, f.Who, f.Reason)
		}
	}
}

// waiting is a comparison that takes until its context ends.
type waiting chan struct{}

func (w waiting) Compare(ctx context.Context, _ release.Options) (*release.Comparison, string) {
	close(w)
	<-ctx.Done()
	return nil, ctx.Err().Error()
}

// TestStopEndsComparison: a comparison of builds ends with the work that asks for it.
func TestStopEndsComparison(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	asked := make(waiting)
	go func() { <-asked; stop() }()
	j := judgeOf(t, []string{"no function grows above 3 points per request", "no function above 20%"})
	_, err := j.Table(ctx, tableOf(t, folded.Must("cpu 10s\nmain.main;main.serve 100\n")), judge.Facts{Releases: asked})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("expected an end without findings, found the error %v", err)
	}
}
