package charge

import (
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/decode"
)

// A Stack is one sample's stack with its inlined frames, leaf first.
type Stack struct {
	table  *decode.Table
	sample int
	frames []decode.ID
	lines  []int32 // indices into the table's Lines, parallel to frames; see Line
	shape
}

// A shape says which frames of a stack are the way in. Frames are counted from the
// leaf.
type shape struct {
	// working is the frame in whose body the sample was taken: the first above the
	// floor. busy is the same where functions that wait are taken for the floor. Both
	// are the number of frames where there is none.
	working, busy int32
	// entry is the frame of the entry point: what is behind it is the way in. In a
	// stack that was cut off and shows no hand-over it is the number of frames.
	entry int32
	// root is the bottom frame outside the runtime, -1 where there is none.
	root int32
	// resumed is the frame that was interrupted, or the leaf.
	resumed int32
	handed  bool // there is a hand-over
	cut     bool // the runtime dropped the root's side
	server  bool // a server's own work
}

// shapes finds the way in of every stack of a profile.
type shapes struct {
	order order
	list  []shape

	// By name, of the functions at the roots of stacks.
	seen   []bool // at the bottom of a stack that is whole
	handed []int64
	all    []int64
}

// The runtime keeps so many frames of a stack: in CPU profiles, and in the others.
const (
	cpuDepth   = 64
	otherDepth = 128
)

// read finds the shapes of all stacks of a profile. own tells which packages are of the
// program's own module.
func (h *shapes) read(t *decode.Table, names *Names, s *Stack, own []bool) {
	h.order.read(t, names)
	h.list = slices.Grow(h.list[:0], len(t.Samples))
	h.seen = cleared(h.seen, len(names.parts))
	h.handed, h.all = cleared(h.handed, len(names.parts)), cleared(h.all, len(names.parts))
	depth := otherDepth
	if t.PeriodType.Type == "cpu" {
		depth = cpuDepth
	}
	types := len(t.Types)
	cuts := false
	for i := range t.Samples {
		s.load(t, i)
		sh := h.order.shape(names, s.frames)
		sh.cut = len(s.frames) >= depth && names.parts[s.frames[len(s.frames)-1]]&roots == 0
		cuts = cuts || sh.cut
		if !sh.cut && len(s.frames) > 0 {
			h.seen[s.frames[len(s.frames)-1]] = true
		}
		h.list = append(h.list, sh)
	}
	for i := range t.Samples {
		sh := &h.list[i]
		if sh.root < 0 || types == 0 {
			continue
		}
		if cuts && sh.cut {
			s.load(t, i)
			n := int32(len(s.frames))
			sh.cut = !h.seen[s.frames[n-1]]
			if sh.cut {
				if !sh.handed {
					sh.entry = n
				}
				continue
			}
		}
		if root := h.root(t, i, sh); root >= 0 {
			v := max(t.Values[i*types], 0)
			h.all[root] = AddSaturating(h.all[root], v)
			if sh.handed {
				h.handed[root] = AddSaturating(h.handed[root], v)
			}
		}
	}
	// What a server does in stacks that reach no handler is its own work: all of it where
	// half of the samples reach a handler. Where handlers do next to nothing, it is what
	// the standard library's servers read and write, which nobody can change.
	for i := range h.list {
		sh := &h.list[i]
		if sh.root < 0 || sh.cut || sh.handed {
			continue
		}
		root := h.root(t, i, sh)
		if handed := h.handed[root]; handed > 0 && !own[names.pkg[root]] {
			sh.server = handed >= h.all[root]/2 || names.parts[root]&standard != 0 && sh.working > sh.resumed
		}
	}
}

// root is the name of a stack's root.
func (h *shapes) root(t *decode.Table, sample int, sh *shape) decode.ID {
	n := sh.root
	s := &t.Samples[sample]
	for _, l := range t.Stacks[s.StackLo:s.StackHi] {
		loc := &t.Locations[l]
		if lines := loc.LineHi - loc.LineLo; n >= lines {
			n -= lines
			continue
		}
		return t.Lines[loc.LineLo+n].Name
	}
	return -1
}

// shape finds the way in of one stack.
func (o *order) shape(names *Names, frames []decode.ID) shape {
	n := int32(len(frames))
	sh := shape{working: n, busy: n, root: -1, entry: -1}
	for i, f := range frames {
		p := names.parts[f]
		if sh.working == n && p&floor == 0 {
			sh.working = int32(i)
		}
		if p&waiting == 0 {
			sh.busy = int32(i)
			break
		}
	}
	for sh.resumed < n-1 && names.parts[frames[sh.resumed]]&interrupts != 0 {
		sh.resumed++
	}
	bottom := n - 1
	for bottom >= 0 && names.parts[frames[bottom]]&roots != 0 {
		bottom--
	}
	if bottom < 0 {
		return sh
	}
	sh.root, sh.entry = bottom, -1
	at := bottom // the caller of what comes next
	for i := bottom - 1; i >= 0; i-- {
		if names.parts[frames[i]]&runtimes != 0 {
			continue
		}
		switch {
		case o.handsOver(names, frames, at, i):
			sh.handed, sh.entry = true, i
			if at == bottom {
				// What a goroutine begins with only started this one, as a go statement
				// would have: errgroup, a timer, a test.
				bottom, sh.entry = i, -1
			}
		case sh.entry < 0 && at == bottom:
			sh.entry = i
		}
		at = i
	}
	if sh.entry < 0 {
		sh.entry = bottom
	}
	return sh
}

// load reads the stack of sample i, without its shape.
func (s *Stack) load(t *decode.Table, i int) {
	s.table, s.sample = t, i
	s.frames, s.lines = s.frames[:0], s.lines[:0]
	sample := &t.Samples[i]
	for _, l := range t.Stacks[sample.StackLo:sample.StackHi] {
		loc := &t.Locations[l]
		for k := loc.LineLo; k < loc.LineHi; k++ {
			s.frames = append(s.frames, t.Lines[k].Name)
		}
	}
}

// Frames are the names of the stack, leaf first. Valid until the next is loaded.
func (s *Stack) Frames() []decode.ID { return s.frames }

// Line is the index into the table's Lines of frame i. Counting has no use for
// lines, so they are looked up when somebody asks.
func (s *Stack) Line(i int) int32 {
	if len(s.lines) != len(s.frames) {
		sample := &s.table.Samples[s.sample]
		for _, l := range s.table.Stacks[sample.StackLo:sample.StackHi] {
			loc := s.table.Locations[l]
			for k := loc.LineLo; k < loc.LineHi; k++ {
				s.lines = append(s.lines, k)
			}
		}
	}
	return s.lines[i]
}

// below returns how many frames, from the leaf, are called by the outermost
// function that the pattern matches.
func (s *Stack) below(names *Names, pattern int32) (int, bool) {
	for i := len(s.frames) - 1; i >= 0; i-- {
		for _, m := range names.Matches(s.frames[i]) {
			if m == pattern {
				return i, true
			}
		}
	}
	return 0, false
}

// cleared is a slice of so many zeros, in the memory of another if that is enough.
func cleared[T any](old []T, n int) []T {
	if cap(old) < n {
		return make([]T, n, n+n/4)
	}
	old = old[:n]
	clear(old)
	return old
}

// isIn reports whether a package is of a module, or of its external tests.
func isIn(pkg, module string) bool {
	return module != "" && strings.HasPrefix(pkg, module) && (len(pkg) == len(module) || pkg[len(module)] == '/' || pkg[len(module)] == '_')
}
