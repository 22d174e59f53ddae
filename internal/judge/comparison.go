package judge

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
)

// A comparison compares a rule's charges in a window with its limit, or with the charges
// of the baseline. The charge is the value of a function or package where the rule is about
// each, and else that of the rule's subject, which has the name "". Charges are counted in
// hits: of n samples for a share, over an exposure of n for an amount.
type comparison struct {
	*rule
	w       *window
	sums    *charge.Sums
	n       float64
	divisor float64 // the divisor of amounts; 0 for shares, and for growth, which is shown in shares
	most    int64   // the largest possible charge, with the stacks that were cut off; 0 if none matters
	unseen  int64   // what may be charged beyond that, because the profile may not have it

	before *charge.Sums // of the baseline; nil for a limit
	n0     float64
}

// comparison prepares the comparison of a rule, or says why there can be none.
func (w *window) comparison(r *rule) (c comparison, why Reason) {
	c = comparison{rule: r, w: w, sums: w.judged.counter.Sums(r.query)}
	c.n = c.sums.N
	base := &w.judged.base
	if r.Test == Grows {
		if base.problem != nil {
			return c, base.problem
		}
		c.before = base.counter.Sums(r.query)
		if c.n0 = c.before.N; c.before.Total <= 0 {
			return c, BaselineEmpty{}
		}
		if r.nameless(c.before) != nil { // what has no name there would look like growth
			return c, BaselineNoNames{max(c.before.Hidden, c.before.Foreign)}
		}
	}
	if r.isShare() {
		return c, nil
	}
	over, why := w.divisor(r)
	switch {
	case why != nil:
		return c, why
	case r.Test == Grows:
		if c.n, c.n0 = over, w.facts.BaselineWork[r.Per]; !isAmount(c.n0) {
			return c, BaselineWorkUnknown{}
		}
		if now, then := perHit(c.sums, w.t), perHit(c.before, base.table); now > 0 && then > 0 {
			c.n *= then / now // hits of the two profiles may stand for different values
		}
		return c, nil
	}
	value := perHit(c.sums, w.t) * r.value.Scale
	if !(value > 0) {
		return c, NoSamples{}
	}
	c.divisor, c.n = over, over/value
	if r.Kind == kinds.Mutex && r.Dimension != unit.Count {
		c.unseen = w.unseen
	}
	return c, nil
}

// perHit is the value of one hit.
func perHit(s *charge.Sums, t *decode.Table) float64 {
	if s.Total == 0 {
		return float64(t.Period)
	}
	return float64(s.Total) / s.N
}

// divisor is the number that values are divided by: seconds, units of work, or periods.
func (w *window) divisor(r *rule) (over float64, why Reason) {
	switch {
	case r.Per != "":
		done, given := w.facts.Work[r.Per]
		switch {
		case !given:
			return 0, WorkUnknown{w.facts.NoWork[r.Per]}
		case !isAmount(done):
			return 0, NoWork{}
		}
		return done, nil
	case r.Dimension == unit.Cores, r.Dimension == unit.Waited:
		if w.elapsed <= 0 {
			return 0, DurationUnknown{}
		}
		return w.elapsed, nil
	}
	return cmp.Or(w.facts.Periods, 1), nil
}

// leastAmount is less than any amount of work. It is large enough that no total of a
// profile, at most 1e19, becomes infinite when it is divided by it.
const leastAmount = 1e-100

// isAmount reports whether something can be divided by x.
func isAmount(x float64) bool { return x >= leastAmount && !math.IsInf(x, 1) }

// part converts a value to the unit of the limit, or for growth to a share.
func (c *comparison) part(value int64) float64 {
	if c.divisor > 0 {
		return float64(value) * c.value.Scale / c.divisor
	}
	return c.sums.Part(value)
}

// values is the inverse of part: the value that is such a part.
func (c *comparison) values(part float64) int64 {
	if c.divisor > 0 {
		return int64(part * c.divisor / c.value.Scale)
	}
	return int64(part * float64(c.sums.Total))
}

func hits(s *charge.Sums, value int64) float64 { return s.Part(value) * s.N }

// hits is the number of hits that a value stands for.
func (c *comparison) hits(value int64) float64 { return hits(c.sums, value) }

