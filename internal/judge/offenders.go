package judge

import (
	"slices"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
)

const (
	// MaxOffenders is the most that a result lists. People read no more.
	MaxOffenders = 8
	// maxWalked limits the frames that are walked to explain offenders: those of the profile
	// count once for each rule. A frame takes about 50 ns for each offender. Those of one rule
	// are always explained.
	maxWalked = 12_000_000
	// largeShare is the share from which a function is named first when the process as a whole is
	// over its limit, and notableShare that from which it is named at all. Of a function with 40%
	// that calls four with 10% each, it is the function that a user can change.
	largeShare, notableShare = 0.2, 0.1
)

// explain returns the offenders among the keys of a query that are over a limit. Those over the
// first limit, which is no lower, come first. proven says that one of them is over the limit for
// sure: the others are then named by a weaker bound.
func (c *charges) explain(query int, over []int32, first, limit int64, proven bool) (offenders []Offender) {
	m := c.m
	if len(over) == 0 || m.walked > maxWalked {
		return nil
	}
	m.walked += m.t.Frames
	sums := m.counter.Sums(query)
	for _, key := range m.counter.Offenders(query, over, MaxOffenders, first, limit) {
		var e charge.Explanation
		var within charge.Frame
		value := sums.By(key)
		if c.Class == EachValue {
			e = c.within(key, value)
			within = e.Here
			e.Here = charge.Frame{}
			m.walked += m.t.Frames
		} else {
			e = m.counter.Explain(query, key)
		}
		e.Here.Function, e.Here.Value = m.counter.Name(query, key), value
		var frames [3][]Frame
		for i, list := range [...][]charge.Frame{{e.Here, e.Own, e.Owner, within}, e.Callers, e.Callees} {
			frames[i] = slices.Grow(frames[i], len(list))
			for _, f := range list {
				frames[i] = append(frames[i], Frame{f.Function, f.File, f.Line, c.part(f.Value), float64(f.Value) * c.value.Scale, f.Own})
			}
		}
		weight := sums.Weight(key)
		bounds := c.bounds(value, weight)
		if unknown := sums.Unknown(key); unknown > 0 && !c.isNearLeaf() { // it may be in stacks that were cut off
			bounds.High = c.bounds(value+unknown, max(weight, sums.CutWeight())).High
		}
		if proven && bounds.Low <= c.Limit {
			bounds.Low = c.low(value, weight)
		}
		offenders = append(offenders, Offender{Frame: frames[0][0], Low: bounds.Low, High: bounds.High, Blame: frames[0][1], Owner: frames[0][2], Within: frames[0][3], StacksTruncated: e.Cut, Callers: frames[1], Callees: frames[2]})
	}
	return offenders
}

// locate finds the offenders of a comparison in these samples: it knows what they cost, and not on which lines.
func (c *charges) locate(list []Offender) {
	for i := range list {
		if key := c.key(c.m.counter, list[i].Function); c.sums.By(key) > 0 {
			if o := c.explain(c.query, []int32{key}, 0, 0, false); len(o) == 1 {
				list[i] = o[0]
			}
		}
	}
}

// offenders names the heaviest functions where the rule is not about each: of the
// functions that its pattern matches, those with at least half of the heaviest one's value,
// and of the process, those with a tenth of the whole, in shares of it.
func (c charges) offenders() []Offender {
	if c.subject < 0 {
		c.divisor = 0
	}
	for _, query := range [...]int{c.detail, c.literal} { // literally, if nothing but the runtime is over the limit
		if query < 0 {
			continue
		}
		first, limit, sums := int64(0), int64(0), c.m.counter.Sums(query)
		if c.subject < 0 {
			least := notableShare
			if !c.value.Counted {
				least = max(least, 2.5/max(sums.N, 1)) // one or two samples are chance
			}
			first, limit = c.values(largeShare), c.values(least)
		}
		var over []int32
		for _, key := range c.m.counter.Ranked(query, limit) {
			v := sums.By(key)
			if v <= limit {
				break
			}
			if c.subject < 0 || slices.Contains(c.m.counter.Names.Matches(decode.ID(key)), c.subject) {
				if over = append(over, key); len(over) == 1 && c.subject >= 0 {
					limit = (v - 1) / 2
				}
			}
		}
		if named := c.explain(query, over, max(first, limit), limit, false); len(named) > 0 {
			return named
		}
	}
	return nil
}
