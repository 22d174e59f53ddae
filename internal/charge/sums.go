package charge

import (
	"math"
	"slices"

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
	// Keys lists the keys that By is not zero of.
	Keys []int32
	// Cut is the part of Total of stacks that were cut off, of which the lost end may
	// answer the question otherwise. What is charged to a key of it is known all the
	// same, see Unknown.
	Cut int64

	weight2 float64
	mark    uint32
	keys    int             // how many there may be
	sums    []sum           // by key, or by place
	cut     []int64         // like sums: the part of it that is in Cut; nil where that is 0
	places  map[int32]int32 // of the keys in sums; nil where sums is by key
}

// A sum is what is charged to one key.
type sum struct {
	value int64
	seen  uint32 // the sample that charged it last
}

// maxSums is how many sums are kept of one profile, for all queries and keys: 20 MiB
// at the most.
const maxSums = 500_000

// Full reports whether the queries asked for more sums of the profile that was counted
// last than are kept. What they say is not all then.
func (c *Counter) Full() bool { return c.room < 0 }

// fewKeys is the part of all keys up to which a query keeps only those that it has
// met. A thousand queries, each about what one function calls, would otherwise take
// the memory of a thousand times all names.
const fewKeys = 1.0 / 16

// place is where sums has key, or -1.
func (s *Sums) place(key int32) int32 {
	if s.places == nil {
		return key
	}
	if place, ok := s.places[key]; ok {
		return place
	}
	return -1
}

// By is what is charged to key.
func (s *Sums) By(key int32) int64 {
	if place := s.place(key); place >= 0 && int(place) < len(s.sums) {
		return s.sums[place].value
	}
	return 0
}

// Share is the part of Total that is charged to key.
func (s *Sums) Share(key int32) float64 { return s.Part(s.By(key)) }

// Part is the part of Total that a value is.
func (s *Sums) Part(value int64) float64 {
	if s.Total <= 0 {
		return 0
	}
	return float64(value) / float64(s.Total)
}

// Unknown is how much more than By may be charged to key: what was cut off does not
// tell.
func (s *Sums) Unknown(key int32) int64 {
	if s.Cut == 0 || key < 0 {
		return s.Cut
	}
	if place := s.place(key); place >= 0 && int(place) < len(s.cut) {
		return s.Cut - s.cut[place]
	}
	return s.Cut
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
	// Excepts are the sets of patterns that queries name by number.
	Excepts [][]int32
	// Module is the path of the program's own module, "" when unknown.
	Module string

	queries []Query
	sums    []Sums
	room    int // for sums, of maxSums
	active  []int
	stack   Stack
	shapes  shapes
	excepts []excepted // by number of a set
	own     []bool     // by number of a package: of the program's own module
	where   []bool
}

// Ordered reports whether the profile that was opened last tells in which order its
// program was linked, as far as that matters. Otherwise only calls out of the standard
// library and of function literals are known to be hand-overs.
func (c *Counter) Ordered() bool { return c.shapes.order.known || !c.shapes.order.several }

