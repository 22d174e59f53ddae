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
	// N is the number of independent observations with the same information as Total: for CPU
	// profiles the number of samples; for weighted values, where few samples can
	// carry most of the weight, Kish's effective number (Σw)²/Σw².
	N float64
	// Keys lists the keys that By is not zero of, in ascending order, and Values what is
	// charged to each. Most is the largest of these.
	Keys   []int32
	Values []int64
	Most   int64
	// squares has the sum of the squares of the weights of what is charged to each key. It
	// is empty where all observations weigh the same.
	squares []float64
	// Cut is the part of Total in stacks that the runtime may have cut off, where the lost
	// frames could change the answer. The part of Cut that is charged to a key is still known,
	// see Unknown.
	Cut int64
	// Hidden is the part of the samples in which any function may be, for lack of names, and
	// Foreign the part in which no function of Go is known.
	Hidden, Foreign float64

	weight2 float64
	cut2    float64 // the part of weight2 in Cut; 0 where all observations weigh the same
	cuts    []int64 // the part of each value in Cut; empty where Cut is 0

	counted int // the number of the profile

	ranked []int32 // the keys of which more than above is charged to, see [Counter.Ranked]
	above  int64
}

// A sum is what is charged to one key of the query that is being counted, and the part of
// it that is in Sums.Cut.
type sum struct {
	value, cut int64
	square     float64 // of the weights of its observations
	seen       uint64  // the sample that charged it last
}

// maxSums limits the sums that are kept of one profile, of all queries together, to 10 MiB.
const maxSums = 300_000

// mostObservations is the largest [Sums.N], and the most that package evidence tells apart.
const mostObservations = 1e15

// Full reports whether the queries so far need more sums than are kept. The answers to
// others are empty then.
func (c *Counter) Full() bool { return c.left < 0 }

// By is what is charged to key.
func (s *Sums) By(key int32) int64 { return s.of(key, s.Values) }

// of is the key's amount among the values, or among the cuts.
func (s *Sums) of(key int32, amounts []int64) int64 {
	if at, found := slices.BinarySearch(s.Keys, key); found && len(amounts) > 0 {
		return amounts[at]
	}
	return 0
}

// Uneven reports whether observations may weigh differently, also where there are none:
// contention events wait for different times, and the smaller objects are, the more of them
// an observed one stands for.
func (s *Sums) Uneven() bool {
	q := &s.Query
	return q.Weight.Multiple && q.Value != q.Weight.Count || q.Weight.Rate > 0 && q.Value != q.Weight.Bytes
}

// Weight is what an observation that is charged to key weighs on average, in weights of an
// average observation of the query. It is 1 for a key that nothing is charged to.
func (s *Sums) Weight(key int32) float64 {
	at, found := slices.BinarySearch(s.Keys, key)
	if !found || !s.Uneven() {
		return 1
	}
	return s.weight(s.squares[at], s.Values[at])
}

// CutWeight is what an observation in Cut weighs on average, in the same unit.
func (s *Sums) CutWeight() float64 {
	if s.Cut == 0 || !s.Uneven() {
		return 1
	}
	return s.weight(s.cut2, s.Cut)
}

// weight is the average weight of the observations that a value is the sum of.
func (s *Sums) weight(squares float64, value int64) float64 {
	if !(s.weight2 > 0) {
		return 1
	}
	return squares / float64(value) * float64(s.Total) / s.weight2
}

// Part is the part of Total that a value is.
func (s *Sums) Part(value int64) float64 {
	if s.Total <= 0 {
		return 0
	}
	return float64(value) / float64(s.Total)
}

// Unknown is how much more than By could belong to key, in the frames that were cut off.
func (s *Sums) Unknown(key int32) int64 { return s.Cut - s.of(key, s.cuts) }

// A Counter answers queries over decoded profiles.
type Counter struct {
	Names *Names
	// Where are the conditions that queries name by number. A sample must have all
	// labels of a condition.
	Where [][]Label
	// Multiple is how many events one observed event stands for, in a contention profile
	// that samples only a fraction of the events. 0 means 1.
	Multiple float64
	// Patterns is the number of patterns that Names knows.
	Patterns int
	// Excepts are the sets of patterns that queries name by number.
	Excepts [][]int32
	// Live says that profiles are of this process, so that their release of Go is known.
	Live bool

	queries []Query
	answers []Sums
	left    int // sums that may still be added, of maxSums

	// About the open profile.
	table  *decode.Table
	number int // of profiles so far
	stacks stacks
	paths  *paths // since a function was explained
	own    []bool // by number of a package: of the program's own module, or main
	// About the query that is being counted or walked.
	stack   Stack
	visited uint64  // samples
	sums    []sum   // by key
	charged []int32 // the keys that have a sum
	list    []int32 // see Counter.keys
}

// Ordered reports whether the addresses of the open profile show the order in which its
// packages were linked, or whether that order does not matter. Without it, only calls out
// of the standard library and calls of function literals are recognised as hand-overs.
func (c *Counter) Ordered() bool { return c.stacks.order.known || !c.stacks.order.several }

// Visits is how often a frame is visited at most: once for each query that looks at frames, and
// as often as a name matches patterns.
func (c *Counter) Visits() int {
	n := c.Names.mostMatches
	for i := range c.queries {
		if c.queries[i].Unit != Whole {
			n++
		}
	}
	return n
}

// Forget removes all queries.
func (c *Counter) Forget() {
	c.queries, c.answers = c.queries[:0], c.answers[:0]
}

// Ask adds a query and returns its number. Equal queries have the same number.
func (c *Counter) Ask(q Query) int {
	i := slices.Index(c.queries, q)
	if i < 0 {
		i = len(c.queries)
		c.queries, c.answers = append(c.queries, q), append(c.answers, Sums{})
	}
	return i
}

// Open prepares a profile for being counted. Its symbols must have been learnt before. From
// now on, all answers are about this profile.
func (c *Counter) Open(t *decode.Table) {
	c.table, c.paths, c.left = t, nil, maxSums
	c.number++
	c.learnOwn()
	c.stacks.read(t, c.Names, c.own, c.Live)
}

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

// Name is the function or package that a key of a query is.
func (c *Counter) Name(query int, key int32) string {
	switch c.queries[query].Unit {
	case Package:
		return c.Names.packages[key]
	case Folded:
		return c.Names.foldedNames[key]
	}
	return c.Names.symbols.Name(decode.ID(key))
}

// Key is the key of a query for a function or package, by its name, or -1 if it has never been
// seen.
func (c *Counter) Key(query int, name string) int32 {
	if c.queries[query].Unit == Package {
		if key, known := c.Names.packageIDs[name]; known {
			return key
		}
	} else if id, known := c.Names.symbols.Find(name); known {
		return int32(id)
	}
	return -1
}

func (c *Counter) count(query int) {
	t, q, s := c.table, &c.queries[query], &c.answers[query]
	*s = Sums{Query: c.queries[query], Keys: s.Keys[:0], Values: s.Values[:0], cuts: s.cuts[:0], squares: s.squares[:0], ranked: s.ranked[:0], counted: c.number}
	if keys := max(len(c.Names.parts), len(c.Names.packages), c.Patterns); len(c.sums) < keys {
		c.sums = make([]sum, keys+keys/4)
	}
	types, uneven := len(t.Types), s.Uneven()
	c.walk(query, func(v int64, stack *Stack) {
		square := q.square(t.Values[stack.sample*types:(stack.sample+1)*types], v)
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
