package budget

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

// Judge holds a profile against the budgets and returns a result for each, in
// their order. At most one Facts is used. Budgets that p can say nothing about
// (of another kind, say) are inconclusive.
func (s Set) Judge(p *profile.Profile, facts ...Facts) []Result {
	j, err := NewJudge(s)
	if err == nil {
		var results []Result
		if results, err = j.Profile(p, facts...); err == nil {
			return results
		}
	}
	results := make([]Result, len(s))
	for i, b := range s {
		results[i] = Result{Budget: b, Reason: err.Error()}
	}
	return results
}

// JudgeReader is [Set.Judge] for a profile in pprof's format, gzipped or not. It
// is several times faster than parsing the profile first.
//
// What it may cost is bounded, whatever it reads: at most 8 MiB of input, 3 million
// frames, 100 million of them counted once for each part of the profile that a
// budget asks about (budgets without "in" and "where" have theirs in common), and
// 64 MiB of memory; that is about 2 s. Beyond that it returns an error.
// [Set.Judge] has no such bounds.
func (s Set) JudgeReader(r io.Reader, facts ...Facts) ([]Result, error) {
	j, err := NewJudge(s)
	if err != nil {
		return nil, err
	}
	return j.Reader(r, facts...)
}

// A Judge judges profile after profile by one set of budgets. It remembers what
// it found out about each function name, and reuses its memory, so that from
// the second profile of a program on almost nothing is allocated.
// It is not safe for concurrent use.
type Judge struct {
	rules    []rule
	names    *charge.Names
	counter  charge.Counter
	decoder  decode.Decoder
	symbols  decode.Symbols // of profiles that did not come from the decoder
	layout   *layout
	base     baseline
	patterns []*pattern.Pattern // by number
	matched  []bool             // of a Watch, by number: some window had a function that matches

	windows  int       // how many have been counted
	needed   []bool    // by query: asked for by a rule
	rankings []ranking // by query
	over     []int32   // reused
	room     charge.Room
	detailed []int // by query that only offenders need: the window that it was counted for
}

// NewJudge returns a judge for the set, or an error that lists everything that
// is wrong with it.
func NewJudge(set Set) (*Judge, error) {
	rules, c, err := compile(set)
	if err != nil {
		return nil, err
	}
	index := pattern.NewIndex(c.patterns)
	names := charge.NewNames(index)
	return &Judge{
		rules:    rules,
		names:    names,
		counter:  charge.Counter{Names: names, Where: c.where, Patterns: len(c.patterns), Excepts: c.excepts},
		base:     baseline{counter: charge.Counter{Names: charge.NewNames(index), Where: c.where, Patterns: len(c.patterns), Excepts: c.excepts}},
		patterns: c.patterns,
	}, nil
}

// Reader judges a profile in pprof's format, gzipped or not.
func (j *Judge) Reader(r io.Reader, facts ...Facts) ([]Result, error) {
	ctx, t, err := j.read(r)
	if err != nil {
		return nil, err
	}
	_, results, err := j.table(ctx, t, facts)
	return results, err
}

// read decodes the profile, unless whoever calls has done so. The context ends
// the work on it.
func (j *Judge) read(r io.Reader) (context.Context, *decode.Table, error) {
	if ready, ok := r.(*decode.Ready); ok && ready.Table != nil {
		return ready.Context, ready.Table, nil
	}
	t, err := j.decoder.Decode(r)
	return context.Background(), t, err
}

// Profile judges a parsed profile.
func (j *Judge) Profile(p *profile.Profile, facts ...Facts) ([]Result, error) {
	t, err := decode.FromProfile(p, &j.symbols)
	if err != nil {
		return nil, err
	}
	_, results, err := j.table(context.Background(), t, facts)
	return results, err
}

// table judges a window, which it returns too: it is still open to questions.
func (j *Judge) table(ctx context.Context, t *decode.Table, facts []Facts) (*window, []Result, error) {
	w, err := j.open(ctx, t, facts)
	if err != nil {
		return nil, nil, err
	}
	results := make([]Result, len(j.rules))
	for i := range j.rules {
		if ctx.Err() != nil {
			return nil, nil, fmt.Errorf("judge the profile: %w", context.Cause(ctx))
		}
		results[i] = w.judge(&j.rules[i])
	}
	return w, results, nil
}

// open counts the window.
func (j *Judge) open(ctx context.Context, t *decode.Table, facts []Facts) (*window, error) {
	w := &window{judged: j, t: t}
	if len(facts) > 0 {
		w.facts = facts[0]
	}
	if !j.layout.fits(t, w.facts.Kind) {
		j.plan(layoutOf(t, w.facts.Kind))
	}
	j.counter.Module = w.facts.Module
	if err := j.base.set(ctx, w.facts.Baseline, j); err != nil {
		return nil, err
	}
	if err := j.names.Learn(ctx, t); err != nil {
		return nil, err
	}
	if err := j.affordable(t); err != nil {
		return nil, err
	}
	j.counter.Multiple = j.layout.multiple(t, w.facts)
	j.counter.Open(t)
	if j.counter.Count(t, func(q int) bool { return j.needed[q] }); j.counter.Full() {
		return nil, errors.New("judge the profile: the budgets ask for more than 500,000 sums of it, one for each name and part: " +
			"take a profile of a shorter time, or fewer budgets with in or where")
	}
	j.windows++
	w.elapsed = w.facts.Elapsed.Seconds()
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
	j.needed = make([]bool, j.counter.Len())
	j.rankings = make([]ranking, j.counter.Len())
	j.detailed = make([]int, j.counter.Len())
	for i := range j.rules {
		if q := j.rules[i].query; q >= 0 {
			j.needed[q] = true
		}
	}
}

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
			"take a profile of a shorter time, or fewer budgets with in or where", t.Frames, visits/t.Frames, maxVisits)
	}
	return nil
}
