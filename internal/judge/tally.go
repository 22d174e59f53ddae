package judge

import (
	"iter"
	"math"
	"slices"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/release"
)

// A tally is what [Blocks] know of one rule. What of it is used depends on the regime.
type tally struct {
	clean                    // in the rule's scope, while its condition held
	decided evidence.Verdict // of "absent": by a hit, by enough samples without one, or as not linked

	// each is the evidence about each function or package, or about the rule's subject ("").
	// For a rule about each, "" stands for a function that has no samples.
	each    map[string]*evidence.Sequential
	valued  bool // a sample had the label whose values the rule is about
	options evidence.Options
	trials  []float64 // by block

	// Of growth in points, see [released]: the baseline, and the sum of the blocks.
	before, blocks *release.Side
	looked, failed float64 // the number of blocks when they were compared last, and when they first failed
	of             *release.Comparison
}

// add adds a block to the evidence. A block without trials says nothing.
func (t *tally) add(c *charges, limit evidence.Limit) {
	if !(c.n > 0) {
		return
	}
	if t.each == nil {
		t.each = map[string]*evidence.Sequential{}
	}
	for name := range c.names(0) {
		switch {
		case t.each[name] != nil:
		case c.Class == EachValue && len(t.each) > charge.MostValues: // the samples of all blocks have as many values
		default:
			t.each[name] = t.sequential(limit)
		}
	}
	t.trials = append(t.trials, c.n)
	for name, f := range t.each {
		now, _, _ := c.of(name)
		f.Add(c.hits(now), c.n)
	}
}

// sequential returns the test of a function that had no samples in the blocks before.
func (t *tally) sequential(limit evidence.Limit) *evidence.Sequential {
	s := evidence.NewSequential(limit)
	s.Options = t.options
	for _, n := range t.trials {
		s.Add(0, n)
	}
	return &s
}

// near yields "" and the functions that came near the limit: with such a part of the trials as hits.
func (t *tally) near(part float64) iter.Seq2[string, *evidence.Sequential] {
	return func(yield func(string, *evidence.Sequential) bool) {
		for name, f := range t.each {
			k, n := f.Seen()
			if (name == "" || k >= part*n) && !yield(name, f) {
				return
			}
		}
	}
}

// verdict is that of the worst function, or the one that it would have if this was the end.
func (t *tally) verdict(near float64, last bool) evidence.Verdict {
	if t.each == nil {
		return evidence.Inconclusive
	}
	verdict := evidence.Pass
	for _, f := range t.near(near) {
		v := f.Verdict()
		if last {
			v = f.Close().Verdict
		}
		if severity(v) > severity(verdict) {
			verdict = v
		}
	}
	return verdict
}

// worst is the finding that decides. For a rule about each it is that of the worst function,
// or that of "" when none comes near the limit. It is not certain when it became a pass only
// because the test ended.
func (t *tally) worst(near float64) (who string, f evidence.Finding, certain bool) {
	certain = true
	for name, s := range t.near(near) {
		certain = certain && s.Verdict() != evidence.Inconclusive
		if name == "" {
			continue
		}
		if e := s.Close(); who == "" || worse(e, f) || name < who && !worse(f, e) {
			who, f = name, e
		}
	}
	if who == "" {
		f = t.each[""].Close()
	}
	return who, f, certain || f.Verdict == evidence.Fail
}

// finding is the finding of the blocks about a name. all is that on their samples together. It names
// the offenders, of which some have no verdict of their own: there were samples after the one that
// decided.
func (t *tally) finding(c *charges, who string, e evidence.Finding, all Finding) (Finding, evidence.Finding) {
	f := Finding{}
	if e.Verdict == evidence.Fail {
		f.Offenders, f.Over = all.Offenders, all.Over
	}
	if e.Verdict == evidence.Fail && c.Class.IsEach() {
		f.Offenders = slices.DeleteFunc(f.Offenders, func(o Offender) bool {
			of := t.each[o.Function]
			return of == nil || of.Verdict() != evidence.Fail
		})
		if f.Over -= len(all.Offenders) - len(f.Offenders); len(f.Offenders) > 0 {
			who = f.Offenders[0].Function
			e = t.each[who].Close()
		}
	}
	e.Needed = c.samplesOf(e.Needed)
	k, n := t.each[who].Seen()
	f.Verdict, f.Value, f.Low, f.High = e.Verdict, e.Value, e.Low, e.High
	f.Who, f.Hits, f.Samples = who, int64(math.Round(k)), int64(math.Round(n*c.sums.N/c.n))
	f.Notes = c.notesInBlocks(all)
	return f, e
}

// notesInBlocks are the notes that are true of blocks, too.
func (c *charges) notesInBlocks(all Finding) (n Notes) {
	n.Without = all.Without
	if c.isNearLeaf() {
		n.Cut = all.Cut // the blocks leave out what was cut off, too
	}
	return n
}
