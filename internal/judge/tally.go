package judge

import (
	"iter"
	"math"
	"slices"

	"github.com/profguard/profguard/internal/evidence"
)

// A tally is what [Blocks] know of one rule. What of it is used depends on the regime.
type tally struct {
	clean                    // in the rule's scope, while its condition held
	decided evidence.Verdict // of "absent": by a hit, by enough samples without one, or as not linked

	// each is the evidence about each function or package, or about the rule's subject ("").
	// For a rule about each, "" stands for a function that has no samples.
	each    map[string]*evidence.Sequential
	options evidence.Options
	trials  []float64 // by block
	sum     float64   // of the trials

	costs    *costs  // of growth in shares, where the work is known
	whole    *whole  // of all rules
	looked   float64 // its samples when it was compared last
	compared Finding // and what that showed
}

// add adds a block to the evidence. A block without trials says nothing.
func (t *tally) add(c *charges, limit func(name string) evidence.Limit) {
	if !(c.n > 0) {
		return
	}
	t.sum += c.n
	if t.each == nil {
		t.each = map[string]*evidence.Sequential{}
	}
	for name := range c.names(0) {
		if t.each[name] == nil {
			t.each[name] = t.sequential(limit(name))
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

// near yields the functions that came near the limit, and "".
func (t *tally) near(near func(n, samples float64) float64) iter.Seq2[string, *evidence.Sequential] {
	return func(yield func(string, *evidence.Sequential) bool) {
		for name, f := range t.each {
			k, n := f.Seen()
			if (name == "" || k >= near(n, n*t.samples/t.sum)) && !yield(name, f) {
				return
			}
		}
	}
}

// verdict is that of the worst function, or the one that it would have if this was the end.
func (t *tally) verdict(near func(n, samples float64) float64, last bool) evidence.Verdict {
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
func (t *tally) worst(near func(n, samples float64) float64) (who string, f evidence.Finding, certain bool) {
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
	if e.Verdict == evidence.Fail && c.Class == Each {
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
	if c.isNearLeaf() {
		n.Cut = all.Cut // the blocks leave out what was cut off, too
	}
	return n
}
