package charge

import (
	"math"
	"slices"

	"github.com/profguard/profguard/internal/decode"
)

// Sums is the answer to the query with that number. It is empty where earlier queries have
// used up maxSums.
func (c *Counter) Sums(query int) *Sums {
	s := &c.answers[query]
	if s.counted != c.number {
		if c.Full() {
			return &Sums{Query: c.queries[query]}
		}
		c.count(query)
	}
	return s
}

func (c *Counter) count(query int) {
	t, q, s := c.table, &c.queries[query], &c.answers[query]
	*s = Sums{Query: c.queries[query], Keys: s.Keys[:0], Values: s.Values[:0], cuts: s.cuts[:0], squares: s.squares[:0], ranked: s.ranked[:0], counted: c.number}
	keys := max(len(c.Names.parts), c.Patterns)
	for i := range c.Names.by {
		keys = max(keys, len(c.Names.by[i].names))
	}
	if q.Unit == Labelled {
		keys = max(keys, MostValues)
	}
	if len(c.sums) < keys {
		c.sums = make([]sum, keys+keys/4)
	}
	types, uneven := len(t.Types), s.Uneven()
	c.walk(query, func(v int64, stack *Stack) {
		square := q.Weight.square(t.Values[stack.sample*types:(stack.sample+1)*types], q.Value)
		s.Total = decode.AddSaturating(s.Total, v)
		s.weight2 += square
		switch {
		case !uneven:
			square = 0
		case square == 0:
			square = float64(v) * float64(v) // a value without a count, which is one observation at most
		}
		if stack.unknown {
			s.Cut = decode.AddSaturating(s.Cut, v)
			s.cut2 += square
		}
		c.visited++
		if q.Unit == Labelled {
			s.addValue(c.valuesOf(q.Of), stack.sample, v)
		}
		keys := c.keys(q)
		if q.Unit != Pattern {
			c.add(keys, v, square)
			return
		}
		for _, function := range keys {
			if function >= 0 {
				c.add(c.Names.Matches(decode.ID(function)), v, square)
			}
		}
	})
	s.Hidden, s.Foreign = c.nameless(query, s.Total)
	slices.Sort(c.charged)
	s.Keys, s.Values = append(s.Keys, c.charged...), slices.Grow(s.Values, len(c.charged))
	for _, key := range c.charged {
		sum := &c.sums[key]
		s.Values, s.Most = append(s.Values, sum.value), max(s.Most, sum.value)
		if s.Cut != 0 {
			s.cuts = append(s.cuts, sum.cut)
		}
		if uneven {
			s.squares = append(s.squares, sum.square)
		}
		sum.value, sum.cut, sum.square = 0, 0, 0
	}
	c.left -= len(c.charged)
	c.charged = c.charged[:0]
	s.finish(c.Multiple)
}

// add charges a value of the loaded stack, and its square if that is not 0, to the keys.
// Keys below zero are skipped.
func (c *Counter) add(keys []int32, v int64, square float64) {
	sums, visited, cut := c.sums, c.visited, c.stack.unknown
	for _, key := range keys {
		if key < 0 {
			continue
		}
		sum := &sums[key]
		once := v
		if sum.seen == visited { // a recursive function; this compiles to no branch, which would often be mispredicted
			once = 0
		}
		sum.seen = visited
		if sum.value == 0 {
			c.charged = append(c.charged, key)
		}
		if sum.value += once; sum.value < 0 { // saturate, as AddSaturating does
			sum.value = math.MaxInt64
		}
		if cut {
			sum.cut = decode.AddSaturating(sum.cut, once)
		}
		if square > 0 && once > 0 {
			sum.square += square
		}
	}
}

// nameless is the part of the samples that a query asks about, or may ask about, which are
// hidden, and the part of those in which nothing can be charged to a function of Go.
func (c *Counter) nameless(query int, total int64) (hidden, foreign float64) {
	t, q, s := c.table, &c.queries[query], &c.stack
	if !c.stacks.lacks {
		return 0, 0
	}
	var hides, others int64
	for i := range t.Samples {
		sh, v := &c.stacks.shapes[i], t.Values[i*len(t.Types)+q.Value]
		if v <= 0 || !sh.hidden && !sh.foreign || q.Where >= 0 && !holds(t, &t.Samples[i], c.Where[q.Where]) {
			continue
		}
		s.frames, s.sample, s.shape = c.stacks.of(i), i, sh
		counts := c.reaches(q)
		switch {
		case sh.hidden:
			if hides = decode.AddSaturating(hides, v); !counts {
				total = decode.AddSaturating(total, v) // what the query asks about may be in it
			}
		case counts:
			others = decode.AddSaturating(others, v)
		}
	}
	if total <= 0 {
		return 0, 0
	}
	return float64(hides) / float64(total), (float64(hides) + float64(others)) / float64(total)
}
