package charge

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/profguard/profguard/internal/decode"
)

// maxOver limits the functions that are compared with each other: the matrix has the
// square of it. With more functions over a limit, only the heaviest are of interest.
const maxOver = 128

// Ranked lists the keys of a query that have more than least, heaviest first, and at least
// the heaviest. Equal ones are ordered by name, so that the result does not depend on earlier
// profiles. The list is valid until the next count.
func (c *Counter) Ranked(query int, least int64) []int32 {
	s := c.Sums(query)
	if least = min(least, s.Most-1); len(s.ranked) == 0 || least < s.above {
		if s.above = least; len(s.ranked) > 0 { // the next limit may be lower still
			s.above = min(least, least/2)
		}
		s.ranked = s.ranked[:0]
		for i, key := range s.Keys {
			if s.Values[i] > s.above {
				s.ranked = append(s.ranked, key)
			}
		}
		slices.SortFunc(s.ranked, func(a, b int32) int {
			if x, y := s.By(a), s.By(b); x != y {
				return cmp.Compare(y, x)
			}
			return cmp.Compare(c.Name(query, a), c.Name(query, b))
		})
	}
	n := sort.Search(len(s.ranked), func(i int) bool { return s.By(s.ranked[i]) <= least })
	return s.ranked[:n]
}

// Offenders selects the functions to name from the keys over a limit, which are given in
// their ranked order. It returns no more than most, in the order to name them: the deepest
// function of a chain of calls first, and the heaviest chain before others. The samples of
// a named function are subtracted from all others. A function that is no longer over
// the limit is not named. Those over the first limit, which is no lower, are named first.
func (c *Counter) Offenders(query int, over []int32, most int, first, limit int64) []int32 {
	m := c.overlap(query, over[:min(len(over), maxOver)]) // from here on, a key is its place in this list
	var named []int32
	for _, limit := range [...]int64{first, limit} {
		for next := m.deepest(limit); next >= 0 && len(named) < most; next = m.deepest(limit) {
			named = append(named, m.keys[next])
			m.remove(next)
		}
	}
	return named
}

// A matrix holds the weight of each key, and of each pair of keys in the same stack, over
// the samples that are not subtracted yet.
type matrix struct {
	keys    []int32
	value   []int64
	under   [][]int64         // under[f][g]: the weight of the samples in which g is below f, called by it
	samples map[string]*int64 // the weight of those with the same keys: their places in keys, leaf first
}

func (c *Counter) overlap(query int, over []int32) *matrix {
	m := &matrix{keys: over, value: make([]int64, len(over)), under: make([][]int64, len(over)), samples: map[string]*int64{}}
	index := map[int32]byte{}
	for i, k := range over {
		index[k] = byte(i)
		m.under[i] = make([]int64, len(over))
	}
	var list []byte
	c.walk(query, func(v int64, _ *Stack) {
		list = list[:0]
		for _, key := range c.keys(&c.queries[query]) {
			if i, ok := index[key]; ok && !slices.Contains(list, i) {
				list = append(list, i)
			}
		}
		if sum := m.samples[string(list)]; sum != nil {
			*sum = decode.AddSaturating(*sum, v)
		} else {
			m.samples[string(list)] = new(v)
		}
	})
	for keys, v := range m.samples {
		m.count(keys, *v)
	}
	return m
}

// count adds the weight of samples with these keys to the sums, or subtracts it.
func (m *matrix) count(keys string, v int64) {
	for d, g := range []byte(keys) {
		m.value[g] = decode.AddSaturating(m.value[g], v)
		for _, f := range []byte(keys[d+1:]) {
			m.under[f][g] = decode.AddSaturating(m.under[f][g], v)
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

// remove subtracts the samples of a key from all sums.
func (m *matrix) remove(key int) {
	for keys, v := range m.samples {
		if strings.IndexByte(keys, byte(key)) >= 0 {
			m.count(keys, -*v)
			delete(m.samples, keys)
		}
	}
}
