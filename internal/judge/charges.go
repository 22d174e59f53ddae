package judge

import (
	"iter"
	"math"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/unit"
)

// charges are what a measurement charges to a rule: to each function or package where the rule is
// about each, and else to its subject, which has the name "". They are counted in hits: of
// n samples for a share, over an exposure of n for an amount.
type charges struct {
	*rule
	m       *measurement
	sums    *charge.Sums
	n       float64
	divisor float64 // the divisor of amounts; 0 for shares
	unseen  int64   // what may be charged beyond what shows, because the profile may not have it

	// own is the exposure of each value of a label by its own work, 0 if that is not known. It is nil where all are of n.
	own func(value string) float64
}

// exposure is that of a name.
func (c *charges) exposure(name string) float64 {
	if c.own != nil {
		return c.own(name)
	}
	return c.n
}

// charges are those of a rule as shares of the samples.
func (m *measurement) charges(r *rule) charges {
	sums := m.counter.Sums(r.query)
	return charges{rule: r, m: m, sums: sums, n: sums.N}
}

// samples is how many there are. Values without a sample prove nothing.
func (c *charges) samples() int64 {
	if c.sums.Total <= 0 {
		return 0
	}
	return int64(math.Round(max(c.sums.N, 0)))
}

// judged is the finding of a comparison, or says why nothing can be compared.
func (c *charges) judged(why Reason, compare func() Finding) Finding {
	switch {
	case c.samples() == 0:
		return c.named(c.noSamples())
	case why != nil:
		return c.named(Finding{Samples: c.samples(), Reason: why})
	case c.Class == EachValue:
		return c.labelled(compare)
	}
	return c.named(compare())
}

// noSamples is the finding on samples that are none.
func (c *charges) noSamples() Finding {
	scoped := c.in >= 0 || c.where >= 0
	switch {
	case scoped && len(c.m.t.Samples) > 0:
		return Finding{Reason: OutOfScope{}}
	case !scoped && c.value.Counted && c.Dimension != unit.Share:
		return findingOf(evidence.Counted(0, c.Limit), Counted{})
	}
	return Finding{Reason: NoSamples{}}
}

// maxNameless is the part of the samples that may lack names where a pass depends on names: a
// function that is in no other sample is "absent" up to this share.
const maxNameless = evidence.AbsentShare

// nameless is why the samples can't show that the rule is kept, because functions have no
// names. It is nil if they can.
func (r *rule) nameless(sums *charge.Sums) Reason {
	switch code := r.Class.IsCode() && r.Class.IsEach(); {
	case !code && r.subject < 0 && r.in < 0: // it asks for no name
	case sums.Hidden > maxNameless:
		return NoNames{sums.Hidden}
	case code && !r.Flat && !r.Literal && sums.Foreign > maxNameless:
		return NoPackages{sums.Foreign}
	}
	return nil
}

// named is a finding, or that nothing is proven because functions have no names.
func (c *charges) named(f Finding) Finding {
	if why := c.nameless(c.sums); why != nil && f.Verdict != evidence.Fail && !c.keeps(f.Value) {
		f.Verdict, f.Reason = evidence.Inconclusive, why
		if c.isShare() {
			f.High = min(f.High+max(c.sums.Hidden, c.sums.Foreign), 1)
		}
	}
	return f
}

// keeps reports whether a count is within its limit even if one function was in all samples that lack
// names. A profile of goroutines often has a goroutine without frames, which has just begun.
func (c *charges) keeps(value float64) bool {
	more := max(c.sums.Hidden, c.sums.Foreign)
	if !c.value.Counted || c.Test != Limited || more >= 1 {
		return false
	}
	if c.Dimension == unit.Count {
		more *= float64(c.sums.Total) / (1 - more)
	}
	return value+more <= c.Limit
}

// perHit is the value of one hit.
func perHit(s *charge.Sums, t *decode.Table) float64 {
	if s.Total == 0 {
		return float64(t.Period)
	}
	return float64(s.Total) / s.N
}

// part converts a value to the unit of the limit, or for growth to a share.
func (c *charges) part(value int64) float64 {
	if c.divisor > 0 {
		return float64(value) * c.value.Scale / c.divisor
	}
	return c.sums.Part(value)
}

// values is the inverse of part: the value that is such a part.
func (c *charges) values(part float64) int64 {
	if c.divisor > 0 {
		return int64(part * c.divisor / c.value.Scale)
	}
	return int64(part * float64(c.sums.Total))
}

