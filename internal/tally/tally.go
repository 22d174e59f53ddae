package tally

import (
	"math"

	"github.com/profguard/profguard/internal/decode"
)

// Sums answers a [Query]. It is valid until the next count.
type Sums struct {
	Query Query
	// Total is the sum over all samples that the query selects.
	Total int64
	// N is the number of independent observations that Total is worth: for CPU
	// profiles the number of samples; for weighted values, where few samples can
	// carry most of the weight, Kish's effective number (Σw)²/Σw².
	N float64
	// By holds the sum for each key. Keys lists the keys that are not zero.
	By   []int64
	Keys []int32

	weight2 float64
	seen    []uint32 // by key: the sample that charged it last
	mark    uint32
}

// Share is the part of Total that is charged to key.
func (s *Sums) Share(key int32) float64 { return s.Part(s.By[key]) }

// Part is the part of Total that a value is.
func (s *Sums) Part(value int64) float64 {
	if s.Total <= 0 {
		return 0
	}
	return float64(value) / float64(s.Total)
}

// A Counter answers queries over decoded profiles.
type Counter struct {
	Names *Names
	// Where are the conditions that queries name by number: all labels of one
	// must be on a sample.
	Where [][]Label
	// Multiple is what one observed event counts as in a contention profile of
	// which only a fraction of the events is sampled. 0 means 1.
	Multiple float64
	// Patterns is the number of patterns that Names knows.
	Patterns int

	queries []Query
	sums    []Sums
	active  []int
	stack   Stack
	where   []bool
}

// Len is the number of queries asked.
func (c *Counter) Len() int { return len(c.queries) }

// Forget takes back all queries.
func (c *Counter) Forget() {
	c.queries, c.sums = c.queries[:0], c.sums[:0]
}

// Ask adds a query and returns its number. Equal queries have one number.
func (c *Counter) Ask(q Query) int {
	for i, old := range c.queries {
		if old == q {
			return i
		}
	}
	c.queries = append(c.queries, q)
	c.sums = append(c.sums, Sums{})
	return len(c.queries) - 1
}

// Sums is the answer to the query with that number, after Count.
func (c *Counter) Sums(query int) *Sums { return &c.sums[query] }

// Count answers the queries that ask selects, over one profile. t's symbols must
// have been learnt.
func (c *Counter) Count(t *decode.Table, asked func(query int) bool) {
	c.active = c.active[:0]
	for i := range c.queries {
		if asked(i) {
			c.active = append(c.active, i)
			c.reset(i)
		}
	}
	if len(c.active) == 0 {
		return
	}
	types := len(t.Types)
	for i := range t.Samples {
		c.load(t, i)
		values := t.Values[i*types : (i+1)*types]
		for _, q := range c.active {
			s := &c.sums[q]
			if v, reach, ok := c.selects(&s.Query, values); ok {
				s.add(c, values, v, reach)
			}
		}
	}
	for _, q := range c.active {
		c.sums[q].finish(c.Multiple)
	}
}

// Walk visits the samples that a query selects. Of the stack's frames those in
// [0, reach) are charged that [Counter.Charges] confirms.
func (c *Counter) Walk(t *decode.Table, query int, visit func(v int64, s *Stack, reach int)) {
	types := len(t.Types)
	q := &c.queries[query]
	for i := range t.Samples {
		c.load(t, i)
		if v, reach, ok := c.selects(q, t.Values[i*types:(i+1)*types]); ok {
			visit(v, &c.stack, reach)
		}
	}
}

func (c *Counter) load(t *decode.Table, i int) {
	c.stack.Load(t, i, c.Names)
	c.matchWhere(t, &t.Samples[i])
}

// selects tells whether the query counts the loaded sample, its value, and how
// many frames from the leaf may be charged. Values below zero, which profiles
// that are differences have, are no part of anything and are left out.
func (c *Counter) selects(q *Query, values []int64) (v int64, reach int, ok bool) {
	v = values[q.Value]
	if v <= 0 || q.Where >= 0 && !c.where[q.Where] {
		return 0, 0, false
	}
	reach = len(c.stack.frames)
	if q.In >= 0 {
		if reach, ok = c.stack.below(c.Names, q.In); !ok {
			return 0, 0, false
		}
	}
	switch q.Charge {
	case Flat:
		reach = min(reach, 1)
	case Resumed:
		reach = min(reach, c.stack.leaf+1)
	case Inner:
		// The leaf is charged even when it is the way in.
		reach = min(reach, max(c.stack.cut, c.stack.leaf+1))
	}
	return v, reach, true
}