// excepted remembers, by name, whether a set of patterns matches: 1 for yes, -1 for
// no, 0 for not known yet.
type excepted []int8

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
// have been learnt, and the profile must have been opened.
func (c *Counter) Count(t *decode.Table, asked func(query int) bool) {
	c.active, c.room = c.active[:0], maxSums
	for i := range c.queries {
		if asked(i) {
			c.active = append(c.active, i)
			c.reset(i)
		}
	}
	if len(c.active) == 0 || c.Full() {
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

// Open finds the way in of each stack of a profile. Count and Walk are for the profile
// that was opened last.
func (c *Counter) Open(t *decode.Table) {
	c.own = c.own[:0]
	for _, pkg := range c.Names.packages {
		c.own = append(c.own, c.IsOwn(pkg))
	}
	c.shapes.read(t, c.Names, &c.stack, c.own)
	c.excepts = slices.Grow(c.excepts[:0], len(c.Excepts))[:len(c.Excepts)]
	for i := range c.excepts {
		c.excepts[i] = cleared(c.excepts[i], len(c.Names.parts))
	}
}

// IsOwn reports whether a package is of the program's own module. Package main is,
// whatever the module.
func (c *Counter) IsOwn(pkg string) bool { return pkg == "main" || isIn(pkg, c.Module) }

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
	c.stack.load(t, i)
	c.stack.shape = c.shapes.list[i]
	c.matchWhere(t, &t.Samples[i])
}

// selects tells whether the query counts the loaded sample, its value, and how
// many frames from the leaf may be charged. Values below zero, which profiles
// that are differences have, are no part of anything and are left out.
func (c *Counter) selects(q *Query, values []int64) (v int64, reach int, ok bool) {
	s := &c.stack
	v = values[q.Value]
	if v <= 0 || q.Where >= 0 && !c.where[q.Where] {
		return 0, 0, false
	}
	reach = len(s.frames)
	if q.In >= 0 {
		if reach, ok = s.below(c.Names, q.In); !ok {
			return v, 0, s.cut // what was asked for may have been cut off
		}
	}
	if q.Except >= 0 {
		reach = c.excused(q.Except, reach)
	}
	switch q.Charge {
	case Flat:
		reach = min(reach, 1)
	case Resumed:
		reach = min(reach, int(s.resumed)+1)
	case Inner, Waiting:
		reach = min(reach, int(max(s.entry, q.work(s)+1)))
		if s.server {
			reach = 0
		}
	case Living:
		if s.entry >= 0 && s.handed {
			reach = min(reach, int(s.entry)+1)
		}
	}
	return v, reach, true
}

// work is the frame in whose body the sample was taken.
func (q *Query) work(s *Stack) int32 {
	if q.Charge == Inner {
		return s.working
	}
	return s.busy
}

// excused returns how many frames from the leaf are called by what is excepted, or
// reach if nothing of it is among them.
func (c *Counter) excused(set int32, reach int) int {
	known := c.excepts[set]
	for i, f := range c.stack.frames[:reach] {
		if known[f] == 0 {
			known[f] = -1
			if c.Names.Match(f, c.Excepts[set]) {
				known[f] = 1
			}
		}
		if known[f] > 0 {
			return i
		}
	}
	return reach
}

// Charges reports whether frame i of the loaded stack, which is within reach,
// is charged.
func (c *Counter) Charges(q *Query, i int) bool {
	s := &c.stack
	switch q.Charge {
	case Inner, Waiting:
		if at := q.work(s); int32(i) <= at {
			return int32(i) == at
		}
		p := c.Names.parts[s.frames[i]]
		if p&floor != 0 || q.Charge == Waiting && p&waiting != 0 {
			return false
		}
		// The entry point is charged with its own body only, also where it calls itself.
		return int(s.entry) >= len(s.frames) || s.frames[i] != s.frames[s.entry]
	case Living:
		return c.Names.parts[s.frames[i]]&(waiting|ours|roots) == 0
	case Resumed:
		return i == int(s.resumed)
	}
	return true
}

// unknown reports whether the lost end of a stack that was cut off may change who is
// charged with the loaded sample.
func (c *Counter) unknown(q *Query) bool {
	s := &c.stack
	switch {
	case !s.cut:
		return false
	case q.In >= 0:
		_, found := s.below(c.Names, q.In)
		return !found
	case q.Charge == Flat || q.Charge == Resumed:
		return false
	case q.Charge == Inner || q.Charge == Waiting:
		return !s.handed
	}
	return true
}

func (c *Counter) reset(i int) {
	s := &c.sums[i]
	keys := 0
	switch c.queries[i].Unit {
	case Function:
		keys = len(c.Names.parts)
	case Package:
		keys = len(c.Names.packages)
	case Pattern:
		keys = c.Patterns
	}
	q := &c.queries[i]
	switch {
	case s.places != nil || s.sums == nil && (q.In >= 0 || q.Where >= 0):
		if s.places == nil {
			s.places = map[int32]int32{}
		}
		clear(s.places)
		s.sums = s.sums[:0]
	case len(s.sums) < keys:
		if c.room -= keys; c.room >= 0 {
			s.sums, s.mark = make([]sum, keys+keys/4), 0
		}
	default:
		c.room -= keys
		for _, k := range s.Keys {
			s.sums[k] = sum{}
		}
	}
	s.keys, s.cut = keys, s.cut[:0]
	s.Query, s.Keys, s.Total, s.Cut, s.N, s.weight2 = *q, s.Keys[:0], 0, 0, 0, 0
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
	cut := c.stack.cut && c.unknown(&s.Query)
	if cut {
		s.Cut = AddSaturating(s.Cut, v)
	}
	for i, f := range c.stack.frames[:reach] {
		if !c.Charges(&s.Query, i) {
			continue
		}
		switch s.Query.Unit {
		case Function:
			s.charge(c, int32(f), v, cut)
		case Package:
			if pkg := c.Names.pkg[f]; s.Query.Charge <= Resumed || !c.own[pkg] {
				s.charge(c, pkg, v, cut)
			}
		case Pattern:
			for _, p := range c.Names.Matches(f) {
				s.charge(c, p, v, cut)
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

// charge adds v to a key, and to what is known of stacks that were cut off where the
// sample is of one.
func (s *Sums) charge(c *Counter, key int32, v int64, cut bool) {
	place := s.place(key)
	if place < 0 {
		if place = s.meet(c, key); place < 0 {
			return
		}
	}
	t := &s.sums[place]
	if t.seen == s.mark {
		return
	}
	t.seen = s.mark
	if t.value == 0 {
		s.Keys = append(s.Keys, key)
	}
	t.value = AddSaturating(t.value, v)
	if cut {
		if more := len(s.sums) - len(s.cut); more > 0 {
			s.cut = append(s.cut, make([]int64, more)...)
		}
		s.cut[place] = AddSaturating(s.cut[place], v)
	}
}

// meet makes room for a key, or returns -1. From so many of them on, there is room for
// all.
func (s *Sums) meet(c *Counter, key int32) (place int32) {
	few := len(s.places) < int(fewKeys*float64(s.keys))
	if c.room--; !few {
		c.room -= s.keys
	}
	if c.room < 0 {
		return -1
	}
	if few {
		place = int32(len(s.sums))
		s.places[key], s.sums = place, append(s.sums, sum{})
		return place
	}
	sums, cut := make([]sum, s.keys+s.keys/4), []int64(nil)
	if len(s.cut) > 0 {
		cut = make([]int64, len(sums))
	}
	for key, place := range s.places {
		sums[key] = s.sums[place]
		if int(place) < len(s.cut) {
			cut[key] = s.cut[place]
		}
	}
	s.sums, s.cut, s.places = sums, cut, nil
	return key
}

// nextMark starts a new sample: keys seen before count as unseen.
func (s *Sums) nextMark() {
	s.mark++
	if s.mark == 0 {
		for i := range s.sums {
			s.sums[i].seen = 0
		}
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