func hits(s *charge.Sums, value int64) float64 { return s.Part(value) * s.N }

// hits is the number of hits that a value stands for.
func (c *charges) hits(value int64) float64 { return hits(c.sums, value) }

// samplesOf converts an exposure to samples, in proportion.
func (c *charges) samplesOf(exposure float64) float64 {
	if c.n > 0 {
		return exposure * (c.sums.N / c.n)
	}
	return exposure
}

// bounds is what a value proves about the limit. The value counts in hits, and one hit is an
// average observation of the query. An observation of this function may weigh more: where it
// waits ten times as long as others, each wait is ten hits, which are as uncertain as one.
// weight is how many hits an observation of it is. Only amounts need it.
func (c *charges) bounds(value int64, weight float64) evidence.Finding {
	switch {
	case c.value.Counted:
		return evidence.Counted(c.part(value), c.Limit)
	case c.divisor > 0:
		return evidence.Rate(c.hits(value)/weight, c.n/weight, c.Limit)
	}
	return evidence.Fixed(c.hits(value), c.sums.N, c.Limit)
}

// nameAlpha is the chance that a named function is not above the limit, where it is proven
// that another one is.
const nameAlpha = 0.05

// low is a lower bound of the truth that errs with the chance nameAlpha.
func (c *charges) low(value int64, weight float64) float64 {
	switch {
	case c.value.Counted:
		return c.part(value)
	case c.divisor > 0:
		return evidence.RateLower(c.hits(value)/weight, nameAlpha) * weight / c.n
	}
	return evidence.Lower(c.hits(value), c.sums.N, 1, nameAlpha)
}

// of is the charge of a name, how much more of it may have been cut off, and how many hits an
// observation behind it is worth.
func (c *charges) of(name string) (charged, unknown int64, weight float64) {
	key := c.key(c.m.counter, name)
	if charged, unknown = c.charged(c.m.counter, key); c.isNearLeaf() {
		unknown = 0
	}
	return charged, unknown, c.sums.Weight(key)
}

// name is the function, package or value of a key.
func (c *charges) name(key int32) string { return c.m.counter.Name(c.query, key) }

// heaviest yields the keys with more than least, heaviest first, and at least the heaviest. It ends where so many are
// compared that the profile is not judged, see Judge.windows.
func (c *charges) heaviest(least int64) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for _, key := range c.m.counter.Ranked(c.query, least) {
			if c.m.compared++; c.m.compared > maxCompared || !yield(key) {
				return
			}
		}
	}
}

// names yields "", unless each has an exposure of its own, and for a rule about each the functions that have at least so many hits.
func (c *charges) names(least float64) iter.Seq[string] {
	return func(yield func(string) bool) {
		if c.own == nil && !yield("") || !c.Class.IsEach() {
			return
		}
		for i, key := range c.sums.Keys {
			if c.hits(c.sums.Values[i]) >= least && !yield(c.name(key)) {
				return
			}
		}
	}
}

// cut is the number of samples with stacks that the runtime cut off, where the lost frames
// could change the answer.
func cut(s *charge.Sums) int64 { return int64(math.Round(hits(s, s.Cut))) }

// mostlyCut reports whether more than 1% of the samples have stacks that were cut off.
func mostlyCut(s *charge.Sums) bool { return s.Cut > s.Total/100 }

// proves reports whether the verdict of one window is the proof, so that windows are not
// added up. Goroutines are counted, and not sampled. Profiles of the live heap show the same
// samples of the same objects in each window, so they must not be added up.
func (r *rule) proves() bool { return r.value.Counted || r.isState() }

// perSample is the measured number of distinct functions in a stack.
const perSample = 10

// tests is how many functions, packages or values can have a share as large as the limit.
func (r *Rule) tests() float64 {
	if r.Class == EachValue { // a sample has one
		return evidence.Tests(1, r.Limit)
	}
	return evidence.Tests(perSample, r.Limit)
}

// worse orders findings: a fail before an inconclusive one before a pass, and among equals
// the one with the larger value or bound.
func worse(f, than evidence.Finding) bool {
	switch {
	case f.Verdict != than.Verdict:
		return severity(f.Verdict) > severity(than.Verdict)
	case f.Verdict == evidence.Fail:
		return f.Low > than.Low
	case f.Verdict == evidence.Pass:
		return f.Value > than.Value
	}
	return f.High > than.High
}

func severity(v evidence.Verdict) int {
	return [...]int{evidence.Pass: 0, evidence.Inconclusive: 1, evidence.Fail: 2}[v]
}
