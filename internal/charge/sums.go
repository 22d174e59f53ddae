package charge

import (
	"cmp"
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
	values  []int64 // of the keys
	cuts    []int64 // the part of them that is in Cut; none where that is 0
	index   []int32 // the places of the keys, and 1, by slot; at least half of them are 0

	ranked []int32 // the keys, see Counter.Ranked; none until somebody asks
	sorted int     // how many of them are in order

	always  bool // counted in every profile, or only where somebody asks
	counted int  // the number of the profile
}

// A sum is what is charged to one key of the query that is being counted.
type sum struct {
	value, cut int64
	seen       uint64 // the sample that charged it last
}

// maxSums is how many sums are kept of one profile, for all queries that are always asked
// and their keys, and as many for the others: 10 MiB at the most, each.
const maxSums = 300_000

// mostObservations is what [Sums.N] is at most: who rounds it has an int64.
const mostObservations = 1 << 62

// Full reports whether the queries that are always asked make more sums of the profile
// than are kept. What they say is not all then.
func (c *Counter) Full() bool { return c.left < 0 }

// By is what is charged to key.
func (s *Sums) By(key int32) int64 {
	if at := s.find(key); at >= 0 {
		return s.values[at]
	}
	return 0
}

// find returns the place of a key, or -1.
func (s *Sums) find(key int32) int {
	if len(s.index) == 0 {
		return -1
	}
	return int(s.index[s.slot(key)]) - 1
}

