package judge

import (
	"context"
	"iter"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/unit"
)

// Blocks judge a test: a piece of work that is done again and again and profiled block
// by block (100 ms, say, each a CPU profile of its own), until every rule is decided.
// They may be asked after each block without erring more often. They keep evidence for
// every function that comes near a limit, over all blocks from the first on.
// They are not safe for concurrent use.
type Blocks struct {
	Options
	judge     *Judge
	standings []blockStanding
	samples   int64
}

// Options say what blocks are.
type Options struct {
	// Runs says that each block is one whole run of the work, or several, so that blocks
	// are alike and few of them are enough.
	Runs bool

	// Once says that the blocks end when somebody else decides, as a benchmark's do, and
	// not by a verdict. Close then fails a rule that is exceeded by all blocks
	// together, without the confirmation that more blocks would be.
	Once bool
}

// blockStanding is what is known about one rule.
type blockStanding struct {
	decided evidence.Verdict // by one look: one hit of what should be absent, say
	one     evidence.Sequential
	started bool

	inside  bool   // a sample was in the rule's scope, in a block that it applies to
	outside int64  // samples until then
	gate    Reason // why the last block was none that it applies to

	trials  []float64 // of each block, for what is charged with everything
	sum     float64
	samples float64 // in its scope
	each    map[string]*blockFunction
	nobody  evidence.Sequential // a function that never shows
}

// blockFunction is what is known about one function: its hits, by block, and once
// they are a tenth of the limit, its evidence.
type blockFunction struct {
	blocks []int32
	hits   []float64
	k      float64
	limit  float64
	scale  float64 // its trials, as a part of the block's
	near   *evidence.Sequential
}

// NewBlocks returns what judges blocks by the rules.
func NewBlocks(rules []Rule, o Options) (*Blocks, error) {
	j, err := New(rules)
	if err != nil {
		return nil, err
	}
	return &Blocks{Options: o, judge: j, standings: make([]blockStanding, len(rules))}, nil
}

// Samples returns how many samples were judged.
func (b *Blocks) Samples() int64 { return b.samples }

// Add takes the profile of the next block.
func (b *Blocks) Add(p *profile.Profile, facts Facts) error {
	t, err := decode.FromProfile(p, &b.judge.symbols)
	if err != nil {
		return err
	}
	w, err := b.judge.open(context.Background(), t, facts)
	if err != nil {
		return err
	}
	n := w.total(0) // the first value counts the samples
	b.samples += n
	for i := range b.standings {
		b.feed(&b.standings[i], w, &b.judge.rules[i], n)
	}
	return nil
}

// Decided returns the verdict on rule i as far as it is certain.
func (b *Blocks) Decided(i int) evidence.Verdict {
	s := &b.standings[i]
	switch {
	case s.decided != evidence.Inconclusive:
		return s.decided
	case s.each == nil:
		return s.one.Verdict()
	}
	verdict := s.nobody.Verdict()
	for _, near := range s.near(&b.judge.rules[i]) {
		switch near.Verdict() {
		case evidence.Fail:
			return evidence.Fail
		case evidence.Inconclusive:
			verdict = evidence.Inconclusive
		}
	}
	return verdict
}

// near are the functions that came near the limit, or all that the rule is about ("").
func (s *blockStanding) near(r *rule) iter.Seq2[string, *evidence.Sequential] {
	return func(yield func(string, *evidence.Sequential) bool) {
		if s.each == nil {
			yield("", &s.one)
			return
		}
		for name, f := range s.each {
			// Growth per unit of work is not asked of who has little, as in one window.
			small := r.Test == Grows && r.Dimension != unit.Points && f.k < smallShare*s.samples
			if f.near != nil && !small && !yield(name, f.near) {
				return
			}
		}
	}
}

// Closing returns the verdict that Close would give on rule i, as far as that is known
// without the whole profile: growth is open until it is decided.
func (b *Blocks) Closing(i int) evidence.Verdict {
	s, r := &b.standings[i], &b.judge.rules[i]
	v := b.Decided(i)
	switch {
	case v == evidence.Inconclusive && r.Test == Absent && s.sum >= absentLeast:
		return evidence.Pass
	case v != evidence.Inconclusive || r.Test == Grows || !s.started && s.each == nil:
		return v
	}
	_, f, _, _ := s.worst(r)
	return f.Verdict
}

