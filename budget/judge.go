package budget

import (
	"context"
	"fmt"
	"io"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/blame"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/tally"
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
// is several times faster than parsing the profile first, and input that is
// broken or out of proportion ends in an error before it costs memory.
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
	rules   []rule
	names   *tally.Names
	counter tally.Counter
	decoder decode.Decoder
	symbols decode.Symbols // of profiles that did not come from the decoder
	layout  *layout
	base    baseline
	pkgs    []*pattern.Pattern // by number, for packages in "except"
	matched []bool             // of a Watch, by number: some window had a function that matches

	windows  int       // how many have been counted
	needed   []bool    // by query: asked for by a rule
	rankings []ranking // by query
	over     []int32   // reused
	room     blame.Room
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
	names := tally.NewNames(index)
	return &Judge{
		rules:   rules,
		names:   names,
		counter: tally.Counter{Names: names, Where: c.where, Patterns: len(c.patterns)},
		base:    baseline{counter: tally.Counter{Names: tally.NewNames(index), Where: c.where, Patterns: len(c.patterns)}},
		pkgs:    c.patterns,
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
	if err := j.base.set(ctx, w.facts.Baseline, j); err != nil {
		return nil, err
	}
	if err := j.names.Learn(ctx, t); err != nil {
		return nil, err
	}
	j.counter.Multiple = j.layout.multiple(t, w.facts)
	j.counter.Count(t, func(q int) bool { return j.needed[q] })
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
