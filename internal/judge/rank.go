package judge

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/charge"
)

// A ranking is the keys of a query, heaviest first and by name where they are
// equal, so that a result does not depend on the order in which a judge came to
// know the names.
type ranking struct {
	keys   []int32
	heavy  int // keys[:heavy] are sorted
	counts int // the count that it is of; others are out of date
}

// heavyShare is the share from which keys are sorted at once. Of the thousands of
// functions in a profile few have that much, and hardly anybody asks for more.
const heavyShare = 1.0 / 64

// ranked yields the keys of a query that are charged with anything, heaviest
// first.
func (w *window) ranked(query int) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		r := w.ranking(query)
		for i := range len(r.keys) {
			if i == r.heavy {
				w.sort(query, r.keys[i:])
				r.heavy = len(r.keys)
			}
			if !yield(r.keys[i]) {
				return
			}
		}
	}
}

func (w *window) ranking(query int) *ranking {
	r := &w.judged.queries[query].ranking
	if r.counts == w.judged.windows {
		return r
	}
	sums := w.judged.counter.Sums(query)
	r.counts, r.heavy, r.keys = w.judged.windows, 0, append(r.keys[:0], sums.Keys...)
	for i, key := range r.keys {
		if sums.Share(key) >= heavyShare {
			r.keys[i], r.keys[r.heavy] = r.keys[r.heavy], key
			r.heavy++
		}
	}
	w.sort(query, r.keys[:r.heavy])
	return r
}

func (w *window) sort(query int, keys []int32) {
	sums := w.judged.counter.Sums(query)
	slices.SortFunc(keys, func(a, b int32) int {
		if c := cmp.Compare(sums.By(b), sums.By(a)); c != 0 || sums.Query.Unit == charge.Pattern {
			return c
		}
		return strings.Compare(w.keyName(sums, a), w.keyName(sums, b))
	})
}
