package charge

import (
	"slices"

	"github.com/profguard/profguard/internal/decode"
)

// walk visits the samples that a query selects.
func (c *Counter) walk(query int, visit func(v int64, s *Stack)) {
	t, q, s := c.table, &c.queries[query], &c.stack
	types := len(t.Types)
	for i := range t.Samples {
		// Differences of profiles have values below zero. These are left out.
		v := t.Values[i*types+q.Value]
		if v <= 0 || q.Where >= 0 && !holds(t, &t.Samples[i], c.Where[q.Where]) || q.Only > 0 && c.valuesOf(q.Of).of[i] != q.Only-1 {
			continue
		}
		s.frames, s.sample, s.shape = c.stacks.of(i), i, &c.stacks.shapes[i]
		if c.reaches(q) {
			visit(v, s)
		}
	}
}

// without are the functions that a charge leaves out.
var without = [...]part{
	Inner:   floor,
	Waiting: waiting,
	Living:  waiting | ours | roots,
}

// reaches finds the frames of the loaded stack that a query may charge. It reports whether
// the query counts the sample at all.
func (c *Counter) reaches(q *Query) bool {
	s := &c.stack
	s.from, s.reach, s.unknown, s.without, s.skip, s.inside = 0, len(s.frames), s.cut, without[q.Charge], -1, true
	if q.Unit == Pattern {
		s.without |= unmatched
	}
	if q.In >= 0 {
		if s.reach, s.inside = s.below(c.Names, q.In); !s.inside {
			return s.cut // the pattern may match a frame that was cut off
		}
	}
	switch q.Charge {
	case Flat:
		if s.only(int(s.resumed), q); q.Unit == Pattern { // which may name the interrupt
			s.from = 0
		}
	case Inner:
		s.within(int(s.working), q)
	case Waiting:
		s.within(int(s.busy), q)
	case Started:
		if s.from = c.started(); s.from < 0 {
			return false
		}
		s.reach = s.from + 1
	case Living:
		if s.entry >= 0 && s.handed {
			s.reach = min(s.reach, int(s.entry)+1)
		}
	}
	switch {
	case q.Unit == Whole, q.Unit == Labelled:
		s.reach, s.unknown = 0, false
	case q.Unit == Pattern && !s.matched:
		s.reach = 0
	}
	if q.Except >= 0 && s.matched {
		c.accept(q)
	}
	return true
}

// only charges one frame, which was not cut off; whether "in" holds may not be known.
func (s *Stack) only(frame int, q *Query) {
	s.from, s.reach, s.unknown = frame, min(s.reach, frame+1), s.cut && q.In >= 0
}

// within charges what is below the way in, from a frame on.
func (s *Stack) within(from int, q *Query) {
	s.from, s.unknown = from, s.cut && (q.In >= 0 || !s.handed)
	if s.server {
		s.reach = 0
	}
	s.reach = min(s.reach, max(int(s.entry), from+1))
	// The entry point is charged with its own body only, also where it is recursive. In a
	// stack that was cut off it may as well be a recursive function below the entry point.
	if s.entry >= 0 && (s.handed || !s.cut) {
		s.skip = s.frames[s.entry]
	}
}

// accept charges only the callees of the innermost function that the query excepts. An interrupt is
// not excepted: the function that was interrupted is at work itself.
func (c *Counter) accept(q *Query) {
	s := &c.stack
	for i := int(s.resumed); i < s.reach; i++ {
		if c.accepts(q, i) {
			if s.reach = i; q.doors() {
				s.reach = c.runEnd(i)
			}
			return
		}
	}
}

// accepts reports whether the query excepts a frame. A caller that was cut off accepts nothing.
func (c *Counter) accepts(q *Query, at int) bool {
	frames, list := c.stack.frames[at:], c.Excepts[q.Except]
	for _, of := range c.Names.Matches(frames[0]) {
		for i, _ := slices.BinarySearchFunc(list, Exception{of, -1}, Exception.Compare); i < len(list) && list[i].Of == of; i++ {
			from := list[i].From
			if from < 0 || slices.ContainsFunc(frames[1:], func(f decode.ID) bool { return slices.Contains(c.Names.Matches(f), from) }) {
				return true
			}
		}
	}
	return false
}

