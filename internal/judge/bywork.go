package judge

import (
	"math"
	"slices"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/unit"
)

// byWork judges what a unit of work costs of each value of a label, by the value's own counter: the CPU of an endpoint by
// its requests. A value with too few of them, or without a counter, is undecided by itself: the others may fail, and
// nothing passes until each that has samples does. Windows add up, so the rare ones take longer.
type byWork struct{ sampled }

// charges are those of the values, with the work of each, or why none is known.
func (b byWork) charges(m *measurement) (c limited, why Reason) {
	c.charges = m.charges(b.rule)
	value := perHit(c.sums, m.t) * b.value.Scale
	if !(value > 0) {
		return c, NoSamples{}
	}
	by, counted := m.facts.WorkBy[b.Per]
	w, _ := unit.ParseWork(b.Per)
	c.own = func(name string) float64 {
		done := by[name]
		if !counted {
			done = m.facts.Work[w.Of(name)]
		}
		if isAmount(done) {
			return done / value
		}
		return 0
	}
	isCounted := func(key int32) bool { return c.own(c.name(key)) > 0 }
	if !counted && !slices.ContainsFunc(c.sums.Keys, isCounted) {
		return c, WorkUnknown{m.facts.NoWork[b.Per]}
	}
	return c, nil
}

func (b byWork) window(m *measurement) Finding {
	if why := m.unjudged(b.rule); why != nil {
		return Finding{Reason: why}
	}
	c, why := b.charges(m)
	return c.judged(why, c.compareEach)
}

// one is a value of the label, with the charges that its own work divides.
type one struct {
	key int32
	limited
	amount
}

// one are the charges of one value.
func (c limited) one(key int32) (x one) {
	x = one{key: key, limited: c, amount: amount{name: c.name(key)}}
	if n := c.own(x.name); n > 0 {
		x.n, x.divisor = n, n*perHit(c.sums, c.m.t)*c.value.Scale
		x.amount = x.limited.amount(x.name)
	}
	return x
}

// compareEach judges by the worst value.
func (c *limited) compareEach() Finding {
	var worst one
	var over []one
	var notes Notes
	var apart Apart
	if !c.isNearLeaf() {
		c.most, notes.Cut = c.possible(), cut(c.sums)
	}
	for key := range c.heaviest(0) {
		x := c.one(key)
		if apart.Values++; x.Verdict == evidence.Inconclusive {
			apart.Open++
		}
		if x.divisor == 0 {
			apart.Uncounted++
		} else if x.Verdict != evidence.Pass && x.isOver(x.amount) {
			over = append(over, x)
		}
		if apart.Values == 1 || worse(x.Finding, worst.Finding) {
			worst = x
		}
	}
	f := Finding{
		Verdict: worst.Verdict, Value: worst.Value, Low: worst.Low, High: worst.High, Samples: c.samples(), Hits: int64(math.Round(c.hits(worst.now))),
		Who: worst.name, Notes: notes, Apart: apart, Reason: OwnWorkUnknown{},
	}
	if worst.divisor > 0 {
		f.Reason = worst.reason(worst.amount, worst.Verdict)
	}
	for _, x := range over {
		if f.Verdict == evidence.Fail && x.Verdict != evidence.Fail {
			continue
		}
		if f.Over++; len(f.Offenders) < MaxOffenders {
			f.Offenders = append(f.Offenders, x.explain(c.query, []int32{x.key}, 0, 0, false)...)
		}
	}
	return f
}

func (b byWork) follow(r *record, m *measurement, f Finding) Finding {
	if f.Samples == 0 {
		return r.proven(f)
	}
	c, why := b.charges(m)
	if why != nil || f.lacksNames() {
		return r.with(f)
	}
	r.add(&c.charges, 0, evidence.Limit{Most: b.Limit, Rates: true})
	return r.with(f)
}
