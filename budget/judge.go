package budget

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
)

// Judge compares a profile with the budgets and returns a result for each, in
// their order. The zero Facts will do. A budget that p can say nothing about, such
// as one of another kind, is inconclusive. Judge returns an error if the set is not valid, if
// the profile or the baseline is broken, or beyond the limits of [Set.JudgeReader].
func (s Set) Judge(p *profile.Profile, facts Facts) ([]Result, error) {
	return s.judge(facts, func(d *decode.Decoder) (*decode.Table, error) { return d.Profile(p) })
}

// JudgeReader is [Set.Judge] for a profile in pprof's format, gzipped or not. It
// is several times faster than parsing the profile first.
//
// Whatever the input, it takes at most about 2 s and 64 MiB of memory. The limits are 8 MiB of
// input, 3 million frames, 100 million frames times parts of the profile that budgets ask about,
// 300,000 functions near a limit or over it, and 32 MiB of function names times regular
// expressions (of the usual sort, which take up to 0.1 us a byte; names that lack a text that an
// expression needs hardly count). A large Go program needs a fraction of that. Beyond the limits
// there is an error: profile a shorter time, or name functions and packages.
func (s Set) JudgeReader(r io.Reader, facts Facts) ([]Result, error) {
	return s.judge(facts, func(d *decode.Decoder) (*decode.Table, error) { return d.Decode(r) })
}

// judge judges the profile that a function decodes.
func (s Set) judge(facts Facts, read func(*decode.Decoder) (*decode.Table, error)) ([]Result, error) {
	rules, err := s.Rules()
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
		results[i] = b.Result(findings[i])
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
	if f.Baseline != nil {
		var err error
		if baseline, err = new(decode.Decoder).Profile(f.Baseline); err != nil {
			return judge.Facts{}, fmt.Errorf("baseline: %w", err)
		}
	}
	return judge.Facts{
		Kind: string(f.Kind), MutexFraction: f.MutexFraction, Elapsed: f.Elapsed, Figures: figures, Work: f.Work,
		Module: f.Module, Baseline: baseline, BaselineWork: f.BaselineWork,
	}, nil
}

// Facts are what is known about a window beyond its profile. Every field is optional. A
// budget that needs a missing one is inconclusive, and its Reason says so.
type Facts struct {
	// Kind is the kind of the profile. By default it is derived from the profile. Mutex and
	// block profiles look the same, so without a Kind budgets of both kinds are judged by such
	// a profile.
	Kind Kind

	// MutexFraction is the argument of runtime.SetMutexProfileFraction when the profile was
	// taken: one contention in so many was observed, and counts as so many. By default it is
	// the greatest common divisor of the profile's counts, or 1 if there are less than four
	// stacks.
	MutexFraction int

	// Elapsed is how long the window was, if the profile does not say so itself.
	Elapsed time.Duration

	// Figures are figures of the process. If one is negative, infinite or NaN, budgets and
	// conditions on it are inconclusive.
	Figures map[Figure]float64

	// Work is the amount of work in the window by unit, for budgets "per" a unit:
	// {"request": 1200}.
	Work map[string]float64

	// Module is the path of the user's own module, for blame, and to tell a server's own work
	// from that of the module. Without it, blame takes all functions outside the standard
	// library for the user's, and only package main is taken for the module.
	Module string

	// Baseline is the profile that "grows" budgets compare with, and BaselineWork the amount
	// of work in it.
	Baseline     *profile.Profile
	BaselineWork map[string]float64
}

// Rules returns the rules for package judge, or an error that lists all mistakes of the set.
// It is for packages of profguard only.
func (s Set) Rules() ([]judge.Rule, error) { return s.RulesAt(time.Now()) }

// RulesAt is [Set.Rules] at another time: exceptions with a day may have ended. It is for packages of
// profguard only.
func (s Set) RulesAt(t time.Time) ([]judge.Rule, error) {
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

func (b *Budget) rule() judge.Rule {
	r := judge.Rule{
		Class:     classOf(b.Subject),
		Subject:   b.Subject,
		Packages:  b.Subject == "no package",
		Limit:     b.Limit.base(),
		Dimension: b.dimension(),
		Flat:      b.Flat,
		Kind:      string(cmp.Or(b.Kind, KindCPU)),
		Per:       b.Per,
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
