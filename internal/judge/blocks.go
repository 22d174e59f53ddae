package judge

import (
	"context"
	"iter"
	"math"
	"slices"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
)

// Blocks judge a test: a piece of work that is repeated and profiled block by block (each
// a CPU profile of 100 ms, say), until every rule is decided. Asking for the verdict after
// each block does not increase the error rate. Blocks keep the evidence about every
// function, over all blocks from the first on.
// They are not safe for concurrent use.
type Blocks struct {
	options evidence.Options
	judge   *Judge
	states  []blockState
	samples int64
}

// blockState is what is known about one rule.
type blockState struct {
	decided evidence.Verdict // of Absent: by a hit, by enough samples without one, or as not linked
	// each is the evidence about each function or package, or about the rule's subject ("").
	// For a rule about each, "" stands for a function that has no samples.
	each    map[string]*evidence.Sequential
	trials  []float64 // by block
	sum     float64   // of the trials
	samples float64   // in the rule's scope, while its condition held
	unknown float64   // of Absent: those of them in which frames that were cut off may match
}

const (
	// absentLeast is how many samples without a hit are enough at the end. To be sure of
	// a share below 1% takes more, but a share of 10% would have shown.
	absentLeast = 30

	// outsideLeast samples without one in a rule's scope show that less than 1% of the
	// work is in scope: "absent" passes on as many. To decide the rule by those
	// samples would take a hundred times as long as any other rule.
	outsideLeast = 300
)

// NewBlocks returns Blocks that judge by the rules.
func NewBlocks(rules []Rule, o evidence.Options) *Blocks {
	return &Blocks{options: o, judge: New(rules), states: make([]blockState, len(rules))}
}

// Samples returns how many samples were judged.
func (b *Blocks) Samples() int64 { return b.samples }

// Add takes the profile of the next block.
func (b *Blocks) Add(t *decode.Table, facts Facts) error {
	w, err := b.judge.open(context.Background(), t, facts)
	if err != nil {
		return err
	}
	b.samples += t.Count()
	for i := range b.states {
		b.addBlock(&b.states[i], w, &b.judge.rules[i])
	}
	return nil
}

// Verdict returns the verdict on rule i as far as it is certain, or if last is set the one that
// Close would give, as far as it is known without the whole profile: growth is inconclusive until
// it is decided.
func (b *Blocks) Verdict(i int, last bool) evidence.Verdict {
	s, r := &b.states[i], &b.judge.rules[i]
	switch {
	case last && s.enoughWithoutHit(r):
		return evidence.Pass
	case s.decided != evidence.Inconclusive || s.each == nil:
		return s.decided
	}
	verdict := evidence.Pass
	for _, f := range s.near(r) {
		v := f.Verdict()
		if last && r.Test != Grows {
			v = f.Close().Verdict
		}
		if severity(v) > severity(verdict) {
			verdict = v
		}
	}
	return verdict
}

// enoughWithoutHit reports whether there are enough samples without a hit for "absent" to pass at the
// end.
func (s *blockState) enoughWithoutHit(r *rule) bool {
	return r.Test == Absent && s.decided == evidence.Inconclusive && s.samples >= absentLeast && s.unknown <= evidence.AbsentShare*s.samples
}

// near yields the functions that came near the limit, and "".
func (s *blockState) near(r *rule) iter.Seq2[string, *evidence.Sequential] {
	return func(yield func(string, *evidence.Sequential) bool) {
		for name, f := range s.each {
			k, n := f.Seen()
			if (name == "" || k >= r.near(n, n*s.samples/s.sum)) && !yield(name, f) {
				return
			}
		}
	}
}

// Failed reports whether a rule has failed for certain.
func (b *Blocks) Failed() bool {
	for i := range b.states {
		if b.Verdict(i, false) == evidence.Fail {
			return true
		}
	}
	return false
}

// Unreachable reports whether more of the same work would not decide rule i: there were
// enough samples, and none was in the rule's scope ("where", "in") or taken while its
// condition held ("when").
func (b *Blocks) Unreachable(i int) bool {
	s := &b.states[i]
	return s.samples == 0 && b.samples >= outsideLeast && b.Verdict(i, false) == evidence.Inconclusive
}

// addBlock adds a block to the evidence about a rule.
func (b *Blocks) addBlock(s *blockState, w *window, r *rule) {
	if w.isNotLinked(r) {
		if r.Test == Absent {
			s.decided = evidence.Pass
		}
		return
	}
	if r.query < 0 || s.decided != evidence.Inconclusive || w.unmet(r) != nil {
		return
	}
	sums := w.judged.counter.Sums(r.query)
	s.samples += sums.N
	if r.Test == Absent {
		s.unknown += hits(sums, sums.Unknown(r.subject))
		s.decided = absent(float64(sums.By(r.subject)), s.samples, s.unknown).Verdict
		return
	}
	c, why := w.comparison(r)
	if why != nil || !(c.n > 0) { // a block without trials says nothing
		return
	}
	s.sum += c.n
	if s.each == nil {
		s.each = map[string]*evidence.Sequential{}
	}
	for name := range c.names(0) {
		if s.each[name] == nil {
			s.each[name] = b.sequential(&c, name, s.trials)
		}
	}
	s.trials = append(s.trials, c.n)
	for name, f := range s.each {
		now, _, _ := c.inWindow(name)
		f.Add(c.hits(now), c.n)
	}
}

