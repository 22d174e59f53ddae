package judge

import (
	"math"
	"slices"
	"time"

	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
)

// sampled judges the share or the amount that functions, a pattern or the process have of the
// samples of a profile.
type sampled struct{ *rule }

func (s sampled) alert(period, window time.Duration) alert.Rule {
	a := s.alertOf(period, window, s.isState())
	a.Each, a.Streams = s.Class.IsEach(), true
	a.Share = !a.Counted && s.Dimension == unit.Share
	return a
}

// limited are the charges of a rule with a limit.
type limited struct {
	charges
	most int64 // the largest possible charge, with the stacks that were cut off; 0 if none matters
}

// limited prepares the comparison with the limit, or says why there can be none.
func (s sampled) limited(m *measurement) (c limited, why Reason) {
	c.charges = m.charges(s.rule)
	if s.isShare() {
		return c, nil
	}
	over, why := m.divisor(s.rule)
	if why != nil {
		return c, why
	}
	value := perHit(c.sums, m.t) * s.value.Scale
	if !(value > 0) {
		return c, NoSamples{}
	}
	c.divisor, c.n = over, over/value
	if s.Kind == kinds.Mutex && s.Dimension != unit.Count {
		c.unseen = m.unseen
	}
	return c, nil
}

func (s sampled) window(m *measurement) Finding {
	if why := m.unjudged(s.rule); why != nil {
		return Finding{Reason: why}
	}
	c, why := s.limited(m)
	return c.judged(why, c.compare)
}

// amount is the charge of a function or package, or of the rule's subject (""), and what that
// proves.
type amount struct {
	name   string
	now    int64
	weight float64 // hits that an observation counts as
	evidence.Finding
}

// compare judges by the worst function that the rule is about. Where some are over the
// limit, the numbers are those of the first offender, which is the deepest of them.
func (c *limited) compare() Finding {
	if !c.isNearLeaf() {
		c.most = c.possible()
	}
	worst, over := c.worst()
	verdict, x := worst.Verdict, worst
	var offenders []Offender
	switch {
	case verdict == evidence.Pass:
	case c.Class.IsEach():
		over = slices.DeleteFunc(over, func(key int32) bool { return !c.mayName(key, verdict) })
		limit := c.values(c.Limit)
		if offenders = c.explain(c.query, over, limit, limit, verdict == evidence.Fail); len(offenders) > 0 {
			x = c.amount(offenders[0].Function)
			x.Low, x.High = offenders[0].Low, offenders[0].High // both show the same bounds
		}
	case c.isOver(worst):
		offenders = c.offenders()
	}
	f := Finding{
		Verdict: verdict, Value: x.Value, Low: x.Low, High: x.High, Samples: c.samples(), Hits: int64(math.Round(c.hits(x.now))), Who: x.name,
		Offenders: offenders, Notes: Notes{Cut: c.cut(verdict)},
	}
	if f.Reason = c.reason(x, verdict); verdict == evidence.Fail && x.Verdict != evidence.Fail {
		f.Reason = Likely{worst.name, worst.Low}
	}
	if c.Class.IsEach() && verdict != evidence.Pass {
		f.Over = len(over)
		f.Unordered = !c.m.counter.Ordered() && (c.sums.Query.Charge == charge.Inner || c.sums.Query.Charge == charge.Waiting)
	}
	// For a program that is watched, Facts.NotLinked says this.
	f.Unmatched = !c.m.watched && c.Class == Pattern && c.In == "" && len(c.Where) == 0 && x.now == 0 && !c.m.has(c.subject)
	return f
}

// worst returns the worst function that the rule is about. For a rule about each, it also
// returns the keys over the limit, heaviest first.
func (c *limited) worst() (worst amount, over []int32) {
	if !c.Class.IsEach() {
		return c.amount(""), nil
	}
	least := c.values(c.Limit) // if the heaviest one is within the limit, so are those that measure less
	if c.sums.Uneven() {       // the upper bound of a single observation may be ten times what shows
		least = c.values(c.Limit / 20)
	}
	any := false
	for key := range c.heaviest(least) {
		if any && c.sums.By(key) <= least {
			break
		}
		x := c.amount(c.name(key))
		if !any || worse(x.Finding, worst.Finding) {
			worst, any = x, true
		}
		if c.isOver(x) {
			over = append(over, key)
		}
	}
	if !any {
		worst = c.amount("")
	}
	return worst, over
}

// amount compares the charge of a name. Of stacks that were cut off, it is only known that the charge
// is between what shows and that plus what was cut: it fails if the least charge fails, and
// passes if the most passes.
func (c *limited) amount(name string) amount {
	now, _, weight := c.of(name)
	f := c.bounds(now, weight)
	most := max(now, c.most)
	if f.Verdict == evidence.Pass { // and it may have all waits that are in no sample
		most += c.unseen
	}
	if most > now {
		e := c.bounds(most, max(weight, c.sums.CutWeight()))
		if f.High = e.High; f.Verdict == evidence.Pass && e.Verdict != evidence.Pass {
			f.Verdict = evidence.Inconclusive
		}
		if f.Verdict == evidence.Inconclusive {
			f.Needed = 0 // more samples of this kind do not help
		}
	}
	f.Needed = c.samplesOf(f.Needed * weight)
	return amount{name, now, weight, f}
}

// isOver reports whether the measured value is over the limit, proven or not. Value may have a
// rounding error.
func (c *limited) isOver(x amount) bool { return c.part(x.now) > c.Limit }