// bounds is what a value proves about the limit. The value counts in hits, and one hit is an
// average observation of the query. An observation of this function may weigh more: where it
// waits ten times as long as others, each wait is ten hits, which are as uncertain as one.
// weight is how many hits an observation of it is. Only amounts need it.
func (c *comparison) bounds(value int64, weight float64) evidence.Finding {
	switch {
	case c.value.Counted:
		return counted(c.part(value), c.Limit)
	case c.divisor > 0:
		return evidence.Rate(c.hits(value)/weight, c.n/weight, c.Limit)
	}
	return evidence.Fixed(c.hits(value), c.sums.N, c.Limit)
}

// nameAlpha is the chance that a named function is not above the limit, where it is proven
// that another one is.
const nameAlpha = 0.05

// low is a lower bound of the truth that errs with the chance nameAlpha.
func (c *comparison) low(value int64, weight float64) float64 {
	switch {
	case c.value.Counted:
		return c.part(value)
	case c.divisor > 0:
		return evidence.RateLower(c.hits(value)/weight, nameAlpha) * weight / c.n
	}
	return evidence.Lower(c.hits(value), c.sums.N, 1, nameAlpha)
}

// limitOf is the limit of a function or package, or of the rule's subject ("").
func (c *comparison) limitOf(name string) evidence.Limit {
	x := c.charges(name)
	return c.limit(x.before + x.hidden)
}

// limit is the limit of a function that has the charge before in the baseline.
func (c *comparison) limit(before int64) evidence.Limit {
	l := evidence.Limit{Most: c.Limit, Rates: !c.isShare()}
	if c.before != nil {
		l.Grows, l.K0, l.N0 = true, hits(c.before, before), c.n0
	}
	return l
}

// found is the charge of a function or package, or of the rule's subject (""), in the
// window and in the baseline, and what that proves.
type found struct {
	name        string
	now, before int64
	hidden      int64   // how much more than before it may have been, in stacks that were cut off
	weight      float64 // hits that an observation in the window counts as
	evidence.Finding
}

// inWindow is the charge of a name in the window, how much more of it may have been cut off, and
// how many hits an observation behind it is worth.
func (c *comparison) inWindow(name string) (charged, unknown int64, weight float64) {
	counter := &c.w.judged.counter
	key := c.key(counter, name)
	if charged, unknown = c.charged(counter, key); c.isNearLeaf() {
		unknown = 0
	}
	return charged, unknown, c.sums.Weight(key)
}

// names yields "", and for a rule about each the functions that have at least so many hits.
func (c *comparison) names(least float64) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield("") || c.Class != Each {
			return
		}
		for i, key := range c.sums.Keys {
			if c.hits(c.sums.Values[i]) >= least && !yield(c.name(key)) {
				return
			}
		}
	}
}

// charges looks up the charges of a name, which may have none.
func (c *comparison) charges(name string) found {
	x := found{name: name}
	x.now, _, x.weight = c.inWindow(name)
	if c.before != nil {
		counter := &c.w.judged.base.counter
		x.before, x.hidden = c.charged(counter, c.key(counter, name))
	}
	return x
}

// of compares the charges of a name.
func (c *comparison) of(name string) found {
	x := c.charges(name)
	x.Finding = c.finding(x)
	return x
}

// finding is what the charges in the window and in the baseline prove. Of stacks that were
// cut off, it is only known that a charge is between what shows and that plus what was cut:
// the finding fails if the least growth or charge fails, and passes if the most passes.
func (c *comparison) finding(x found) evidence.Finding {
	least, most := x, x
	least.before += x.hidden
	f := c.exactly(least)
	most.now = max(x.now, c.most)
	if f.Verdict == evidence.Pass { // and it may have all waits that are in no sample
		most.now += c.unseen
	}
	if most.now > x.now || x.hidden > 0 {
		most.weight = max(x.weight, c.sums.CutWeight())
		e := c.exactly(most)
		if f.High = e.High; f.Verdict == evidence.Pass && e.Verdict != evidence.Pass {
			f.Verdict = evidence.Inconclusive
		}
		if f.Verdict == evidence.Inconclusive {
			f.Needed, f.SmallBaseline = 0, false // more samples of this kind do not help
		}
	}
	f.Needed *= x.weight
	c.inSamples(&f)
	return f
}

