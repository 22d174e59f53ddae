package charge

import (
	"cmp"
	"slices"
	"strings"
)

// maxOver bounds the functions that are compared with each other: the matrix
// has its square. Limits low enough to have more are about the worst anyhow.
const maxOver = 128

// Ranked lists the keys whose values count, as all above some value do, or where none does
// the one with the largest. The heaviest is first, and equals are ordered by name: what is
// found must not depend on the order in which names became known. The list is good until
// the query is ranked again.
func (c *Counter) Ranked(query int, counts func(value int64) bool) []int32 {
	s := c.Sums(query)
	order := func(a, b int32) int { // of two places
		if by := cmp.Compare(s.values[b], s.values[a]); by != 0 {
			return by
		}
		return strings.Compare(c.Name(query, s.Keys[a]), c.Name(query, s.Keys[b]))
	}
	s.ranked = s.ranked[:0]
	if s.heaviest == 0 && len(s.Keys) > 0 { // a thousand budgets may ask the same query
		for i := range int32(len(s.Keys)) {
			if order(i, s.heaviest) < 0 {
				s.heaviest = i
			}
		}
		s.heaviest++
	}
	switch {
	case s.heaviest == 0:
	case !counts(s.values[s.heaviest-1]):
		s.ranked = append(s.ranked, s.heaviest-1)
	default:
		for i := range int32(len(s.Keys)) {
			if counts(s.values[i]) {
				s.ranked = append(s.ranked, i)
			}
		}
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
func (c *Counter) Offenders(query int, over []int32, limit int64, most int) (named []int32) {
	over = over[:min(len(over), maxOver)]
	for len(named) < most {
		next := c.deepest(query, over, named, limit)
		if next < 0 {
			break
		}
		named = append(named, over[next])
	}
	return named
}

// deepest is the heaviest of the keys over the limit below which no other is, or -1. It
// counts the samples of which nobody has been named.
func (c *Counter) deepest(query int, over, named []int32, limit int64) int {
	value, under := make([]int64, len(over)), make([][]int64, len(over)) // under[f][g]: of the samples in which f calls g
	for f := range under {
		under[f] = make([]int64, len(over))
	}
	places := make([]uint8, len(c.sums)) // 1 + that of a key
	for i, key := range over {
		places[key] = uint8(i + 1)
	}
	var list []int // of a sample's keys, leaf first
	c.walk(query, func(v int64, _ *Stack) {
		list = list[:0]
		taken := false
		for part := c.charged(query); len(part) > 0; part = c.charged(query) {
			for _, at := range part {
				if i := int(places[at.key]) - 1; i >= 0 && !slices.Contains(list, i) {
					list, taken = append(list, i), taken || slices.Contains(named, at.key)
				}
			}
		}
		if taken {
			return
		}
		for d, g := range list {
			value[g] = AddSaturating(value[g], v)
			for _, f := range list[d+1:] {
				under[f][g] = AddSaturating(under[f][g], v)
			}
		}
	})
	best, bestCalls := -1, true
	for f := range over {
		if value[f] <= limit {
			continue
		}
		calls := false // another key that is over the limit
		for g := range over {
			calls = calls || g != f && value[g] > limit && under[f][g] > under[g][f]
		}
		// Keys that call each other in a ring have no deepest; then the heaviest is named.
		if best < 0 || bestCalls && !calls || bestCalls == calls && value[f] > value[best] {
			best, bestCalls = f, calls
		}
	}
	return best
}
