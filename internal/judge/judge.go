// Package judge compares profiles with rules, which are budgets without their words, and
// returns findings as values: of one profile ([Judge]), of window after window of one
// process ([Watch]), and of the blocks of a test ([Blocks]). Package budget puts findings
// into words.
//
// Each rule has a regime (regime.go), a file for each: [sampled], [growth], [released], [absent],
// [counted], [figure], [steady] and [leaked].
package judge

import (
	"context"
	"fmt"
	"slices"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/unit"
)

// A Judge judges profile after profile by one set of rules. It remembers what is known
// about each function name, and reuses its memory, so that from the second profile of a
// program on almost nothing is allocated.
// It is not safe for concurrent use.
type Judge struct {
	rules   []rule
	regimes []regime // by rule
	counter charge.Counter
	layout  *charge.Layout
	base    baseline
}

// New returns a judge for the rules, in whose order the findings come.
func New(rules []Rule) *Judge {
	compiled, c := compile(rules)
	index := pattern.NewIndex(c.patterns)
	counter := func() charge.Counter {
		return charge.Counter{Names: charge.NewNames(index), Where: c.where, Patterns: len(c.patterns), Excepts: c.excepts, Labels: c.labels}
	}
	j := &Judge{rules: compiled, counter: counter(), base: baseline{counter: counter()}}
	for i := range j.rules {
		j.regimes = append(j.regimes, regimeOf(&j.rules[i]))
	}
	return j
}

// Table judges a decoded profile. To judge the next of a program fast, decode both with the
// same decoder. The work stops when the context ends.
func (j *Judge) Table(ctx context.Context, t *decode.Table, facts Facts) ([]Finding, error) {
	_, findings, err := j.windows(ctx, t, facts, false)
	return findings, err
}

// windows judges a window by each rule.
func (j *Judge) windows(ctx context.Context, t *decode.Table, facts Facts, watched bool) (*measurement, []Finding, error) {
	m, err := j.measure(ctx, t, facts)
	if err != nil {
		return nil, nil, err
	}
	m.watched = watched
	findings := make([]Finding, len(j.rules))
	for i, r := range j.regimes {
		if ctx.Err() != nil {
			return nil, nil, fmt.Errorf("judge the profile: %w", context.Cause(ctx))
		}
		if findings[i] = r.window(m); m.compared > maxCompared {
			return nil, nil, fmt.Errorf("judge the profile: more than %d functions are near the limits of the budgets or over them, each counted for each budget: "+
				"take a profile of a shorter time, or budgets with higher limits", maxCompared)
		}
	}
	return m, findings, nil
}

// measure adds up a window's samples.
func (j *Judge) measure(ctx context.Context, t *decode.Table, facts Facts) (*measurement, error) {
	if !j.layout.Fits(t, facts.Kind) {
		j.plan(charge.LayoutOf(t, facts.Kind))
	}
	j.counter.Names.Module, j.counter.Names.Modules = facts.Module, facts.Modules
	if !j.comparesWindows(&facts) {
		j.base.table, j.base.problem = nil, NoBaseline{}
	} else if err := j.base.set(ctx, &facts, j.rules, j.layout); err != nil {
		return nil, err
	}
	if err := j.counter.Names.Learn(ctx, t); err != nil {
		return nil, err
	}
	j.counter.Multiple = j.layout.Multiple(t, facts.MutexFraction)
	if err := count(&j.counter, j.rules, t); err != nil {
		return nil, fmt.Errorf("judge the profile: %w", err)
	}
	m := &measurement{ctx: ctx, t: t, facts: facts, counter: &j.counter, layout: j.layout, base: &j.base, elapsed: facts.Elapsed.Seconds()}
	if m.elapsed <= 0 {
		m.elapsed = float64(t.DurationNanos) * 1e-9
	}
	if v, ok := j.layout.Value(kinds.Mutex, unit.Waited); ok && facts.MutexFraction > 1 { // a few long waits may be in no sample
		m.unseen = max(0, int64(facts.Waited)-m.total(v.Index))
	}
	return m, nil
}

// comparesWindows reports whether windows are compared with a baseline, and not only builds with each other: then
// it is added up by the queries of all rules, which takes memory.
func (j *Judge) comparesWindows(facts *Facts) bool {
	return slices.ContainsFunc(j.regimes, func(r regime) bool {
		_, builds := r.(released)
		return r.needs().Baseline && !(builds && facts.Releases != nil)
	})
}

// plan adds the queries that the rules need for profiles with the layout.
func (j *Judge) plan(l *charge.Layout) {
	j.layout = l
	j.base.table = nil
	for _, c := range [...]*charge.Counter{&j.base.counter, &j.counter} { // a query has the same number in both
		c.Forget()
		for i := range j.rules {
			j.rules[i].ask(c, l)
		}
	}
}
