package budget

import (
	"fmt"
	"io"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/judge"
)

// Judge compares a profile with the budgets and returns a result for each, in
// their order. At most one Facts is used. Budgets that p can say nothing about
// (of another kind, say) are inconclusive.
func (s Set) Judge(p *profile.Profile, facts ...Facts) []Result {
	findings, err := s.judge(facts, func(j *judge.Judge, f judge.Facts) ([]judge.Finding, error) { return j.Profile(p, f) })
	if err != nil {
		findings = judge.Open(len(s), err)
	}
	return s.results(findings)
}

// JudgeReader is [Set.Judge] for a profile in pprof's format, gzipped or not. It
// is several times faster than parsing the profile first.
//
// Its cost is limited for any input: 8 MiB of input, 3 million frames, 100 million frames
// if each counts once for each part of the profile that budgets ask about (budgets without
// "in" and "where" share their parts), 300,000 functions that are near a limit or over it, if
// each counts once for each budget, and 64 MiB of memory; that is about 2 s. Beyond these
// limits it returns an error: profile a shorter time. The limits are several times what a
// large Go program needs, and cannot be changed. [Set.Judge] has the same limits; beyond
// them its results are inconclusive.
func (s Set) JudgeReader(r io.Reader, facts ...Facts) ([]Result, error) {
	findings, err := s.judge(facts, func(j *judge.Judge, f judge.Facts) ([]judge.Finding, error) { return j.Reader(r, f) })
	if err != nil {
		return nil, err
	}
	return s.results(findings), nil
}

// judge makes a judge of the set, and lets look use it.
func (s Set) judge(facts []Facts, look func(*judge.Judge, judge.Facts) ([]judge.Finding, error)) ([]judge.Finding, error) {
	rules, err := s.Rules()
	if err != nil {
		return nil, err
	}
	j, err := judge.New(rules)
	if err != nil {
		return nil, err
	}
	f, err := judged(facts)
	if err != nil {
		return nil, err
	}
	return look(j, f)
}

func (s Set) results(findings []judge.Finding) []Result {
	results := make([]Result, len(s))
	for i, b := range s {
		results[i] = b.Result(findings[i])
	}
	return results
}

// judged converts the facts for package judge.
func judged(facts []Facts) (judge.Facts, error) {
	if len(facts) == 0 {
		return judge.Facts{}, nil
	}
	f := facts[0]
	var baseline *decode.Table
	if f.Baseline != nil {
		var err error
		if baseline, err = new(decode.Decoder).Profile(f.Baseline); err != nil {
			return judge.Facts{}, fmt.Errorf("baseline: %w", err)
		}
	}
	return judge.Facts{
		Kind: f.Kind, MutexFraction: f.MutexFraction, Elapsed: f.Elapsed, Figures: f.Figures, Work: f.Work,
		Module: f.Module, Baseline: baseline, BaselineWork: f.BaselineWork,
	}, nil
}

// Result puts a finding of package judge into words. It is for packages of profguard only.
func (b Budget) Result(f judge.Finding) Result {
	_, idle := f.Reason.(judge.Idle)
	dim := b.dimension()
	r := Result{
		Budget: b, Verdict: Verdict(f.Verdict), Share: f.Value, Low: f.Low, High: f.High,
		Limit: b.Limit.base(), Unit: dim.String(), Samples: f.Samples, Hits: f.Hits, Over: f.Over, Idle: idle,
	}
	for _, o := range f.Offenders {
		r.Offenders = append(r.Offenders, Offender{
			Frame: Frame(o.Frame), Low: o.Low, High: o.High, Blame: Frame(o.Blame),
			Callers: frames(o.Callers), Callees: frames(o.Callees),
		})
	}
	r.Reason = sayer{&r.Budget, dim, &f}.say()
	return r
}

func frames(list []judge.Frame) []Frame {
	var frames []Frame
	for _, f := range list {
		frames = append(frames, Frame(f))
	}
	return frames
}
