// Package judge holds profiles against rules, which are budgets without their words,
// and returns what it finds as values: a profile by itself ([Judge]), window after
// window of one process ([Watch]), and a test's blocks ([Blocks]). How a finding is
// said is for package budget.
package judge

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/pattern"
)

// A Judge judges profile after profile by one set of rules. It remembers what it
// found out about each function name, and reuses its memory, so that from the second
// profile of a program on almost nothing is allocated.
// It is not safe for concurrent use.
type Judge struct {
	rules   []rule
	names   *charge.Names
	counter charge.Counter
	decoder decode.Decoder
	symbols decode.Symbols // of profiles that did not come from the decoder
	layout  *layout
	base    baseline

	windows  int        // how many have been counted
	queries  []question // by number in the counter
	over     []int32    // reused, as are findings
	findings []Finding
	room     charge.Room
}

// New returns a judge for the rules, in whose order the findings come.
func New(rules []Rule) (*Judge, error) {
	compiled, c, err := compile(rules)
	if err != nil {
		return nil, err
	}
	index := pattern.NewIndex(c.patterns)
	counter := func() charge.Counter {
		return charge.Counter{Names: charge.NewNames(index), Where: c.where, Patterns: len(c.patterns), Excepts: c.excepts}
	}
	j := &Judge{rules: compiled, counter: counter(), base: baseline{counter: counter()}}
	j.names = j.counter.Names
	return j, nil
}

// Reader judges a profile in pprof's format, gzipped or not.
func (j *Judge) Reader(r io.Reader, facts Facts) ([]Finding, error) {
	t, err := j.decoder.Decode(r)
	if err != nil {
		return nil, err
	}
	return j.Table(context.Background(), t, facts)
}

// Profile judges a parsed profile.
func (j *Judge) Profile(p *profile.Profile, facts Facts) ([]Finding, error) {
	t, err := decode.FromProfile(p, &j.symbols)
	if err != nil {
		return nil, err
	}
	return j.Table(context.Background(), t, facts)
}

// Table judges a profile that has been decoded. The context ends the work on it. The
// findings are good until the next profile.
func (j *Judge) Table(ctx context.Context, t *decode.Table, facts Facts) ([]Finding, error) {
	_, findings, err := j.table(ctx, t, facts)
	return findings, err
}

// table judges a window, which it returns too: it is still open to questions.
func (j *Judge) table(ctx context.Context, t *decode.Table, facts Facts) (*window, []Finding, error) {
	w, err := j.open(ctx, t, facts)
	if err != nil {
		return nil, nil, err
	}
	if j.findings == nil {
		j.findings = make([]Finding, len(j.rules))
	}
	findings := j.findings
	clear(findings)
	for i := range j.rules {
		if ctx.Err() != nil {
			return nil, nil, fmt.Errorf("judge the profile: %w", context.Cause(ctx))
		}
		w.judge(&j.rules[i], &findings[i])
	}
	return w, findings, nil
}

// open counts the window.
func (j *Judge) open(ctx context.Context, t *decode.Table, facts Facts) (*window, error) {
	w := &window{judged: j, t: t, facts: facts}
	if !j.layout.fits(t, facts.Kind) {
		j.plan(layoutOf(t, facts.Kind))
	}
	j.counter.Module = facts.Module
	if err := j.base.set(ctx, facts.Baseline, j); err != nil {
		return nil, err
	}
	if err := j.names.Learn(ctx, t); err != nil {
		return nil, err
	}
	if err := j.affordable(t); err != nil {
		return nil, err
	}
	j.counter.Multiple = j.layout.multiple(t, facts)
	j.counter.Open(t)
	if j.counter.Count(t, j.isNeeded); j.counter.Full() {
		return nil, errors.New("judge the profile: the budgets ask for more than 300,000 sums of it, one for each name and part: " +
			"take a profile of a shorter time, or fewer budgets with an in, where or except of their own")
	}
	j.windows++
	w.elapsed = facts.Elapsed.Seconds()
	if w.elapsed <= 0 {
		w.elapsed = float64(t.DurationNanos) * 1e-9
	}
	return w, nil
}

// plan asks the queries that the rules need of profiles with the layout.
func (j *Judge) plan(l *layout) {
	j.layout = l
	j.counter.Forget()
	j.base.forget()
	for i := range j.rules {
		j.rules[i].ask(&j.counter, l)
	}
	j.queries = make([]question, j.counter.Len())
	for i := range j.rules {
		if q := j.rules[i].query; q >= 0 {
			j.queries[q].needed = true
		}
	}
}

// A question is what is remembered of a query.
type question struct {
	needed  bool // by a rule, in each window
	counted int  // of one that only offenders need: the window that it was counted for
	ranking ranking
}

func (j *Judge) isNeeded(query int) bool { return j.queries[query].needed }

// maxVisits is how often frames are looked at, once for each query. Each look takes
// about 8 ns, so this is under a second. 200,000 frames, which is a minute of a large
// service with labels, leave room for 500 queries.
const maxVisits = 100_000_000

// affordable bounds frames times queries. A query is a part of the profile that
// budgets ask about: all budgets without "in" and "where" have three or four in
// common. A pattern that matches a frame counts as well.
func (j *Judge) affordable(t *decode.Table) error {
	queries := int64(j.counter.Len())
	if visits := t.Frames * (queries + int64(j.names.MostMatches())); visits > maxVisits {
		return fmt.Errorf("judge the profile: %d frames times %d parts that the budgets ask about, at most %d together: "+
			"take a profile of a shorter time, or fewer budgets with an in, where or except of their own", t.Frames, visits/t.Frames, maxVisits)
	}
	return nil
}
