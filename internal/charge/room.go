package charge

import "github.com/profguard/profguard/internal/decode"

// Room is memory that cases use one after the other. The zero Room is ready.
// It is not safe for concurrent use.
type Room struct {
	through []paths
	lines   []int32
	all     []*stackPath
	live    []*stackPath
	places  []place
	byName  weights
}

// place is a line of one function, with the weight on it.
type place struct {
	line  int32
	value int64
}

// weights are sums by name, of the few names that were touched.
type weights struct {
	value   []int64
	touched []decode.ID
}

func (r *Room) paths(n int) []paths {
	for len(r.through) < n {
		r.through = append(r.through, paths{})
	}
	for i := range r.through[:n] {
		r.through[i] = paths{kept: r.through[i].kept[:0]}
	}
	return r.through[:n]
}

// copyLines keeps the lines of a stack. What was copied before stays where it is
// when the memory has to grow.
func (r *Room) copyLines(s *Stack) []int32 {
	from := len(r.lines)
	for i := range s.Frames() {
		r.lines = append(r.lines, s.Line(i))
	}
	return r.lines[from:len(r.lines):len(r.lines)]
}

func (r *Room) weights(names int) *weights {
	s := &r.byName
	for _, id := range s.touched {
		s.value[id] = 0
	}
	s.touched = s.touched[:0]
	if len(s.value) < names {
		s.value = make([]int64, names+names/4)
	}
	return s
}

func (s *weights) add(id decode.ID, value int64) {
	if s.value[id] == 0 {
		s.touched = append(s.touched, id)
	}
	s.value[id] = AddSaturating(s.value[id], value)
}
