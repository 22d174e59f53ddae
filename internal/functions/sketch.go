package functions

import (
	"cmp"
	"maps"
	"slices"
)

const (
	// kept is how many functions the sketch remembers at the least, beside those that have a series.
	// Services have some hundreds that are charged at all, so usually nothing is forgotten.
	kept = 2048

	// A function gets a series when it has notable, half a percent, of the samples of late. These
	// are the last window, and about as many as horizon before it.
	notable = 0.005
	horizon = 1000
)

// A sketch counts the hits of functions in bounded memory, window after window. It is the algorithm
// SpaceSaving, in batches: when it has twice as many functions as it keeps, those with the fewest
// hits are forgotten, and floor becomes the most that one of them may have had. A function that
// comes back counts from zero and lacks at most floor hits. All hits together are at least kept
// times floor: each function in the sketch has floor hits or more, counting what it may lack, so
// that forgetting takes away at least what coming back has added. So floor is at most the 2048th
// part of all that was charged, and 0 for programs of usual size.
type sketch struct {
	most   int // that get a series
	kept   int
	by     map[string]*tally
	loose  int     // those without a series
	floor  int64   // what a function that is not in the sketch may have had, at the most
	recent float64 // samples of late
	lost   float64 // hits of late that a forgotten function had, at the most
	series int
}

// A tally is the hits of one function.
type tally struct {
	hits   int64   // since it is in the sketch
	lacks  int64   // hits before, at the most
	recent float64 // hits of late
	series bool    // it has one, for good
}

func newSketch(most int) *sketch {
	return &sketch{most: most, kept: kept, by: map[string]*tally{}}
}

// add adds a window: its samples, and how many of them hit each function.
func (s *sketch) add(samples int64, hits map[string]int64) {
	if samples <= 0 {
		return
	}
	// With n samples a window, the samples of late are horizon + n in the long run.
	fade := horizon / (horizon + float64(samples))
	s.recent, s.lost = s.recent*fade+float64(samples), s.lost*fade
	for _, t := range s.by {
		t.recent *= fade
	}
	for name, n := range hits {
		t := s.by[name]
		if t == nil {
			t = &tally{lacks: s.floor}
			s.by[name] = t
			s.loose++
		}
		t.hits += n
		t.recent += float64(n)
	}
	s.choose()
	s.forget()
}

// choose gives series to functions, the largest first. With h hits of late, a function may take
// one if less than h parts in h+1 of the series are taken: so what has a hit or two by chance leaves
// room for what has more.
func (s *sketch) choose() {
	isNew := func(name string) bool {
		t := s.by[name]
		return !t.series && t.recent >= notable*s.recent
	}
	var names []string
	for name := range s.by {
		if s.series < s.most && isNew(name) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(s.by[b].recent, s.by[a].recent), cmp.Compare(a, b))
	})
	for _, name := range names {
		t := s.by[name]
		if float64(s.series) >= float64(s.most)*t.recent/(t.recent+1) {
			return
		}
		t.series = true
		s.series, s.loose = s.series+1, s.loose-1
	}
}

// forget bounds the memory.
func (s *sketch) forget() {
	if s.loose <= 2*s.kept {
		return
	}
	names := slices.Collect(maps.Keys(s.by))
	names = slices.DeleteFunc(names, func(name string) bool { return s.by[name].series })
	had := func(name string) int64 { return s.by[name].hits + s.by[name].lacks }
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(had(a), had(b)), cmp.Compare(a, b)) })
	lost := s.lost
	for _, name := range names[:len(names)-s.kept] {
		s.floor = max(s.floor, had(name))
		lost = max(lost, s.lost+s.by[name].recent)
		delete(s.by, name)
	}
	s.lost, s.loose = lost, s.kept
}

// rest is a share that no function without a series has exceeded of late.
func (s *sketch) rest() float64 {
	if s.recent == 0 {
		return 1
	}
	most := 0.0
	for _, t := range s.by {
		if !t.series {
			most = max(most, t.recent)
		}
	}
	return min(1, (most+s.lost)/s.recent)
}
