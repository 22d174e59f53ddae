package charge

import (
	"iter"
	"slices"
)

// maxOver limits the functions that are compared with each other: the matrix has the
// square of it. With more functions over a limit, only the heaviest are of interest.
const maxOver = 128

// Ranked yields the keys that a query charges with anything, heaviest first. Equal ones are
// ordered by name, so that the result does not depend on earlier profiles. Callers look at
// a few of thousands of functions, so the others stay in a heap, unsorted.
func (c *Counter) Ranked(query int) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		s := c.Sums(query)
		if len(s.ranked) < len(s.Keys) {
			s.ranked, s.heap = room(s.ranked, len(s.Keys)), len(s.Keys)
			for i := range s.Keys {
				s.ranked = append(s.ranked, int32(i))
			}
			for i := len(s.Keys) / 2; i >= 0; i-- {
				c.sink(query, i)
			}
		}
		for i := len(s.ranked) - 1; i >= 0; i-- {
			if i < s.heap { // behind the heap are those that were yielded before, from the end
				s.heap = i
				s.ranked[0], s.ranked[i] = s.ranked[i], s.ranked[0]
				c.sink(query, 0)
			}
			if !yield(s.Keys[s.ranked[i]]) {
				return
			}
		}
	}
}

// sink moves the i-th key of the heap down, below all that are heavier.
func (c *Counter) sink(query, i int) {
	s := c.Sums(query)
	before := func(a, b int32) bool {
		if s.values[a] != s.values[b] {
			return s.values[a] > s.values[b]
		}
		return c.Name(query, s.Keys[a]) < c.Name(query, s.Keys[b])
	}
	for heap := s.ranked[:s.heap]; ; {
		first := i
		for _, below := range [...]int{2*i + 1, 2*i + 2} {
			if below < len(heap) && before(heap[below], heap[first]) {
				first = below
			}
		}
		if first == i {
			return
		}
		heap[i], heap[first] = heap[first], heap[i]
		i = first
	}
}

// Offenders selects the functions to name from the keys over a limit, which are given in
// their ranked order. It returns no more than most, in the order to name them: the deepest
// function of a chain of calls first, and the heaviest chain before others. The samples of
// a named function are subtracted from all others. A function that is not over the limit
// any more is not named.
func (c *Counter) Offenders(query int, over []int32, limit int64, most int) []int32 {
	m := c.overlap(query, over[:min(len(over), maxOver)]) // from here on, a key is its place in this list
	var named []int32
	for len(named) < most {
		next := m.deepest(limit)
		if next < 0 {
			break
		}
		named = append(named, m.keys[next])
		m.take(next)
	}
	return named
}

// A matrix holds the weight of each key, and of each pair of keys in the same stack, over
// the samples that are not subtracted yet.
type matrix struct {
	keys    []int32
	value   []int64
	under   [][]int64 // under[f][g]: the weight of the samples in which g is below f, called by it
	samples []group
}

// A group is all samples with the same keys, leaf first.
type group struct {
	value int64
	keys  []int // indices into matrix.keys
}

func (c *Counter) overlap(query int, over []int32) *matrix {
	m := &matrix{keys: over, value: make([]int64, len(over)), under: make([][]int64, len(over))}
	index := map[int32]int{}
	for i, k := range over {
		index[k] = i
		m.under[i] = make([]int64, len(over))
	}
	merged := map[string]int{} // groups by their keys
	var list []int
	var name []byte
	c.walk(query, func(v int64, _ *Stack) {
		list, name = list[:0], name[:0]
		for _, key := range c.keys(&c.queries[query]) {
			if i, ok := index[key]; ok && !slices.Contains(list, i) {
				list = append(list, i)
				name = append(name, byte(i))
			}
		}
		if len(list) == 0 {
			return
		}
		at, ok := merged[string(name)]
		if !ok {
			at = len(m.samples)
			merged[string(name)] = at
			m.samples = append(m.samples, group{keys: slices.Clone(list)})
		}
		m.samples[at].value = AddSaturating(m.samples[at].value, v)
	})
	for i := range m.samples {
		m.count(&m.samples[i], m.samples[i].value)
	}
	return m
}

// count adds a group to the sums, or subtracts it.
func (m *matrix) count(s *group, value int64) {
	for d, g := range s.keys {
		m.value[g] = AddSaturating(m.value[g], value)
		for _, f := range s.keys[d+1:] {
			m.under[f][g] = AddSaturating(m.under[f][g], value)
		}
	}
}

// deepest is the heaviest of the keys over the limit that call no other such key, or -1.
func (m *matrix) deepest(limit int64) int {
	best, bestCalls := -1, true
	for f := range m.keys {
		if m.value[f] <= limit {
			continue
		}
		calls := false // another key that is over the limit
		for g := range m.keys {
			if g != f && m.value[g] > limit && m.under[f][g] > m.under[g][f] {
				calls = true
				break
			}
		}
		// If keys call each other in a ring there is no deepest, and the heaviest is named.
		if best < 0 || bestCalls && !calls || bestCalls == calls && m.value[f] > m.value[best] {
			best, bestCalls = f, calls
		}
	}
	return best
}

// take subtracts the samples of a key from all sums.
func (m *matrix) take(key int) {
	for i := range m.samples {
		if s := &m.samples[i]; s.value != 0 && slices.Contains(s.keys, key) {
			m.count(s, -s.value)
			s.value = 0
		}
	}
}