// slot is where the index has a key, or would have it.
func (s *Sums) slot(key int32) uint32 {
	mask := uint32(len(s.index) - 1)
	at := uint32(key) * 0x9e3779b1 & mask // neighbours are apart
	for s.index[at] > 0 && s.Keys[s.index[at]-1] != key {
		at = (at + 1) & mask
	}
	return at
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
	if at := s.find(key); at >= 0 && s.Cut > 0 {
		return s.Cut - s.cuts[at]
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
	answers []Sums
	active  []int
	left    int // of maxSums

	// Of the profile that was opened.
	table     *decode.Table
	number    int // of profiles so far
	stacks    stacks
	own       []bool // by number of a package: of the program's own module
	selected  []int  // the samples that meet a condition on labels,
	condition int32  // and its number; unselected: none has been looked at
	// Of the query that is being counted or walked.
	stack    Stack
	visited  uint64  // samples
	sums     []sum   // by key
	touched  []int32 // the keys of sums that are not 0
	one      [1]int32
	excepted []int8 // by name: 1 is excepted, -1 is not, 0 is not known yet

	memory memory // of Explain
}

const unselected = -2

// Ordered reports whether the profile that was opened last tells in which order its
// program was linked, as far as that matters. Otherwise only calls out of the standard
// library and of function literals are known to be hand-overs.
func (c *Counter) Ordered() bool { return c.stacks.order.known || !c.stacks.order.several }

// Len is the number of queries asked.
func (c *Counter) Len() int { return len(c.queries) }

// Forget takes back all queries.
func (c *Counter) Forget() {
	c.queries, c.answers = c.queries[:0], c.answers[:0]
}

// Ask adds a query and returns its number. Equal queries have one number. One that is
// always asked is counted in every profile, others only where [Counter.Sums] asks.
func (c *Counter) Ask(q Query, always bool) int {
	i := slices.Index(c.queries, q)
	if i < 0 {
		i = len(c.queries)
		c.queries, c.answers = append(c.queries, q), append(c.answers, Sums{})
	}
	c.answers[i].always = c.answers[i].always || always
	return i
}

// Open counts a profile, whose symbols must have been learnt. All answers are of the
// profile that was opened last.
func (c *Counter) Open(t *decode.Table) {
	c.table, c.condition, c.left = t, unselected, maxSums
	c.number++
	c.own = c.own[:0]
	for _, pkg := range c.Names.packages {
		c.own = append(c.own, c.isOwn(pkg))
	}
	c.stacks.read(t, c.Names, c.own)
	c.active = c.active[:0]
	for i := range c.answers {
		if c.answers[i].always {
			c.active = append(c.active, i)
		}
	}
	// Labels are looked at once for all queries with one condition.
	slices.SortStableFunc(c.active, func(a, b int) int { return cmp.Compare(c.queries[a].Where, c.queries[b].Where) })
	for _, i := range c.active {
		if c.count(i); c.Full() {
			return
		}
	}
	c.left = maxSums // for all that is asked later
}

// Close lets go of the profile, which may be large. What has been counted stays.
func (c *Counter) Close() { c.table = nil }

// Sums is the answer to the query with that number. One that is not always asked has no
// sums where the others that were asked of the profile have used up theirs.
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

// Name is the function or package that a key of a query is.
func (c *Counter) Name(query int, key int32) string {
	if c.queries[query].Unit == Package {
		return c.Names.packages[key]
	}
	return c.Names.symbols.Name(decode.ID(key))
}

// Charged is what a query charges to a function or package, by its name.
func (c *Counter) Charged(query int, name string) int64 {
	if c.Names.symbols == nil { // nothing has had a name yet
		return 0
	}
	key, known := c.Names.packageIDs[name]
	if c.queries[query].Unit != Package {
		var id decode.ID
		id, known = c.Names.symbols.Find(name)
		key = int32(id)
	}
	if !known {
		return 0
	}
	return c.Sums(query).By(key)
}

func (c *Counter) count(query int) {
	t, s := c.table, &c.answers[query]
	*s = Sums{
		Query: c.queries[query], Keys: s.Keys[:0], values: s.values[:0], cuts: s.cuts[:0], index: s.index[:0],
		ranked: s.ranked[:0], always: s.always, counted: c.number,
	}
	if keys := max(len(c.Names.parts), len(c.Names.packages), c.Patterns); len(c.sums) < keys {
		c.sums = make([]sum, keys+keys/4)
	}
	types := len(t.Types)
	c.walk(query, func(v int64, stack *Stack, reach int) {
		s.Total = AddSaturating(s.Total, v)
		s.weight2 += s.Query.square(t.Values[stack.sample*types:(stack.sample+1)*types], v)
		cut := stack.cut && c.unknown(&s.Query)
		if cut {
			s.Cut = AddSaturating(s.Cut, v)
		}
		c.visited++
		for i, f := range stack.frames[:reach] {
			if !c.charges(&s.Query, i) {
				continue
			}
			for _, key := range c.keys(&s.Query, f) {
				c.charge(key, v, cut)
			}
		}
	})
	size := 1
	for size < 2*len(c.touched) {
		size *= 2
	}
	s.index, s.Keys, s.values = cleared(s.index, size), room(s.Keys, len(c.touched)), room(s.values, len(c.touched))
	for i, key := range c.touched {
		sum := &c.sums[key]
		s.Keys, s.values = append(s.Keys, key), append(s.values, sum.value)
		if s.Cut > 0 {
			s.cuts = append(s.cuts, sum.cut)
		}
		s.index[s.slot(key)] = int32(i) + 1
		sum.value, sum.cut = 0, 0
	}
	c.left -= len(c.touched)
	c.touched = c.touched[:0]
	s.finish(c.Multiple)
}

// keys are what a function that is charged is charged as.
func (c *Counter) keys(q *Query, f decode.ID) []int32 {
	switch q.Unit {
	case Pattern:
		return c.Names.Matches(f)
	case Package:
		if c.one[0] = c.Names.pkg[f]; q.Charge > Resumed && c.own[c.one[0]] {
			return nil
		}
	default:
		c.one[0] = int32(f)
	}
	return c.one[:]
}

// charge adds v to a key, once for each sample, and to what is known of stacks that
// were cut off where the sample is of one.
func (c *Counter) charge(key int32, v int64, cut bool) {
	s := &c.sums[key]
	if s.seen == c.visited {
		return
	}
	s.seen = c.visited
	if s.value == 0 {
		c.touched = append(c.touched, key)
	}
	s.value = AddSaturating(s.value, v)
	if cut {
		s.cut = AddSaturating(s.cut, v)
	}
}

// isOwn reports whether a package is of the program's own module. Package main is,
// whatever the module.
func (c *Counter) isOwn(pkg string) bool { return pkg == "main" || isIn(pkg, c.Module) }

// walk visits the samples that a query selects. Of the stack's frames those in
// [0, reach) are charged that charges confirms.
func (c *Counter) walk(query int, visit func(v int64, s *Stack, reach int)) {
	t, q := c.table, &c.queries[query]
	types := len(t.Types)
	if c.condition != q.Where {
		c.condition, c.selected = q.Where, room(c.selected, len(t.Samples))
		for i := range t.Samples {
			if q.Where < 0 || holds(t, &t.Samples[i], c.Where[q.Where]) {
				c.selected = append(c.selected, i)
			}
		}
	}
	if q.Except >= 0 {
		c.excepted = cleared(c.excepted, len(c.Names.parts))
	}
	for _, i := range c.selected {
		// Values below zero, which profiles that are differences have, are no part of
		// anything and are left out.
		v := t.Values[i*types+q.Value]
		if v <= 0 {
			continue
		}
		c.stack = Stack{frames: c.stacks.of(i), sample: i, shape: c.stacks.shapes[i]}
		if reach, ok := c.reach(q); ok {
			visit(v, &c.stack, reach)
		}
	}
}

// reach is how many frames of the stack, from the leaf, a query may charge, and whether
// it counts the sample at all.
func (c *Counter) reach(q *Query) (reach int, ok bool) {
	s := &c.stack
	reach = len(s.frames)
	if q.In >= 0 {
		if reach, ok = s.below(c.Names, q.In); !ok {
			return 0, s.cut // what was asked for may have been cut off
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
	return reach, true
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
	known := c.excepted
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

// charges reports whether frame i of the loaded stack, which is within reach,
// is charged.
func (c *Counter) charges(q *Query, i int) bool {
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

// holds reports whether a sample has all of some labels.
func holds(t *decode.Table, s *decode.Sample, condition []Label) bool {
	labels := t.Labels[s.LabelLo:s.LabelHi]
	return !slices.ContainsFunc(condition, func(want Label) bool {
		return !slices.ContainsFunc(labels, func(l decode.Label) bool {
			return string(t.String(l.Key)) == want.Key && string(t.String(l.Str)) == want.Value
		})
	})
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
	s.N = min(s.N, mostObservations)
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