// possible is the largest charge that is possible with the stacks that were cut off, or 0 if none
// matters. For a rule about each, they may belong to any function.
func (c *limited) possible() (most int64) {
	switch {
	case c.sums.Cut == 0 || c.Class == Figure:
	case c.Class.IsEach():
		most = c.sums.Cut
		for _, key := range c.sums.Keys {
			most = max(most, c.sums.By(key)+c.sums.Unknown(key))
		}
	case c.subject >= 0:
		most = c.sums.By(c.subject) + c.sums.Unknown(c.subject)
	}
	return most
}

// cut is the number of samples to tell of with a verdict because their stacks were cut off: those
// for which it, or the offender, could be another.
func (c *limited) cut(verdict evidence.Verdict) int64 {
	if c.Class == Figure || verdict == evidence.Pass && (!c.isNearLeaf() || c.bounds(c.possible(), c.sums.CutWeight()).Verdict == evidence.Pass) {
		return 0
	}
	return cut(c.sums)
}

// mayName reports whether a function over the limit may be named. When one function is proven to
// be over the limit, others that are over it by chance of a few samples are no offenders. The
// fail is proven by then, so a bound that errs one time in twenty is good enough for these.
func (c *limited) mayName(key int32, verdict evidence.Verdict) bool {
	if verdict == evidence.Fail {
		return c.low(c.sums.By(key), c.sums.Weight(key)) > c.Limit
	}
	return c.amount(c.name(key)).Verdict != evidence.Pass
}

// reason says what a verdict is based on.
func (c *limited) reason(x amount, verdict evidence.Verdict) Reason {
	switch {
	case verdict == evidence.Inconclusive && c.unseen > 0 && c.bounds(x.now, x.weight).Verdict == evidence.Pass:
		return Unseen{c.m.facts.Waited}
	case verdict == evidence.Inconclusive && c.most > 0 && x.Needed == 0:
		return UpTo{}
	case c.value.Counted:
		return Counted{}
	case verdict != evidence.Inconclusive:
		return Measured{}
	}
	// With few samples it is unknown how close to the limit a share is, unless it is far from it.
	zone := evidence.Zone * c.Limit
	if c.isShare() {
		zone = evidence.Edge(c.Limit)
		far := x.Needed > 0 && (x.Value < c.Limit/2 || x.Value > 2*c.Limit)
		if needed := evidence.Needed(0, 0, c.Limit); !far && float64(c.samples()) < needed {
			return TooFew{needed, evidence.NotableShare(c.Limit)}
		}
	}
	return TooClose{x.Needed, zone}
}

// near is the number of hits for a sample, or for a unit of exposure, from which a function is near the limit.
func (s sampled) near() float64 { return s.Limit / 10 }

func (s sampled) follow(r *record, m *measurement, f Finding) Finding {
	if f.Samples == 0 || s.proves() {
		return r.proven(f)
	}
	c, why := s.limited(m)
	if why != nil || f.lacksNames() {
		return r.with(f)
	}
	was := r.Proven
	if unproven := r.add(&c.charges, c.n*s.near(), c.limit()); r.Proven == evidence.Inconclusive {
		switch {
		case was != evidence.Fail:
			r.Proven = was
		case !unproven: // all that were over the limit are proven to be below
			r.Proven, r.Kept = evidence.Pass, m.at
		}
	}
	return r.with(f)
}

func (s sampled) block(t *tally, m *measurement) {
	if m.unjudged(s.rule) != nil {
		return
	}
	c, why := s.limited(m)
	if t.samples += c.sums.N; why == nil {
		t.add(&c.charges, c.limit())
	}
	t.valued = t.valued || s.Class == EachValue && c.sums.Without < c.sums.Total
}

func (s sampled) verdict(t *tally, last bool) evidence.Verdict {
	if s.Class == EachValue && !t.valued {
		return evidence.Inconclusive
	}
	return t.verdict(s.near(), last)
}

func (s sampled) closed(t *tally, m *measurement, all Finding) Finding {
	if t.each == nil || s.query < 0 {
		return all
	}
	c, why := s.limited(m)
	if why != nil || s.nameless(c.sums) != nil || all.lacksNames() { // all says so, or is a fail
		return all
	}
	who, e, certain := t.worst(s.near())
	switch {
	case all.Cut > 0 && all.Verdict == evidence.Inconclusive && e.Verdict == evidence.Pass && !s.isNearLeaf():
		return all
	case s.Class.IsEach() && who == "": // the numbers of the worst function are those of all samples
		all.Verdict, all.Reason, all.Notes = e.Verdict, InBlocks{certain, c.samplesOf(e.Needed)}, c.notesInBlocks(all)
		return all
	case s.Class.IsEach() && e.Verdict == evidence.Fail && all.Verdict == evidence.Fail:
		return all // all samples together prove it too, and name the deepest function
	}
	f, e := t.finding(&c.charges, who, e, all)
	if f.Reason = (InBlocks{certain, e.Needed}); f.Verdict == evidence.Pass && !c.isNearLeaf() {
		c.most = c.possible() // the blocks know nothing about stacks that were cut off
		f.High = max(f.High, c.amount(f.Who).High)
	}
	return f
}

func (c *limited) limit() evidence.Limit {
	return evidence.Limit{Most: c.Limit, Rates: !c.isShare()}
}
