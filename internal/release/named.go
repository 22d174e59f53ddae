package release

import (
	"slices"
)

// unnamed is the order of functions that are not to be named, and mostNamed how many are compared
// with each other: the rest has changed less.
const unnamed, mostNamed = 1 << 20, 64

// named orders the functions to name: the deepest of a chain of calls that have grown first. What a
// named function has grown by is taken off the others, and those that have not grown by more than the
// limit without it are not named.
func (c *comparing) named(list []Function) map[id]int {
	order := map[id]int{}
	var grown []id
	for i := range list {
		f := &list[i]
		order[f.id] = unnamed
		if f.Status == Grown && len(grown) < mostNamed {
			grown = append(grown, f.id)
		}
	}
	sums := map[string]float64{} // growth by the grown functions of a stack, leaf first, as their places
	each := func(side *counted, factor float64) {
		for i := range side.stacks {
			s := &side.stacks[i]
			var key []byte
			for _, at := range s.charged {
				if place := slices.Index(grown, at); place >= 0 {
					key = append(key, byte(place))
				}
			}
			if len(key) > 0 {
				sums[string(key)] += factor * s.hits / side.n
			}
		}
	}
	each(c.now, c.scale.Value)
	each(c.before, -1)
	for number := range grown {
		place := deepest(sums, len(grown), c.Limit)
		if place < 0 {
			break
		}
		order[grown[place]] = number
		for key := range sums {
			if slices.Contains([]byte(key), byte(place)) {
				delete(sums, key)
			}
		}
	}
	return order
}

// deepest is the place of the function that has grown the most among those above the limit which
// call no other such function, or -1.
func deepest(sums map[string]float64, n int, limit float64) int {
	growth := make([]float64, n)
	under := make([][]float64, n) // under[f][g]: what has grown in g below f
	for f := range under {
		under[f] = make([]float64, n)
	}
	for key, points := range sums {
		for i, g := range []byte(key) {
			growth[g] += points
			for _, f := range []byte(key[i+1:]) {
				under[f][g] += points
			}
		}
	}
	best, bestCalls := -1, true
	for f := range n {
		if growth[f] <= limit {
			continue
		}
		calls := false
		for g := range n {
			calls = calls || g != f && growth[g] > limit && under[f][g] > under[g][f] && under[f][g] > growth[f]/2
		}
		if best < 0 || bestCalls && !calls || bestCalls == calls && growth[f] > growth[best] {
			best, bestCalls = f, calls
		}
	}
	return best
}