// Charges reports whether frame i of the loaded stack, which is within reach,
// is charged.
func (c *Counter) Charges(q *Query, i int) bool {
	switch q.Charge {
	case Unparked:
		return !c.Names.parked[c.stack.frames[i]]
	case Inner:
		return c.stack.work[i]
	case Resumed:
		return i == c.stack.leaf
	}
	return true
}

func (c *Counter) reset(i int) {
	s := &c.sums[i]
	keys := 0
	switch c.queries[i].Unit {
	case Function:
		keys = len(c.Names.class)
	case Package:
		keys = len(c.Names.packages)
	case Pattern:
		keys = c.Patterns
	}
	if cap(s.By) < keys {
		s.By, s.seen = make([]int64, keys+keys/4), make([]uint32, keys+keys/4)
		s.Keys, s.mark = s.Keys[:0], 0
	}
	s.By, s.seen = s.By[:cap(s.By)], s.seen[:cap(s.seen)]
	for _, k := range s.Keys {
		s.By[k] = 0
	}
	s.Query, s.Keys, s.Total, s.N, s.weight2 = c.queries[i], s.Keys[:0], 0, 0, 0
}

func (c *Counter) matchWhere(t *decode.Table, sample *decode.Sample) {
	if len(c.Where) == 0 {
		return
	}
	c.where = c.where[:0]
	labels := t.Labels[sample.LabelLo:sample.LabelHi]
	for _, condition := range c.Where {
		c.where = append(c.where, holds(t, labels, condition))
	}
}

func holds(t *decode.Table, labels []decode.Label, condition []Label) bool {
	for _, want := range condition {
		found := false
		for _, l := range labels {
			if string(t.String(l.Key)) == want.Key && string(t.String(l.Str)) == want.Value {
				found = true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// add charges the sample that c.stack holds.
func (s *Sums) add(c *Counter, values []int64, v int64, reach int) {
	s.Total = AddSaturating(s.Total, v)
	s.weight2 += s.Query.square(values, v)
	s.nextMark()
	for i, f := range c.stack.frames[:reach] {
		if !c.Charges(&s.Query, i) {
			continue
		}
		switch s.Query.Unit {
		case Function:
			s.charge(int32(f), v)
		case Package:
			s.charge(c.Names.pkg[f], v)
		case Pattern:
			for _, p := range c.Names.Matches(f) {
				s.charge(p, v)
			}
		}
	}
}

// finish tells the number of observations.
func (s *Sums) finish(multiple float64) {
	if s.weight2 <= 0 {
		return
	}
	s.N = float64(s.Total) / s.weight2 * float64(s.Total)
	if s.Query.Weight.Multiple && multiple > 1 {
		s.N /= multiple
	}
	// Equal weights, as in CPU profiles, make it a whole number but for rounding.
	if n := math.Round(s.N); math.Abs(s.N-n) < 1e-6*n {
		s.N = n
	}
}

func (s *Sums) charge(key int32, v int64) {
	if s.seen[key] == s.mark {
		return
	}
	s.seen[key] = s.mark
	if s.By[key] == 0 {
		s.Keys = append(s.Keys, key)
	}
	s.By[key] = AddSaturating(s.By[key], v)
}

// nextMark starts a new sample: keys seen before count as unseen.
func (s *Sums) nextMark() {
	s.mark++
	if s.mark == 0 {
		clear(s.seen)
		s.mark = 1
	}
}

// square is the sum of the squares of the weights of a sample's observations: v
// is the sum of the weights.
func (q *Query) square(values []int64, v int64) float64 {
	w := &q.Weight
	n := float64(v)
	if w.Count >= 0 {
		n = float64(values[w.Count])
	}
	if w.Rate > 0 && q.Value == w.Bytes {
		// The runtime observes one byte in so many, and with it its object. So
		// bytes are worth as many observations as there are such distances in them.
		// That is exact for small objects, and modest for those larger than the
		// distance, whose weight is hardly left to chance any more.
		return float64(v) * float64(w.Rate)
	}
	if w.Rate > 0 && n > 0 {
		// The runtime has divided by the probability that an object of this size
		// is observed. Undo it, to know how many were.
		size := float64(values[w.Bytes]) / n
		n *= -math.Expm1(-size / float64(w.Rate))
	}
	if n <= 0 {
		return 0
	}
	return float64(v) / max(n, 1) * float64(v)
}

// AddSaturating adds without overflow: a profile whose values add up to more
// than an int64 holds is hostile or broken, and no share of it matters.
func AddSaturating(a, b int64) int64 {
	sum := a + b
	if a > 0 && b > 0 && sum < 0 {
		return math.MaxInt64
	}
	if a < 0 && b < 0 && sum >= 0 {
		return math.MinInt64
	}
	return sum
}
