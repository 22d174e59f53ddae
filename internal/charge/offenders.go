package charge

import (
	"cmp"
	"slices"
	"strings"
)

// maxOver bounds the functions that are compared with each other: the matrix
// has its square. Limits low enough to have more are about the worst anyhow.
const maxOver = 128

// Ranked lists the keys whose values count, or where none does the one with the largest,
// heaviest first and by name where they are equal: what is found must not depend on the
// order in which names became known. The list is good until the query is ranked again.
func (c *Counter) Ranked(query int, counts func(value int64) bool) []int32 {
	s := c.Sums(query)
	order := func(a, b int32) int { // of two places
		if by := cmp.Compare(s.values[b], s.values[a]); by != 0 {
			return by
		}
		return strings.Compare(c.Name(query, s.Keys[a]), c.Name(query, s.Keys[b]))
	}
	s.ranked = s.ranked[:0]
	heaviest := int32(0)
	for i := range int32(len(s.Keys)) {
		if counts(s.values[i]) {
			s.ranked = append(s.ranked, i)
		}
		if order(i, heaviest) < 0 {
			heaviest = i
		}
	}
	if len(s.ranked) == 0 && len(s.Keys) > 0 {
		s.ranked = append(s.ranked, heaviest)
	}
	slices.SortFunc(s.ranked, order)
	for i, at := range s.ranked {
		s.ranked[i] = s.Keys[at]
	}
	return s.ranked
}

// Offenders selects those to name from keys that are over a limit, as they are ranked. It
// returns no more than most, in the order to name them: the deepest of a chain of calls first,
// of several chains the heaviest. The samples of one that is named are taken off all
// others, and whoever is not over the limit any more is not named.
func (c *Counter) Offenders(query int, over []int32, limit int64, most int) []int32 {
	m := c.overlap(query, over[:min(len(over), maxOver)]) // from here on, keys are numbers in that order
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

// A matrix says how much weight keys have, and share, in the samples that have not
// been taken.
type matrix struct {
	keys    []int32
	value   []int64
	under   [][]int64 // under[f][g]: the weight of the samples in which g is below f, called by it
	samples []group
}

// A group of samples has the same keys, leaf first.
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
	merged := map[string]int{} // equal lists of keys are one entry
	var list []int
	var name []byte
	c.walk(query, func(v int64, _ *Stack) {
		list, name = list[:0], name[:0]
		for part := c.charged(query); len(part) > 0; part = c.charged(query) {
			for _, at := range part {
				if i, ok := index[at.key]; ok && !slices.Contains(list, i) {
					list = append(list, i)
					name = append(name, byte(i))
				}
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

// count adds a sample to the sums, or takes it off.
func (m *matrix) count(s *group, value int64) {
	for d, g := range s.keys {
		m.value[g] = AddSaturating(m.value[g], value)
		for _, f := range s.keys[d+1:] {
			m.under[f][g] = AddSaturating(m.under[f][g], value)
		}
	}
}

// deepest is the heaviest of the keys over the limit below which no other is, or -1.
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
		// Keys that call each other in a ring have no deepest; then the heaviest is named.
		if best < 0 || bestCalls && !calls || bestCalls == calls && m.value[f] > m.value[best] {
			best, bestCalls = f, calls
		}
	}
	return best
}

// take takes the samples of a key off all sums.
func (m *matrix) take(key int) {
	for i := range m.samples {
		if s := &m.samples[i]; s.value != 0 && slices.Contains(s.keys, key) {
			m.count(s, -s.value)
			s.value = 0
		}
	}
}