// Failed reports whether a rule has failed for certain.
func (b *Blocks) Failed() bool {
	for i := range b.standings {
		if b.Decided(i) == evidence.Fail {
			return true
		}
	}
	return false
}

// feed adds a block of so many samples to what is known about a rule.
func (b *Blocks) feed(s *blockStanding, w *window, r *rule, samples int64) {
	if w.isNotLinked(r) {
		if r.Test == Absent {
			s.decided = evidence.Pass
		}
		return
	}
	if gate := w.gate(r); gate != nil {
		s.gate, s.outside = gate, charge.AddSaturating(s.outside, samples)
		return
	}
	if r.query < 0 || s.decided != evidence.Inconclusive {
		return
	}
	sums := w.judged.counter.Sums(r.query)
	s.look(r, sums, samples)
	if r.Test == Absent {
		s.sum += sums.N
		s.decided = evidence.Absent(float64(sums.By(r.subject)), s.sum).Verdict
		return
	}
	counts := w.countsOf(r, sums)
	if counts == nil {
		return
	}
	_, n, limit := counts("", 0)
	if n <= 0 {
		return // as evidence has it, a block without trials says nothing
	}
	switch {
	case r.Class == Each:
		if s.each == nil {
			s.each, s.nobody = map[string]*blockFunction{}, b.tuned(evidence.NewSequential(limit))
		}
		b.feedEach(s, w, r, sums, counts, n)
	default:
		k, n, limit := counts("", r.charged(sums))
		if !s.started {
			s.one, s.started = b.sequential(w, r, "", limit), true
		}
		s.one.Add(k, n)
	}
}

// sequential judges the share, rate or growth of somebody.
func (b *Blocks) sequential(w *window, r *rule, name string, limit float64) evidence.Sequential {
	if r.Test == Grows {
		if g, why := w.growthOf(r); why == nil {
			return b.tuned(g.sequential(name))
		}
	}
	return b.tuned(evidence.NewSequential(limit))
}

// tuned tells a test what blocks are, and who ends them.
func (b *Blocks) tuned(s evidence.Sequential) evidence.Sequential {
	if b.Runs {
		s.Runs()
	}
	if b.Once {
		s.Once()
	}
	return s
}

// feedEach adds a block of n trials to what is known about every function.
func (b *Blocks) feedEach(s *blockStanding, w *window, r *rule, sums *charge.Sums, counts counts, n float64) {
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
			f = &blockFunction{limit: limit, scale: trials / n}
			s.each[name] = f
		}
		f.blocks, f.hits = append(f.blocks, block), append(f.hits, k)
		f.k += k
		if f.near != nil {
			f.near.Add(k, trials)
		} else if f.k >= s.sum*f.scale*f.limit/10 {
			near := b.sequential(w, r, name, f.limit)
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
func (f *blockFunction) replay(s *evidence.Sequential, trials []float64) {
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

// Close returns the findings when there is no time left, or no need for more. p holds
// all blocks' samples, and facts are those of all blocks together. A rule that is
// not decided by then passes when a share of 1.5 times its limit would have been
// caught: a test near its limit must not flake. Its Reason says so. Otherwise it is
// inconclusive, and the Reason says what was missing.
func (b *Blocks) Close(p *profile.Profile, facts Facts) ([]Finding, error) {
	t, err := decode.FromProfile(p, &b.judge.symbols)
	if err != nil {
		return nil, err
	}
	w, findings, err := b.judge.table(context.Background(), t, facts)
	if err != nil {
		return nil, err
	}
	for i := range findings {
		f := &findings[i]
		b.standings[i].close(w, &b.judge.rules[i], f)
		if why := b.standings[i].outsideOf(&b.judge.rules[i], t); why != nil && f.Verdict == evidence.Inconclusive {
			f.Reason, f.Notes = why, Notes{}
		} else {
			f.Outside = why
		}
	}
	return findings, nil
}