// sequential returns the test of a function that had no samples in the blocks before, of which
// trials has the size. The function without samples ("") has not grown if it keeps to a limit of
// its own, however small the baseline is.
func (b *Blocks) sequential(c *comparison, name string, trials []float64) *evidence.Sequential {
	limit := c.limitOf(name)
	if c.Class == Each && name == "" {
		limit = c.limit(0)
		limit.Most, _ = limit.Bounds()
		limit.Grows = false
	}
	s := evidence.NewSequential(limit)
	s.Options = b.options
	for _, n := range trials {
		s.Add(0, n)
	}
	return &s
}

// Close returns the findings when the time is up or all is decided. t holds the samples of
// all blocks, and facts are those of all blocks together. A rule that is not decided by
// then passes if a share of 1.5 times its limit would have been caught: a test near its
// limit must not be flaky. Its Reason says so. Otherwise it is inconclusive, and the Reason
// says what was missing.
func (b *Blocks) Close(t *decode.Table, facts Facts) ([]Finding, error) {
	w, findings, err := b.judge.table(context.Background(), t, facts)
	if err != nil {
		return nil, err
	}
	for i := range findings {
		b.states[i].close(w, &b.judge.rules[i], &findings[i])
	}
	return findings, nil
}

// close replaces the verdict on all samples together by the verdict of the blocks, which
// also know how the samples were spread over time.
func (s *blockState) close(w *window, r *rule, f *Finding) {
	if r.query >= 0 && r.nameless(w.judged.counter.Sums(r.query)) != nil {
		return // the finding on all samples says so, or is a fail
	}
	if s.enoughWithoutHit(r) {
		f.Verdict, f.Value, f.Low, f.High = evidence.Pass, 0, 0, absent(0, s.samples, s.unknown).High
		f.Samples, f.Reason, f.Notes = int64(s.samples), AbsentInBlocks{}, Notes{}
		return
	}
	if s.decided != evidence.Inconclusive || s.each == nil || r.query < 0 {
		return // it is decided, or there was nothing to compare
	}
	c, why := w.comparison(r)
	if why != nil {
		return
	}
	who, e, certain := s.worst(r)
	notes := Notes{}
	if r.isNearLeaf() {
		notes.Cut = f.Cut // the blocks leave out what was cut off, too
	}
	switch {
	case c.before != nil && r.Class == Each && who == "":
		if !certain && f.Verdict == evidence.Pass {
			f.Verdict = evidence.Inconclusive
		}
		return // no function comes near the limit, and the finding on all samples says so
	case f.Cut > 0 && f.Verdict == evidence.Inconclusive && (e.Verdict == evidence.Pass && !r.isNearLeaf() || c.before != nil && e.Verdict != evidence.Fail):
		return // the blocks know nothing about stacks that were cut off
	case r.Class == Each && who == "": // the numbers of the worst function are those of all samples
		c.inSamples(&e)
		f.Verdict, f.Reason, f.Notes = e.Verdict, InBlocks{certain, e.Needed}, notes
		return
	case e.Verdict != evidence.Fail:
		f.Offenders, f.Over = nil, 0
	case r.Class == Each && f.Verdict == evidence.Fail:
		return // all samples together prove it too, and name the deepest function
	case r.Class == Each: // there were samples after the verdict
		all := len(f.Offenders)
		f.Offenders = slices.DeleteFunc(f.Offenders, func(o Offender) bool {
			of := s.each[o.Function]
			return of == nil || of.Verdict() != evidence.Fail
		})
		if f.Over -= all - len(f.Offenders); len(f.Offenders) > 0 {
			who = f.Offenders[0].Function
			e = s.each[who].Close()
		}
	}
	c.inSamples(&e)
	f.set(e)
	k, n := s.each[who].Seen()
	f.Who, f.Hits, f.Samples = who, int64(math.Round(k)), int64(math.Round(n*c.sums.N/c.n))
	f.Notes = notes
	if c.before != nil {
		x := c.of(who)
		x.Finding = e
		f.Reason = c.reason(x, f.Samples)
		return
	}
	f.Reason = InBlocks{certain, e.Needed}
}

// worst is the finding that decides. For a rule about each it is that of the worst function,
// or that of "" when none comes near the limit. It is not certain when it became a pass only
// because the test ended.
func (s *blockState) worst(r *rule) (who string, f evidence.Finding, certain bool) {
	certain = true
	for name, near := range s.near(r) {
		certain = certain && near.Verdict() != evidence.Inconclusive
		if name == "" {
			continue
		}
		if e := near.Close(); who == "" || worse(e, f) || name < who && !worse(f, e) {
			who, f = name, e
		}
	}
	if who == "" {
		f = s.each[""].Close()
	}
	return who, f, certain || f.Verdict == evidence.Fail
}
