package budget_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	. "github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/judge"
)

// What the guard and a check do with package judge, in the words of results.

// judged are the results of a set that can be judged.
func judged(t *testing.T, set Set, p *profile.Profile, facts ...Facts) []Result {
	t.Helper()
	results, err := set.Judge(p, *first(facts))
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// A watched is a result of a watch.
type watched struct {
	Result
	Proven   Verdict
	Evidence float64
}

// A watch judges window after window.
type watch struct {
	*judge.Watch
	decode.Decoder
	set Set
}

// first is the only one of the facts, or the zero Facts.
func first(facts []Facts) *Facts { return &append(facts, Facts{})[0] }

func newWatch(set Set, every time.Duration) (*watch, error) {
	rules, err := bridge.Rules(set)
	if err != nil {
		return nil, err
	}
	return &watch{Watch: judge.NewWatch(rules, every), set: set}, nil
}

func (w *watch) Profile(p *profile.Profile, at time.Duration, facts ...Facts) ([]watched, error) {
	f, err := first(facts).Judged()
	if err != nil {
		return nil, err
	}
	t, err := w.Decoder.Profile(p)
	if err != nil {
		return nil, err
	}
	return w.said(w.Watch.Table(context.Background(), t, at, f))
}

func (w *watch) Table(ctx context.Context, t *decode.Table, at time.Duration) ([]watched, error) {
	return w.said(w.Watch.Table(ctx, t, at, judge.Facts{}))
}

func (w *watch) said(findings []judge.Finding, err error) ([]watched, error) {
	var results []watched
	for i, f := range findings {
		results = append(results, watched{bridge.Result[Result](w.set[i], f), Verdict(f.Proven), f.Evidence})
	}
	return results, err
}

// A reused judges profile after profile.
type reused struct {
	*judge.Judge
	decode.Decoder
	set   Set
	bases map[*profile.Profile]*decode.Table
}

func newJudge(set Set) (*reused, error) {
	rules, err := bridge.Rules(set)
	if err != nil {
		return nil, err
	}
	return &reused{Judge: judge.New(rules), set: set, bases: map[*profile.Profile]*decode.Table{}}, nil
}

func (j *reused) Profile(p *profile.Profile, facts ...Facts) ([]Result, error) {
	t, err := j.Decoder.Profile(p)
	return j.judged(t, err, facts)
}

func (j *reused) Data(data []byte, facts ...Facts) ([]Result, error) {
	t, err := j.Bytes(data)
	return j.judged(t, err, facts)
}

// facts has one table of each baseline.
func (j *reused) facts(list []Facts) (judge.Facts, error) {
	f, err := first(list).Judged()
	if err != nil || f.Baseline == nil {
		return f, err
	}
	base := first(list).Baseline.Profile
	if j.bases[base] == nil {
		j.bases[base] = f.Baseline
	}
	f.Baseline = j.bases[base]
	return f, nil
}

func (j *reused) judged(t *decode.Table, err error, list []Facts) ([]Result, error) {
	if err != nil {
		return nil, err
	}
	f, err := j.facts(list)
	if err != nil {
		return nil, err
	}
	findings, err := j.Table(context.Background(), t, f)
	if err != nil {
		return nil, err
	}
	return j.set.Results(findings), nil
}
