package budget

import (
	"context"
	"io"
	"maps"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/tally"
)

// A Trial judges a test: a piece of work that is done again and again and
// profiled block by block (100 ms, say, each a CPU profile of its own), until
// every budget is decided. It may be asked after each block without erring more
// often, and no sooner than the blocks allow; see package guard, whose Check is
// made of it.
//
// It keeps evidence for every function that comes near a limit, over all blocks
// from the first on. It is not safe for concurrent use.
type Trial struct {
	judge  *Judge
	where  map[string]string
	drop   func(stack []string) bool
	stack  []string // reused
	runs   bool
	once   bool
	states []course
	labels map[label]bool // that samples carry, if a budget asks for one

	// Blocks and Samples count what was fed, and what of it had the labels and
	// was not dropped; Dropped is what was.
	Blocks, Samples, Dropped int64
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

// NewTrial returns a trial that counts only samples with all of these labels.
func NewTrial(set Set, where map[string]string) (*Trial, error) {
	j, err := NewJudge(set)
	if err != nil {
		return nil, err
	}
	return &Trial{judge: j, where: maps.Clone(where), states: make([]course, len(set))}, nil
}

// Runs says that each block is one whole run of the work, or several, so that
// blocks are alike and few of them are enough. It must come before the first
// block.
func (t *Trial) Runs() { t.runs = true }

// Once says that the blocks end when somebody else decides, as a benchmark's do, and
// not by a verdict. [Trial.Close] then fails a budget that is exceeded by all blocks
// together, without the confirmation that more blocks would be. It must come before
// the first block.
func (t *Trial) Once() { t.once = true }

// Drop leaves out samples that have the labels and are not the work's all the
// same, as those of the loop that calls it. drop is given the names of the
// functions of a stack, the leaf first, which it must not keep, and reports
// whether the sample is one of those. It must come before the first block.
func (t *Trial) Drop(drop func(stack []string) bool) { t.drop = drop }

// Block takes the profile of the next block. What the runtime put on top of a
// function to interrupt it is that function's.
func (t *Trial) Block(r io.Reader, facts ...Facts) error {
	ctx, table, err := t.judge.read(r)
	if err != nil {
		return err
	}
	t.only(table)
	t.remember(table)
	t.resume(table)
	w, err := t.judge.open(ctx, table, facts)
	if err != nil {
		return err
	}
	t.Blocks++
	n := samplesIn(table)
	t.Samples += n
	for i := range t.states {
		t.feed(&t.states[i], w, &t.judge.rules[i], n)
	}
	return nil
}

// Decided returns the verdict on budget i as far as it is certain.
func (t *Trial) Decided(i int) Verdict {
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

// Done reports whether every budget is decided.
func (t *Trial) Done() bool {
	for i := range t.states {
		if t.Decided(i) == Inconclusive {
			return false
		}
	}
	return true
}

// Failed reports whether a budget has failed for certain.
func (t *Trial) Failed() bool {
	for i := range t.states {
		if t.Decided(i) == Fail {
			return true
		}
	}
	return false
}

// feed adds a block of so many samples to what is known about a budget.
func (t *Trial) feed(s *course, w *window, r *rule, samples int64) {
	if r.subject >= 0 && slices.Contains(w.facts.NotLinked, r.budget.Subject) {
		if r.budget.Rule == "absent" {
			s.decided = Pass
		}
		return
	}
	if reason, gated := w.gate(r); gated {
		s.gated, s.outside = reason, tally.AddSaturating(s.outside, samples)
		return
	}
	if r.query < 0 || s.decided != Inconclusive {
		return
	}
	sums := w.judged.counter.Sums(r.query)
	s.look(r, sums, samples)
	bet, ok := w.trialBet(r, sums)
	if !ok {
		return
	}
	_, n, limit := bet("", 0)
	if n <= 0 {
		return // as evidence has it, a block without trials says nothing
	}
	switch {
	case r.budget.Rule == "absent":
		s.sum += n
		if sums.By[r.subject] > 0 {
			s.decided = Fail
		} else if evidence.Absent(0, s.sum, 1, 0).Verdict == evidence.Pass {
			s.decided = Pass
		}
	case r.class == classEach:
		if s.each == nil {
			s.each, s.nobody = map[string]*functionCourse{}, t.sequential(limit)
		}
		t.feedEach(s, w, r, sums, bet, n)
	default:
		value := sums.Total
		if r.subject >= 0 {
			value = sums.By[r.subject]
		}
		k, n, limit := bet("", value)
		if !s.started {
			s.one, s.started = t.judgeOf(w, r, "", limit), true
		}
		s.one.Add(k, n)
	}
}

// trialBet is betOf, which needs samples to tell what one is worth; a block of
// work that left none says something about a rate all the same.
func (w *window) trialBet(r *rule, sums *tally.Sums) (bet, bool) {
	if sums.Total > 0 || r.budget.Rule == "grows" || r.dim == dimShare || r.budget.Rule == "absent" {
		if r.budget.Rule == "absent" {
			return func(_ string, v int64) (float64, float64, float64) { return float64(v), sums.N, 0 }, true
		}
		return w.betOf(r, sums)
	}
	over, problem := w.divisor(r)
	worth := float64(w.t.Period) * r.value.scale
	if problem != "" || worth <= 0 {
		return nil, false
	}
	trials := evidence.Trials(over/worth, r.limit)
	return func(string, int64) (float64, float64, float64) { return 0, trials, evidence.RareShare }, true
}

func (t *Trial) sequential(limit float64) evidence.Sequential {
	return t.tuned(evidence.NewSequential(limit))
}

// tuned tells a judge what blocks are, and who ends them.
func (t *Trial) tuned(s evidence.Sequential) evidence.Sequential {
	if t.runs {
		s.Runs()
	}
	if t.once {
		s.Once()
	}
	return s
}

// feedEach adds a block of n trials to what is known about every function.
func (t *Trial) feedEach(s *course, w *window, r *rule, sums *tally.Sums, bet bet, n float64) {
	block := int32(len(s.trials))
	s.trials = append(s.trials, n)
	s.sum += n
	s.samples += sums.N
	s.nobody.Add(0, n)
	for _, key := range sums.Keys {
		if w.excepted(r, sums, key) {
			continue
		}
		name := w.keyName(sums, key)
		k, trials, limit := bet(name, sums.By[key])
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
// p holds all blocks' samples that have the labels, and facts are those of all
// blocks together.
//
// A budget that is not decided by then passes when a share of 1.5 times its
// limit would have been caught: a test near its limit must not flake. Its Reason
// says so. Otherwise it is inconclusive, and the Reason says what was missing.
func (t *Trial) Close(p *profile.Profile, facts ...Facts) ([]Result, error) {
	table, err := decode.FromProfile(p, &t.judge.symbols)
	if err != nil {
		return nil, err
	}
	t.resume(table)
	w, err := t.judge.open(context.Background(), table, facts)
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