// exactly is what the charges prove where nothing was cut off.
func (c *comparison) exactly(x found) evidence.Finding {
	switch {
	case c.before == nil:
		return c.bounds(x.now, x.weight)
	case c.isShare() && c.value.Counted:
		return counted(c.sums.Part(x.now)-c.before.Part(x.before), c.Limit)
	}
	tests := 1.0
	if c.isShare() && c.Class == Each {
		tests = evidence.Tests(perSample, c.Limit)
	}
	return c.limit(x.before).Growth(c.hits(x.now), c.n, 1, tests)
}

// isOver reports whether the measured value is over the limit, proven or not.
func (c *comparison) isOver(x found) bool {
	if c.before == nil {
		return c.part(x.now) > c.Limit // x.Value may have a rounding error
	}
	return x.Value > c.Limit
}

// inSamples converts the exposure that is missing to samples, in proportion.
func (c *comparison) inSamples(f *evidence.Finding) {
	if c.n > 0 {
		f.Needed *= c.sums.N / c.n
	}
}

// compare judges the rule by the worst function that it is about. Where some are over the
// limit, the numbers are those of the first offender, which is the deepest of them.
func (w *window) compare(r *rule, f *Finding) {
	c, why := w.comparison(r)
	if why != nil {
		f.Reason = why
		return
	}
	worst, over := c.worst()
	x := worst
	f.Verdict = worst.Verdict
	if f.Cut = c.cut(f.Verdict); f.Cut > 0 && c.before != nil && !r.isNearLeaf() {
		f.Verdict = evidence.Inconclusive
	}
	switch {
	case f.Verdict == evidence.Pass:
	case r.Class == Each:
		c.explainOver(c.named(over, worst.Verdict), f)
		if len(f.Offenders) > 0 {
			first := &f.Offenders[0]
			if x = c.of(first.Function); c.before == nil { // both show the same bounds
				x.Low, x.High = first.Low, first.High
			}
		}
	case c.isOver(worst):
		w.explainSubject(r, f)
	}
	likely := f.Verdict == evidence.Fail && x.Verdict != evidence.Fail
	x.Verdict = f.Verdict
	f.set(x.Finding)
	f.Hits = int64(math.Round(c.hits(x.now)))
	f.Who = x.name
	if f.Reason = c.reason(x, f.Samples); likely {
		f.Reason = Likely{worst.name, worst.Low}
	}
	if c.before == nil {
		f.Unmatched = r.Class == Pattern && r.In == "" && len(r.Where) == 0 && x.now == 0 && !w.has(r.subject)
		f.Unordered = r.Class == Each && f.Verdict != evidence.Pass && !w.judged.counter.Ordered() &&
			(c.sums.Query.Charge == charge.Inner || c.sums.Query.Charge == charge.Waiting)
	}
}

// has reports whether a function of the profile matches a pattern.
func (w *window) has(subject int32) bool {
	if w.matched == nil {
		w.matched = make([]bool, w.judged.counter.Patterns)
		for i := range w.t.Funcs {
			for _, pattern := range w.judged.counter.Names.Matches(w.t.Funcs[i].Name) {
				w.matched[pattern] = true
			}
		}
	}
	return w.matched[subject]
}