// started is the frame of the loaded stack that Started charges, or -1 if no goroutine is leaked.
// The runtime takes a main goroutine in "select {}" for a leak: Go 1.26 shows its stack, and
// 1.27 counts it and leaves the stack empty. It lives as long as the program.
func (c *Counter) started() int {
	s := &c.stack
	if s.root < 0 || c.Names.symbols.Name(s.frames[len(s.frames)-1]) == "runtime.main" {
		return -1
	}
	for at := int(s.root); at >= 0; at-- {
		if c.isMine(s.frames[at]) {
			return at
		}
	}
	return int(s.root)
}

// holds reports whether a sample has all of some labels.
func holds(t *decode.Table, s *decode.Sample, condition []Label) bool {
	labels := t.Labels[s.LabelLo:s.LabelHi]
	return !slices.ContainsFunc(condition, func(want Label) bool {
		return !slices.ContainsFunc(labels, func(l decode.Label) bool {
			return string(t.String(l.Key)) == want.Key && string(t.String(l.Str)) == want.Value
		})
	})
}

// keys lists the function or package that each frame of the loaded stack is charged to, or the value of a label,
// from Stack.from on, with -1 for none. For a query by patterns it lists functions. The
// list is valid until the next call.
func (c *Counter) keys(q *Query) []int32 {
	s, parts, pkgs, all := &c.stack, c.Names.parts, c.Names.by[Package].of, q.Charge <= Cumulative
	if q.Unit == Labelled {
		return c.valueKey(q)
	}
	frames := s.frames[min(s.from, s.reach):s.reach]
	shared, group := groups[q.Unit].of != nil, c.Names.by[q.Unit].of
	if q.doors() {
		list := c.doors(frames)
		for i, f := range list {
			if shared && f >= 0 {
				list[i] = group[f]
			}
		}
		return list
	}
	list, without, skip := slices.Grow(c.list[:0], len(frames))[:len(frames)], s.without, decode.ID(-1) // the first is not skipped
	for i, f := range frames {
		key := int32(-1)
		switch {
		case parts[f]&without != 0 || f == skip:
		case !shared:
			key = int32(f)
		case all || !c.own[pkgs[f]]:
			key = group[f]
		}
		list[i], skip = key, s.skip
	}
	c.list = list
	return list
}

// doors reports whether foreign code is charged at its doors only.
func (q *Query) doors() bool {
	return q.Unit != Pattern && !groups[q.Unit].foreign && q.Charge > Cumulative
}

// doors lists the functions that the frames are charged to, with -1 for none. A function of the
// program's own module is charged. Other code, that is the standard library and each foreign
// module, is charged at its door: the function through which it was entered, once for
// each run of frames of one module.
func (c *Counter) doors(frames []decode.ID) []int32 {
	s, parts := &c.stack, c.Names.parts
	list := slices.Grow(c.list[:0], len(frames))[:len(frames)]
	inside := int32(-1) // the foreign module that the last frame was of
	for i := len(frames) - 1; i >= 0; i-- {
		f := frames[i]
		list[i] = -1
		if parts[f]&s.without != 0 || f == s.skip && i > 0 {
			continue
		}
		pkg := c.Names.by[Package].of[f]
		if module := c.Names.homes[pkg].module; c.own[pkg] {
			list[i], inside = int32(f), -1
		} else if module != inside {
			list[i], inside = int32(f), module
		}
	}
	c.list = list
	return list
}

// runEnd is the innermost frame of the run of frames of one foreign module that a frame is in,
// or the frame itself if it is of the program's own module.
func (c *Counter) runEnd(at int) int {
	s, names := &c.stack, c.Names
	pkg := names.by[Package].of[s.frames[at]]
	if c.own[pkg] {
		return at
	}
	for i := at - 1; i >= 0; i-- {
		f := s.frames[i]
		switch below := names.by[Package].of[f]; {
		case names.parts[f]&s.without != 0:
		case !c.own[below] && names.homes[below].module == names.homes[pkg].module:
			at = i
		default:
			return at
		}
	}
	return at
}

// below returns the number of frames, from the leaf, that are below the outermost function
// that the pattern matches.
func (s *Stack) below(names *Names, pattern int32) (int, bool) {
	for i := len(s.frames) - 1; i >= 0; i-- {
		if slices.Contains(names.Matches(s.frames[i]), pattern) {
			return i, true
		}
	}
	return 0, false
}
