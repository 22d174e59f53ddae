package budget

import (
	"context"
	"io"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
)

// A Watch judges window after window of one process and weighs what they say
// together: each Result also has an Alarm. Where the verdict of a window asks
// "do these samples prove it", the alarm asks "do all samples so far", so it
// finds a small excess that no window shows by itself, and it may be looked at
// after every window without crying wolf: about once in a hundred months at a
// window a minute.
//
// A window that was lost is not given to a Watch.
// It is not safe for concurrent use.
type Watch struct {
	judge  *Judge
	states []state
}

const (
	// month is the time in which a Watch may err once in a hundred.
	month = 30 * 24 * time.Hour
	// chance of a false alarm in a month, over all budgets.
	chance = 0.01
	// perSample is how many distinct functions a stack was measured to have.
	perSample = 10
)

// NewWatch returns a watch for a process of which there is a window every so
// often (0 means a minute).
func NewWatch(set Set, every time.Duration) (*Watch, error) {
	j, err := NewJudge(set)
	if err != nil {
		return nil, err
	}
	j.matched = make([]bool, len(j.pkgs))
	if every <= 0 {
		every = time.Minute
	}
	w := &Watch{judge: j, states: make([]state, len(j.rules))}
	windows := float64(month / every)
	for i := range j.rules {
		tests := 1.0
		if r := &j.rules[i]; r.class == classEach {
			tests = evidence.Tests(perSample, r.limit)
			if r.dim != dimShare || r.budget.Flat {
				tests = evidence.Tests(1, 0.02)
			}
		}
		w.states[i].lnA = evidence.LnA(windows, float64(len(set)), tests, chance)
	}
	return w, nil
}

// Inherit moves what from has learnt about its budget j, counted from 0, to w's
// budget i: for a set that replaces another, in which some budgets stay. It does
// nothing unless the two are the same, name and sentence.
func (w *Watch) Inherit(i int, from *Watch, j int) {
	if w.judge.rules[i].budget.String() != from.judge.rules[j].budget.String() {
		return
	}
	lnA := w.states[i].lnA
	w.states[i], from.states[j] = from.states[j], state{lnA: from.states[j].lnA}
	w.states[i].retune(lnA)
	if subject := w.judge.rules[i].subject; subject >= 0 && from.judge.matched[from.judge.rules[j].subject] {
		w.judge.matched[subject] = true
	}
}

// Reader judges the next window, that ended at a time since any fixed instant.
func (w *Watch) Reader(r io.Reader, at time.Duration, facts ...Facts) ([]Result, error) {
	ctx, t, err := w.judge.read(r)
	if err != nil {
		return nil, err
	}
	return w.table(ctx, t, at, facts)
}

// Profile judges the next window from a parsed profile.
func (w *Watch) Profile(p *profile.Profile, at time.Duration, facts ...Facts) ([]Result, error) {
	t, err := decode.FromProfile(p, &w.judge.symbols)
	if err != nil {
		return nil, err
	}
	return w.table(context.Background(), t, at, facts)
}

func (w *Watch) table(ctx context.Context, t *decode.Table, at time.Duration, facts []Facts) ([]Result, error) {
	win, results, err := w.judge.table(ctx, t, facts)
	if err != nil {
		return nil, err // and nothing has been added to the evidence
	}
	for i := range results {
		w.states[i].feed(win, &w.judge.rules[i], at, &results[i])
	}
	return results, nil
}
