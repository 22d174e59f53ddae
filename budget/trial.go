package budget

import (
	"context"
	"io"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/blocks"
	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
)

// A trial is the judge of a test's blocks; see package blocks. It keeps evidence for
// every function that comes near a limit, over all blocks from the first on.
type trial struct {
	blocks.Options
	judge  *Judge
	stack  []string // reused
	states []course
	labels map[label]bool // that samples carry, if a budget asks for one

	blocks, samples, dropped int64
}

func init() {
	blocks.New = func(set Set, o blocks.Options) (blocks.Judge[Facts, Result, Verdict], error) { return newTrial(set, o) }
}

// course is what a trial knows about one budget.
type course struct {
	decided Verdict // by one look: one hit of what should be absent, say
	one     evidence.Sequential
	started bool

	inside  bool   // a sample was in the budget's scope, in a block that it applies to
	outside int64  // samples until then
	gated   string // why the last block was none that it applies to

	trials  []float64 // of each block, for what is charged with everything
	sum     float64
	samples float64 // in its scope
	each    map[string]*functionCourse
	nobody  evidence.Sequential // a function that never shows
}

// functionCourse is what a trial knows about one function: its hits, by block,
// and once they are a tenth of the limit, its evidence.
type functionCourse struct {
	blocks []int32
	hits   []float64
	k      float64
	limit  float64
	scale  float64 // its trials, as a part of the block's
	near   *evidence.Sequential
}

func newTrial(set Set, o blocks.Options) (*trial, error) {
	j, err := NewJudge(set)
	if err != nil {
		return nil, err
	}
	return &trial{Options: o, judge: j, states: make([]course, len(set))}, nil
}

// Samples returns how many were judged and dropped.
func (t *trial) Samples() (judged, dropped int64) { return t.samples, t.dropped }

// Block takes the profile of the next block.
func (t *trial) Block(r io.Reader, facts Facts) error {
	ctx, table, err := t.judge.read(r)
	if err != nil {
		return err
	}
	t.only(table)
	t.remember(table)
	t.resume(table)
	w, err := t.judge.open(ctx, table, []Facts{facts})
	if err != nil {
		return err
	}
	t.blocks++
	n := samplesIn(table)
	t.samples += n
	for i := range t.states {
		t.feed(&t.states[i], w, &t.judge.rules[i], n)
	}
	return nil
}

// Decided returns the verdict on budget i as far as it is certain.
func (t *trial) Decided(i int) Verdict {
	s := &t.states[i]
	switch {
	case s.decided != Inconclusive:
		return s.decided
	case s.each == nil:
		return Verdict(s.one.Verdict())
	}
	verdict := Verdict(s.nobody.Verdict())
	for _, f := range s.each {
		if f.near == nil || s.trifling(&t.judge.rules[i], f) {
			continue
		}
		switch f.near.Verdict() {
		case evidence.Fail:
			return Fail
		case evidence.Inconclusive:
			verdict = Inconclusive
		}
	}
	return verdict
}

// Closing returns the verdict that Close would give on budget i.
func (t *trial) Closing(i int) Verdict {
	s, r := &t.states[i], &t.judge.rules[i]
	if v := t.Decided(i); v != Inconclusive || r.budget.Rule == "grows" || !s.started && s.each == nil {
		if r.budget.Rule == "absent" && v == Inconclusive && s.sum >= absentLeast {
			return Pass
		}
		return v
	}
	_, f, _ := s.worst(r)
	return Verdict(f.Verdict)
}

// Done reports whether every budget is decided.
func (t *trial) Done() bool {
	for i := range t.states {
		if t.Decided(i) == Inconclusive {
			return false
		}
	}
	return true
}

// Failed reports whether a budget has failed for certain.
func (t *trial) Failed() bool {
	for i := range t.states {
		if t.Decided(i) == Fail {
			return true
		}
	}
	return false
}

