package charge

import (
	"cmp"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/decode"
)

// maxOver bounds the functions that are compared with each other: the matrix
// has its square. Limits low enough to have more are about the worst anyhow.
const maxOver = 128

// A Case is a count in which keys were found over a limit.
type Case struct {
	Counter *Counter
	Table   *decode.Table
	Query   int // the number of the query in Counter
	Room    *Room
}

// Offenders selects, from keys that are over a limit, those to name, at most most of
// them, in the order to name them: the deepest of a chain of calls first, of several
// chains the heaviest. The samples of one that is named are taken off all others, and
// whoever is not over the limit any more is not named.
func (c *Case) Offenders(over []int32, limit int64, most int) []int32 {
	sums := c.Counter.Sums(c.Query)
	over = slices.Clone(over)
	slices.SortFunc(over, func(a, b int32) int {
		if sums.By(a) != sums.By(b) {
			return cmp.Compare(sums.By(b), sums.By(a))
		}
		return strings.Compare(c.keyName(a), c.keyName(b))
	})
	m := c.overlap(over[:min(len(over), maxOver)]) // from here on, keys are numbers in that order
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

func (c *Case) keyName(key int32) string {
	if c.Counter.Sums(c.Query).Query.Unit == Package {
		return c.Counter.Names.PackageName(key)
	}
	return c.Table.Symbols.Name(decode.ID(key))
}

// A matrix says how much weight keys have, and share, in the samples that have not
// been taken.
type matrix struct {
	keys    []int32
	value   []int64
	under   [][]int64 // under[f][g]: the weight of the samples in which g is below f, called by it
	samples []charged
}

// charged is the keys of samples that have the same, leaf first.
type charged struct {
	value int64
	keys  []int // indices into matrix.keys
}

func (c *Case) overlap(over []int32) *matrix {
	m := &matrix{keys: over, value: make([]int64, len(over)), under: make([][]int64, len(over))}
	index := map[int32]int{}
	for i, k := range over {
		index[k] = i
		m.under[i] = make([]int64, len(over))
	}
	merged := map[string]int{} // equal lists of keys are one entry
	var list []int
	var name []byte
	c.Counter.Walk(c.Table, c.Query, func(v int64, s *Stack, reach int) {
		list, name = list[:0], name[:0]
		c.each(s, reach, func(_ int, key int32) {
			if i, ok := index[key]; ok && !slices.Contains(list, i) {
				list = append(list, i)
				name = append(name, byte(i))
			}
		})
		if len(list) == 0 {
			return
		}
		at, ok := merged[string(name)]
		if !ok {
			at = len(m.samples)
			merged[string(name)] = at
			m.samples = append(m.samples, charged{keys: slices.Clone(list)})
		}
		m.samples[at].value = AddSaturating(m.samples[at].value, v)
	})
	for i := range m.samples {
		m.count(&m.samples[i], m.samples[i].value)
	}
	return m
}

// count adds a sample to the sums, or takes it off.
func (m *matrix) count(s *charged, value int64) {
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

// each visits the charged frames of a stack, leaf first, with their keys.
func (c *Case) each(s *Stack, reach int, visit func(frame int, key int32)) {
	q := &c.Counter.queries[c.Query]
	for i, f := range s.Frames()[:reach] {
		if c.Counter.Charges(q, i) {
			for _, key := range c.Counter.keys(q, f) {
				visit(i, key)
			}
		}
	}
}
