package judge

import (
	"math"
	"slices"
	"time"

	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
)

// growth compares shares, or CPU and allocations per unit of work, with those of a baseline.
type growth struct{ *rule }

func (g growth) needs() Needs {
	n := g.rule.needs()
	n.Baseline = true
	return n
}

func (g growth) alert(period, window time.Duration) alert.Rule {
	a := g.alertOf(period, window, g.isState())
	a.Each, a.Streams = g.Class.IsEach(), true
	return a
}

// grown are the charges of a rule, and those of the baseline. They are shown in shares.
type grown struct {
	charges
	before *charge.Sums
	n0     float64
}

// grown prepares the comparison with the baseline, or says why there can be none.
func (g growth) grown(m *measurement) (c grown, why Reason) {
	c.charges = m.charges(g.rule)
	if m.base.problem != nil {
		return c, m.base.problem
	}
	c.before = m.base.counter.Sums(g.query)
	if c.n0 = c.before.N; c.before.Total <= 0 {
		return c, BaselineEmpty{}
	}
	if g.nameless(c.before) != nil { // what has no name there would look like growth
		return c, BaselineNoNames{max(c.before.Hidden, c.before.Foreign)}
	}
	switch { // what is not known there would look like growth, too
	case g.Class == EachValue && c.before.Without >= c.before.Total:
		return c, BaselineNoLabel{}
	case c.before.Crowded:
		return c, TooManyValues{}
	}
	if g.isShare() {
		return c, nil
	}
	if c.n, why = m.divisor(g.rule); why != nil {
		return c, why
	}
	if c.n0 = m.facts.BaselineWork[g.Per]; !isAmount(c.n0) {
		return c, BaselineWorkUnknown{}
	}
	if now, then := perHit(c.sums, m.t), perHit(c.before, m.base.table); now > 0 && then > 0 {
		c.n *= then / now // hits of the two profiles may stand for different values
	}
	return c, nil
}

func (g growth) window(m *measurement) Finding {
	if why := m.unjudged(g.rule); why != nil {
		return Finding{Reason: why}
	}
	c, why := g.grown(m)
	return c.judged(why, c.compare)
}

// change is the charge of a function or package, or of the rule's subject (""), now and
// in the baseline, and what that proves.
type change struct {
	name        string
	now, before int64
	hidden      int64 // how much more than before it may have been, in stacks that were cut off
	evidence.Finding
}

// compare judges by what has grown most. Stacks that were cut off hide growth, and in the baseline
// look like it, so that with them only a fail is certain.
func (c *grown) compare() Finding {
	worst, over := c.worst()
	verdict, x := worst.Verdict, worst
	lost := c.cut(verdict)
	if lost > 0 && !c.isNearLeaf() {
		verdict = evidence.Inconclusive
	}
	f := Finding{Samples: c.samples(), Notes: Notes{Cut: lost}}
	switch {
	case verdict == evidence.Pass:
	case c.Class.IsEach():
		if worst.Verdict == evidence.Fail {
			over = slices.DeleteFunc(over, func(key int32) bool { return c.change(c.name(key)).Verdict != evidence.Fail })
		}
		limit := int64(0) // per unit of work: those in over are named, however small
		if c.isShare() {
			limit = c.values(c.Limit)
		}
		f.Over = len(over)
		if f.Offenders = c.explain(c.query, over, limit, limit, false); len(f.Offenders) > 0 {
			x = c.change(f.Offenders[0].Function)
		}
	case worst.Value > c.Limit:
		f.Offenders = c.offenders()
	}
	f.Verdict, f.Value, f.Low, f.High = verdict, x.Value, x.Low, x.High
	f.Hits, f.Who, f.Reason = int64(math.Round(c.hits(x.now))), x.name, c.reason(x)
	return f
}

// smallShare is the share of a window below which the growth of a function per unit of work
// is not judged: of the many functions with one or two hits, some always have doubled.
const smallShare = 0.01