// worst is the worst function that the rule is about. For a rule about each, it also
// returns the keys over the limit, heaviest first.
func (c *comparison) worst() (worst found, over []int32) {
	if !c.isNearLeaf() {
		c.most = c.possible()
	}
	if c.Class != Each {
		return c.of(""), nil
	}
	any, small := false, false
	least := int64(0) // for growth, all
	switch {
	case c.before != nil:
	case c.sums.Uneven(): // the upper bound of a single observation may be ten times what shows
		least = c.values(c.Limit / 20)
	default: // if the heaviest one is within the limit, so are those that measure less
		least = c.values(c.Limit)
	}
	for _, key := range c.w.judged.counter.Ranked(c.query, least) {
		now := c.sums.By(key)
		if any && now <= least {
			break
		}
		small = small || any && c.before != nil && c.isSmall(now) // and so are all that follow
		if small && (!c.isShare() || worst.Verdict != evidence.Pass || c.sums.Part(now) <= worst.Value) {
			break
		}
		if c.w.compared++; c.w.compared > maxCompared {
			break // the profile is not judged, see Judge.table
		}
		x := c.charges(c.name(key))
		if small && c.sums.Part(x.now)-c.before.Part(x.before) <= worst.Value {
			continue // it passes, and is not the worst
		}
		x.Finding = c.finding(x)
		if !any || worse(x.Finding, worst.Finding) {
			worst, any = x, true
		}
		if c.isOver(x) {
			over = append(over, key)
		}
	}
	if !any {
		worst = c.of("")
	}
	return worst, over
}

// name is the function or package of a key.
func (c *comparison) name(key int32) string { return c.w.judged.counter.Name(c.query, key) }

// possible is the largest charge that is possible with the stacks that were cut off, or 0 if none
// matters. For a rule about each, they may belong to any function.
func (c *comparison) possible() (most int64) {
	switch {
	case c.sums.Cut == 0 || c.before != nil || c.Class == Figure:
	case c.Class == Each:
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
func (c *comparison) cut(verdict evidence.Verdict) int64 {
	n := cut(c.sums)
	switch {
	case c.Class == Figure:
		return 0
	case c.before != nil:
		if verdict == evidence.Fail {
			return 0
		}
		return decode.AddSaturating(n, cut(c.before))
	case verdict == evidence.Pass && (!c.isNearLeaf() || c.bounds(c.possible(), c.sums.CutWeight()).Verdict == evidence.Pass):
		return 0
	}
	return n
}

// isSmall reports whether a function with such a value, and with it all that have less, has not
// grown for sure. A share cannot have grown by more than itself.
func (c *comparison) isSmall(value int64) bool {
	share, n := c.sums.Part(value), c.sums.N
	if !c.isShare() {
		return share < smallShare
	}
	return share <= c.Limit && (c.value.Counted || evidence.Upper(share*n, n, 1, evidence.PassAlpha) < evidence.Zone*c.Limit)
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

// named are those of the keys over the limit, heaviest first, that may be named. When one
// function is proven to be over the limit, others that are over it by chance of a few
// samples are no offenders. The fail is proven by then, so a bound that errs one time in
// twenty is good enough for these.
func (c *comparison) named(over []int32, verdict evidence.Verdict) []int32 {
	return slices.DeleteFunc(over, func(key int32) bool {
		switch {
		case c.before == nil && verdict == evidence.Fail:
			return c.low(c.sums.By(key), c.sums.Weight(key)) <= c.Limit
		case c.before == nil:
			return c.of(c.name(key)).Verdict == evidence.Pass
		}
		return verdict == evidence.Fail && c.of(c.name(key)).Verdict != evidence.Fail
	})
}

// reason says what the finding is based on.
func (c *comparison) reason(x found, samples int64) Reason {
	switch {
	case c.before != nil:
		return Growth{Before: c.before.N, New: !c.isShare() && x.now > 0 && x.before+x.hidden <= 0, SmallBaseline: x.SmallBaseline}
	case x.Verdict == evidence.Inconclusive && c.unseen > 0 && c.exactly(x).Verdict == evidence.Pass:
		return Unseen{c.w.facts.Waited}
	case x.Verdict == evidence.Inconclusive && c.most > 0 && x.Needed == 0:
		return UpTo{}
	case c.value.Counted:
		return Counted{}
	case x.Verdict != evidence.Inconclusive:
		return Measured{}
	}
	// With few samples it is unknown how close to the limit a share is, unless it is far from it.
	zone := evidence.Zone * c.Limit
	if c.isShare() {
		zone = evidence.Edge(c.Limit)
		far := x.Needed > 0 && (x.Value < c.Limit/2 || x.Value > 2*c.Limit)
		if needed := evidence.Needed(0, 0, c.Limit); !far && float64(samples) < needed {
			return TooFew{needed, evidence.NotableShare(c.Limit)}
		}
	}
	return TooClose{x.Needed, zone}
}
