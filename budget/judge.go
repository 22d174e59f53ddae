package budget

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
	"github.com/profguard/profguard/internal/words"
)

// Judge compares a profile with the budgets and returns a result for each, in
// their order. The zero Facts will do. If p cannot decide a budget, such as one of another
// kind, its result is inconclusive. Judge returns an error if the set is not valid, if
// the profile or the baseline is broken, or if one of them exceeds the limits of [Set.JudgeReader].
func (s Set) Judge(p *profile.Profile, facts Facts) ([]Result, error) {
	return s.judge(facts, func(d *decode.Decoder) (*decode.Table, error) { return d.Profile(p) })
}

// JudgeReader is [Set.Judge] for a profile in pprof's format, gzipped or not. It
// is several times faster than parsing the profile first.
//
// Hostile input takes at most about 2 s and 80 MiB of memory. The limits are 8 MiB of input,
// 3 million frames, 100 million frames times the parts of the profile that budgets ask about,
// 300,000 functions near a limit or over it, and 32 MiB of function names times regular
// expressions. A large Go program needs a fraction of that. Beyond a limit JudgeReader returns an
// error: profile a shorter time, or name functions and packages in the budgets.
func (s Set) JudgeReader(r io.Reader, facts Facts) ([]Result, error) {
	return s.judge(facts, func(d *decode.Decoder) (*decode.Table, error) { return d.Decode(r) })
}

// judge judges the profile that a function decodes.
func (s Set) judge(facts Facts, read func(*decode.Decoder) (*decode.Table, error)) ([]Result, error) {
	rules, err := s.rules(time.Now())
	if err != nil {
		return nil, err
	}
	f, err := facts.judged()
	if err != nil {
		return nil, err
	}
	t, err := read(new(decode.Decoder))
	if err != nil {
		return nil, err
	}
	findings, err := judge.New(rules).Table(context.Background(), t, f)
	if err != nil {
		return nil, err
	}
	return s.results(findings), nil
}

func (s Set) results(findings []judge.Finding) []Result {
	results := make([]Result, len(s))
	for i, b := range s {
		results[i] = b.result(&findings[i], words.Reason)
	}
	return results
}

// judged are the facts for package judge.
func (f *Facts) judged() (judge.Facts, error) {
	if f.Kind != "" && *kinds.Of(string(f.Kind)) == (kinds.Kind{}) {
		return judge.Facts{}, fmt.Errorf("kind: expected %s, found %q", orList(kinds.Names()), f.Kind)
	}
	known, figures := figures, map[string]float64{}
	for name, value := range f.Figures {
		if !slices.Contains(known, string(name)) {
			return judge.Facts{}, fmt.Errorf("figures: expected %s, found %q", orList(known), name)
		}
		figures[judge.FigureOf(string(name))] = value
	}
	var baseline *decode.Table
	if f.Baseline.Profile != nil {
		var err error
		if baseline, err = new(decode.Decoder).Profile(f.Baseline.Profile); err != nil {
			return judge.Facts{}, fmt.Errorf("baseline: %w", err)
		}
	}
	return judge.Facts{
		Kind: string(f.Kind), MutexFraction: f.MutexFraction, Elapsed: f.Elapsed, Figures: figures, Work: f.Work,
		Module: f.Module, Baseline: baseline, BaselineWork: f.Baseline.Work,
	}, nil
}

// Facts describe a window beyond its profile. Every field is optional. A budget that needs a
// missing one is inconclusive, and its Reason says so, so that nothing passes because a fact is unknown.
type Facts struct {
	// Kind is the kind of the profile. By default it is derived from the profile. Mutex and
	// block profiles look the same: without a Kind, such a profile is judged by the budgets of
	// both kinds.
	Kind Kind

	// MutexFraction is the argument of runtime.SetMutexProfileFraction when the profile was
	// taken. With 10, one contention in ten was observed, and counts as ten. By default it is
	// the greatest common divisor of the profile's counts, or 1 if there are fewer than four
	// stacks.
	MutexFraction int

	// Elapsed is the length of the window, if the profile itself has none.
	Elapsed time.Duration

	// Figures are figures of the process. If one is negative, infinite or NaN, budgets and
	// conditions on it are inconclusive.
	Figures map[Figure]float64

	// Work is the amount of work in the window by unit, for budgets "per" a unit:
	// {"request": 1200}. That of one value of a label is {`http_requests_total{endpoint="/"}`: 1200}.
	Work map[string]float64

	// Module is the path of the program's own module. Blame looks for functions in it, and it
	// tells the module's work from a server's own. Without it, blame takes all functions outside
	// the standard library for the program's own, and only package main counts as the module.
	Module string

	// Baseline is what "grows" budgets compare with.
	Baseline Baseline
}

// A Baseline is an earlier profile of the program, with which "grows" budgets compare.
type Baseline struct {
	Profile *profile.Profile // the profile to compare with
	// Work is the amount of work that was done while the profile was taken, by unit:
	// {"request": 1200}.
	Work map[string]float64
}

// The other packages of this module ask package bridge.
func init() { bridge.Connect(Set.rules, Budget.result) }

// rules are the rules of the set at a time, or an error that lists all mistakes of the set. An
// exception with a day has ended after it.
func (s Set) rules(t time.Time) ([]judge.Rule, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	rules := make([]judge.Rule, len(s))
	for i := range s {
		rules[i] = s[i].rule()
		s[i].accept(&rules[i], t)
	}
	return rules, nil
}

// work is the unit of work that amounts are divided by: that of each value by itself, where each has a limit.
func (b *Budget) work() string {
	if b.Rule != RuleLimit {
		return b.Per
	}
	return unit.WorkBy(b.Per, b.Label())
}

func (b *Budget) rule() judge.Rule {
	r := judge.Rule{
		Class:     classOf(b.Subject),
		Subject:   b.Subject,
		Label:     b.Label(),
		Limit:     b.Limit.base(),
		Dimension: b.dimension(),
		Flat:      b.Flat,
		Kind:      string(cmp.Or(b.Kind, KindCPU)),
		Per:       b.work(),
		In:        b.In,
		Where:     b.Where,
		When:      judge.Condition{Figure: string(b.When.Figure), Below: b.When.Below, Limit: b.When.Amount.base()},

		ForWindows: b.ForWindows, ForTime: b.ForTime,
	}
	switch b.Rule {
	case RuleAbsent:
		r.Test = judge.Absent
	case RuleGrows:
		r.Test = judge.Grows
	case RuleSteady:
		r.Test = judge.Steady
	}
	return r
}
