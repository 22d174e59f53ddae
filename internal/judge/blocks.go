package judge

import (
	"context"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
)

// Blocks judge a test: a piece of work that is done again and again and profiled block
// by block (100 ms, say, each a CPU profile of its own), until every rule is decided.
// They may be asked after each block without erring more often. They keep evidence for
// every function, over all blocks from the first on.
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
	each    map[string]*blockFunction
	trials  []float64 // of each block
	sum     float64   // of them
	samples float64   // in its scope

	inside  bool   // a sample was in the rule's scope, in a block that it applies to
	outside int64  // samples until then
	gate    Reason // why the last block was none that it applies to
}

// blockFunction is what is known about one function or package, or about what the rule is
// about (""), which of a rule about each is a function that never shows.
type blockFunction struct {
	evidence.Sequential
	k float64 // hits
}

const (
	// absentLeast is how many samples without a hit are enough at the end, whatever it
	// takes to be sure of a hundredth: a share of a tenth would have shown.
	absentLeast = 30

	// outsideLeast samples without one in a rule's scope show that less than a hundredth
	// of the work is there: "absent" passes on as many. To decide it by the rest would
	// take a hundred times as long as any other rule.
	outsideLeast = 300
)

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
	t, err := b.judge.decoder.Profile(p)
	if err != nil {
		return err
	}
	w, err := b.judge.open(context.Background(), t, facts)
	if err != nil {
		return err
	}
	b.samples += t.Count()
	for i := range b.standings {
		b.feed(&b.standings[i], w, &b.judge.rules[i])
	}
	return nil
}

// Decided returns the verdict on rule i as far as it is certain.
func (b *Blocks) Decided(i int) evidence.Verdict {
	s := &b.standings[i]
	if s.decided != evidence.Inconclusive || s.each == nil {
		return s.decided
	}
	verdict := evidence.Pass
	for _, f := range s.near(&b.judge.rules[i]) {
		switch f.Verdict() {
		case evidence.Fail:
			return evidence.Fail
		case evidence.Inconclusive:
			verdict = evidence.Inconclusive
		}
	}
	return verdict
}