// worst returns what has grown most. For a rule about each, it also returns the keys that have
// grown by more than the limit, heaviest first.
func (c *grown) worst() (worst change, over []int32) {
	if !c.Class.IsEach() {
		return c.change(""), nil
	}
	any, small := false, false
	for key := range c.heaviest(0) {
		now := c.sums.By(key)
		if any && now <= 0 {
			break
		}
		small = small || any && c.isSmall(now) // and so are all that follow
		if small && (!c.isShare() || worst.Verdict != evidence.Pass || c.sums.Part(now) <= worst.Value) {
			break
		}
		x := c.charge(c.name(key))
		if small && c.sums.Part(x.now)-c.before.Part(x.before) <= worst.Value {
			continue // it passes, and is not the worst
		}
		x.Finding = c.finding(x)
		if !any || worse(x.Finding, worst.Finding) {
			worst, any = x, true
		}
		if x.Value > c.Limit {
			over = append(over, key)
		}
	}
	if !any {
		worst = c.change("")
	}
	return worst, over
}

// isSmall reports whether a function with such a value, and with it all that have less, has not
// grown for sure. A share cannot have grown by more than itself.
func (c *grown) isSmall(value int64) bool {
	share, n := c.sums.Part(value), c.sums.N
	if !c.isShare() {
		return share < smallShare
	}
	return share <= c.Limit && (c.value.Counted || evidence.Upper(share*n, n, 1, evidence.PassAlpha) < evidence.Zone*c.Limit)
}

// charge looks up the charges of a name, which may have none.
func (c *grown) charge(name string) change {
	x := change{name: name}
	x.now, _, _ = c.of(name)
	base := &c.m.base.counter
	x.before, x.hidden = c.charged(base, c.key(base, name))
	return x
}

// change compares the charges of a name.
func (c *grown) change(name string) change {
	x := c.charge(name)
	x.Finding = c.finding(x)
	return x
}

// finding is what the charges prove: it fails if the least growth fails, and passes if the most
// passes.
func (c *grown) finding(x change) evidence.Finding {
	f := c.exactly(x.now, x.before+x.hidden)
	if x.hidden > 0 {
		most := c.exactly(x.now, x.before)
		if f.High = most.High; f.Verdict == evidence.Pass && most.Verdict != evidence.Pass {
			f.Verdict = evidence.Inconclusive
		}
		f.SmallBaseline = f.SmallBaseline && f.Verdict != evidence.Inconclusive // more samples of this kind do not help
	}
	return f
}

// exactly is what the charges prove where nothing was cut off.
func (c *grown) exactly(now, before int64) evidence.Finding {
	if c.isShare() && c.value.Counted {
		return evidence.Counted(c.sums.Part(now)-c.before.Part(before), c.Limit)
	}
	tests := 1.0
	if c.isShare() && c.Class.IsEach() {
		tests = c.tests()
	}
	base := evidence.Baseline{K: hits(c.before, before), N: c.n0, Rates: !c.isShare()}
	return base.Growth(c.hits(now), c.n, c.Limit, c.m.bursts(), tests)
}

// cut is the number of samples with stacks that were cut off, also of the baseline.
func (c *grown) cut(verdict evidence.Verdict) int64 {
	if verdict == evidence.Fail || c.Class == Figure {
		return 0
	}
	return decode.AddSaturating(cut(c.sums), cut(c.before))
}

// reason says what the finding is based on.
func (c *grown) reason(x change) Reason {
	return Growth{Before: c.before.N, Added: !c.isShare() && x.now > 0 && x.before+x.hidden <= 0, SmallBaseline: x.SmallBaseline}
}

// follow takes each window by itself. Against a small baseline no window passes, and one within the limit ends what
// others have proven.
func (g growth) follow(r *record, m *measurement, f Finding) Finding {
	if f.Verdict == evidence.Inconclusive && f.Samples > 0 && f.Value <= g.Limit {
		r.Proven = evidence.Inconclusive
	}
	return r.proven(f)
}

// block counts what is in the rule's scope: the sum of the blocks decides.
func (g growth) block(t *tally, m *measurement) {
	if m.unjudged(g.rule) == nil {
		t.samples += m.charges(g.rule).sums.N
	}
}