// feed adds a block of so many samples to what is known about a budget.
func (t *trial) feed(s *course, w *window, r *rule, samples int64) {
	if r.subject >= 0 && slices.Contains(w.facts.NotLinked, r.budget.Subject) {
		if r.budget.Rule == "absent" {
			s.decided = Pass
		}
		return
	}
	if reason, gated := w.gate(r); gated {
		s.gated, s.outside = reason, charge.AddSaturating(s.outside, samples)
		return
	}
	if r.query < 0 || s.decided != Inconclusive {
		return
	}
	sums := w.judged.counter.Sums(r.query)
	s.look(r, sums, samples)
	counts, ok := w.trialCounts(r, sums)
	if !ok {
		return
	}
	_, n, limit := counts("", 0)
	if n <= 0 {
		return // as evidence has it, a block without trials says nothing
	}
	switch {
	case r.budget.Rule == "absent":
		s.sum += n
		if sums.By(r.subject) > 0 {
			s.decided = Fail
		} else if evidence.Absent(0, s.sum, 1, 0).Verdict == evidence.Pass {
			s.decided = Pass
		}
	case r.class == classEach:
		if s.each == nil {
			s.each, s.nobody = map[string]*functionCourse{}, t.sequential(limit)
		}
		t.feedEach(s, w, r, sums, counts, n)
	default:
		value := sums.Total
		if r.subject >= 0 {
			value = sums.By(r.subject)
		}
		k, n, limit := counts("", value)
		if !s.started {
			s.one, s.started = t.judgeOf(w, r, "", limit), true
		}
		s.one.Add(k, n)
	}
}

// trialCounts is countsOf, which needs samples to tell what one is worth; a block of
// work that left none says something about a rate all the same.
func (w *window) trialCounts(r *rule, sums *charge.Sums) (counts, bool) {
	if sums.Total > 0 || r.budget.Rule == "grows" || r.dim == dimShare || r.budget.Rule == "absent" {
		if r.budget.Rule == "absent" {
			return func(_ string, v int64) (float64, float64, float64) { return float64(v), sums.N, 0 }, true
		}
		return w.countsOf(r, sums)
	}
	over, problem := w.divisor(r)
	worth := float64(w.t.Period) * r.value.scale
	if problem != "" || worth <= 0 {
		return nil, false
	}
	trials := evidence.Trials(over/worth, r.limit)
	return func(string, int64) (float64, float64, float64) { return 0, trials, evidence.RareShare }, true
}

func (t *trial) sequential(limit float64) evidence.Sequential {
	return t.tuned(evidence.NewSequential(limit))
}

// tuned tells a judge what blocks are, and who ends them.
func (t *trial) tuned(s evidence.Sequential) evidence.Sequential {
	if t.Runs {
		s.Runs()
	}
	if t.Once {
		s.Once()
	}
	return s
}

// feedEach adds a block of n trials to what is known about every function.
func (t *trial) feedEach(s *course, w *window, r *rule, sums *charge.Sums, counts counts, n float64) {
	block := int32(len(s.trials))
	s.trials = append(s.trials, n)
	s.sum += n
	s.samples += sums.N
	s.nobody.Add(0, n)
	for _, key := range sums.Keys {
		name := w.keyName(sums, key)
		k, trials, limit := counts(name, sums.By(key))
		f := s.each[name]
		if f == nil {
			f = &functionCourse{limit: limit, scale: trials / n}
			s.each[name] = f
		}
		f.blocks, f.hits = append(f.blocks, block), append(f.hits, k)
		f.k += k
		if f.near != nil {
			f.near.Add(k, trials)
		} else if f.k >= s.sum*f.scale*f.limit/10 {
			near := t.judgeOf(w, r, name, f.limit)
			f.replay(&near, s.trials)
			f.near = &near
		}
	}
	for _, f := range s.each {
		if f.near != nil && f.blocks[len(f.blocks)-1] != block {
			f.near.Add(0, n*f.scale)
		}
	}
}

// replay makes up for the blocks in which nobody looked at the function.
func (f *functionCourse) replay(s *evidence.Sequential, trials []float64) {
	next := 0
	for block, n := range trials {
		k := 0.0
		if next < len(f.blocks) && int(f.blocks[next]) == block {
			k = f.hits[next]
			next++
		}
		s.Add(k, n*f.scale)
	}
}

// Close returns the results when there is no time left, or no need for more.
func (t *trial) Close(p *profile.Profile, facts Facts) ([]Result, error) {
	table, err := decode.FromProfile(p, &t.judge.symbols)
	if err != nil {
		return nil, err
	}
	t.resume(table)
	w, err := t.judge.open(context.Background(), table, []Facts{facts})
	if err != nil {
		return nil, err
	}
	results := make([]Result, len(t.states))
	for i := range results {
		r := &t.judge.rules[i]
		results[i] = w.judge(r)
		t.states[i].close(w, r, &results[i])
		if why := t.outside(i); why != "" && results[i].Verdict == Inconclusive {
			results[i].Reason = why
		} else if why != "" {
			results[i].Reason += "; " + why
		}
	}
	return results, nil
}