// near are the functions that came near the limit, and "".
func (s *blockStanding) near(r *rule) iter.Seq2[string, *blockFunction] {
	least := r.near(s.sum, s.samples)
	return func(yield func(string, *blockFunction) bool) {
		for name, f := range s.each {
			if (name == "" || f.k >= least) && !yield(name, f) {
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
	case v != evidence.Inconclusive || r.Test == Grows || s.each == nil:
		return v
	}
	_, f, _ := s.worst(r)
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

// Unreachable reports whether no amount of such work decides rule i: it has seen enough
// of it, and none was in the rule's scope ("where", "in") or came when it applies
// ("when"). The finding of Close says what there was instead.
func (b *Blocks) Unreachable(i int) bool {
	s := &b.standings[i]
	return !s.inside && s.outside >= outsideLeast && b.Decided(i) == evidence.Inconclusive
}

// feed adds a block to what is known about a rule.
func (b *Blocks) feed(s *blockStanding, w *window, r *rule) {
	if w.isNotLinked(r) {
		if r.Test == Absent {
			s.decided = evidence.Pass
		}
		return
	}
	if gate := w.gate(r); gate != nil {
		s.gate, s.outside = gate, charge.AddSaturating(s.outside, w.t.Count())
		return
	}
	if r.query < 0 || s.decided != evidence.Inconclusive {
		return
	}
	sums := w.judged.counter.Sums(r.query)
	if r.in < 0 && r.where < 0 || sums.Total > 0 {
		s.inside = true
	} else {
		s.gate, s.outside = nil, charge.AddSaturating(s.outside, w.t.Count())
	}
	if r.Test == Absent {
		s.sum += sums.N
		s.decided = evidence.Absent(float64(sums.By(r.subject)), s.sum).Verdict
		return
	}
	c, why := w.comparison(r)
	if why != nil || !(c.n > 0) { // as evidence has it, a block without trials says nothing
		return
	}
	s.sum += c.n
	s.samples += sums.N
	if s.each == nil {
		s.each = map[string]*blockFunction{"": {Sequential: b.sequential(&c, "")}}
	}
	if r.Class == Each {
		b.meet(s, &c)
	}
	s.trials = append(s.trials, c.n)
	for name, f := range s.each {
		k := c.hits(c.charged(&w.judged.counter, name))
		f.k += k
		f.Add(k, c.n)
	}
}

// sequential judges somebody, and is told what blocks are and who ends them. Who does not
// show ("") has not grown where it keeps to a limit of its own, however small the baseline is.
func (b *Blocks) sequential(c *comparison, name string) evidence.Sequential {
	limit := c.limitOf(name)
	if c.Class == Each && name == "" {
		limit.Most, _ = limit.Bounds()
		limit.Grows = false
	}
	s := evidence.NewSequential(limit)
	if b.Runs {
		s.Runs()
	}
	if b.Once {
		s.Once()
	}
	return s
}

// meet begins with the functions that show for the first time.
func (b *Blocks) meet(s *blockStanding, c *comparison) {
	for _, key := range c.sums.Keys {
		name := c.name(key)
		if s.each[name] != nil {
			continue
		}
		f := &blockFunction{Sequential: b.sequential(c, name)}
		for _, n := range s.trials { // in which it did not show
			f.Add(0, n)
		}
		s.each[name] = f
	}
}

// Close returns the findings when there is no time left, or no need for more. p holds
// all blocks' samples, and facts are those of all blocks together. A rule that is
// not decided by then passes when a share of 1.5 times its limit would have been
// caught: a test near its limit must not flake. Its Reason says so. Otherwise it is
// inconclusive, and the Reason says what was missing.
func (b *Blocks) Close(p *profile.Profile, facts Facts) ([]Finding, error) {
	t, err := b.judge.decoder.Profile(p)
	if err != nil {
		return nil, err
	}
	w, findings, err := b.judge.table(context.Background(), t, facts)
	if err != nil {
		return nil, err
	}
	for i := range findings {
		f, s, r := &findings[i], &b.standings[i], &b.judge.rules[i]
		s.close(w, r, f)
		if why := s.outsideOf(t); why != nil && f.Verdict == evidence.Inconclusive {
			f.Reason, f.Notes = why, Notes{}
		} else {
			f.Outside = why
		}
	}
	return findings, nil
}

// close replaces the verdict on all samples, which does not know how they came,
// by that of the blocks.
func (s *blockStanding) close(w *window, r *rule, f *Finding) {
	if r.Test == Absent && s.decided == evidence.Inconclusive && s.sum >= absentLeast {
		f.Verdict, f.Value, f.Low, f.High = evidence.Pass, 0, 0, evidence.Absent(0, s.sum).High
		f.Samples, f.Reason, f.Notes = int64(s.sum), AbsentInBlocks{}, Notes{}
		return
	}
	if s.decided != evidence.Inconclusive || s.each == nil || r.query < 0 {
		return // one look was enough, or there was nothing to look at
	}
	c, why := w.comparison(r)
	if why != nil {
		return
	}
	who, e, certain := s.worst(r)
	var likely Reason
	switch {
	case c.before != nil && r.Class == Each && who == "":
		if !certain && f.Verdict == evidence.Pass {
			f.Verdict = evidence.Inconclusive
		}
		return // nobody comes near the limit, and what was found on all samples says so
	case c.sums.Cut > 0 && f.Verdict == evidence.Inconclusive && e.Verdict == evidence.Pass:
		return // no block knows what stacks that were cut off have lost
	}
	if e.Verdict != evidence.Fail {
		f.Offenders, f.Over = nil, 0
	} else if r.Class == Each {
		who, e, likely = s.named(&c, f, who, e)
	}
	c.inSamples(&e)
	f.take(e)
	f.Who, f.Hits = who, int64(math.Round(c.hits(r.charged(&w.judged.counter, who))))
	f.Notes = Notes{}
	if c.before != nil {
		x := c.of(who)
		x.Finding = e
		f.Reason = c.reason(x, f.Samples)
		return
	}
	if f.Reason = likely; likely == nil {
		f.Reason = InBlocks{certain, e.Needed}
	}
	if len(f.Offenders) > 0 && f.Offenders[0].Function == who { // one thing has one lower bound
		f.Offenders[0].Low, f.Offenders[0].High = f.Low, f.High
	}
}

// worst is the finding that decides: of a rule about each, the worst function's, or that
// of nobody ("") when none comes near the limit. It is not certain when only the end made
// it a pass.
func (s *blockStanding) worst(r *rule) (who string, f evidence.Finding, certain bool) {
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

// named keeps the offenders that may be named where who, by its finding e, proves that the
// limit is exceeded: as in a window, one in twenty is doubt enough by then. It returns the
// first of them with its finding, or who where none may be named, and the reason where the
// first is only likely to be above the limit.
func (s *blockStanding) named(c *comparison, f *Finding, who string, e evidence.Finding) (_ string, _ evidence.Finding, likely Reason) {
	all := len(f.Offenders)
	f.Offenders = slices.DeleteFunc(f.Offenders, func(o Offender) bool {
		isLikely := c.before == nil && o.Low > c.Limit && s.each[o.Function] != nil
		return !isLikely && s.proof(c, c.of(o.Function)).Verdict != evidence.Fail
	})
	f.Over -= all - len(f.Offenders)
	if len(f.Offenders) == 0 {
		return who, e, nil
	}
	first := &f.Offenders[0]
	if e = s.proof(c, c.of(first.Function)); e.Verdict == evidence.Fail {
		return first.Function, e, nil
	}
	e.Verdict, e.Low, e.Needed = evidence.Fail, first.Low, 0
	return first.Function, e, Likely{who, s.proof(c, c.of(who)).Low}
}

// proof is the finding on somebody, which fails where it is over the limit beyond doubt:
// by the blocks, or by all samples, which have found x.
func (s *blockStanding) proof(c *comparison, x found) (f evidence.Finding) {
	near := s.each[x.name]
	if near == nil {
		return f
	}
	f = near.Close()
	if f.Low = max(f.Low, x.Low); f.Low > c.Limit {
		f.Verdict, f.Needed, f.Baseline = evidence.Fail, 0, 0
	}
	return f
}

// outsideOf says what keeps everything out of a rule's scope, by the profile of all
// blocks; nil if nothing does.
func (s *blockStanding) outsideOf(t *decode.Table) *Outside {
	if s.inside || s.outside == 0 {
		return nil
	}
	set := map[string]bool{} // the labels, as "key=value"
	for _, l := range t.Labels {
		if l.Str != 0 { // it is no number
			set[string(t.String(l.Key))+"="+string(t.String(l.Str))] = true
		}
	}
	return &Outside{Samples: s.outside, Gate: s.gate, Set: slices.Sorted(maps.Keys(set))}
}
