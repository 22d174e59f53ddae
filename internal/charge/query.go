// Package charge decides which functions, packages or patterns a sample counts for. It
// walks the samples of a decoded profile, adds them up for any number of queries, and
// picks the offenders among the functions that are over a limit.
//
// The rule, which package budget's documentation explains to users, is in these files:
//
//   - layout.go finds the values that a budget asks about in a profile's samples, and how
//     many observations they stand for.
//   - known.go has the few function names that the rule knows; names.go what is known
//     about each function of a profile.
//   - order.go derives the order in which packages were linked from addresses, and finds
//     hand-overs with it.
//   - stack.go finds the way in of each stack, and servers' own work.
//   - query.go says which frames a sample is charged to.
//   - sums.go adds up; offenders.go picks the offenders; paths.go finds their callers and
//     callees.
//
// Everything is an index into an array. The arrays are kept from profile to profile: in a
// running program, adding up allocates nothing and matches no name after the first window.
package charge

import (
	"slices"

	"github.com/profguard/profguard/internal/decode"
)

// Unit is what samples are charged to.
type Unit uint8

const (
	Function Unit = iota // keys are ids of names
	Package              // keys are numbers of packages; from Inner on, only of modules other than the program's
	Folded               // as Function, but keys are numbers of names that [Names.Fold] has made; for charges with doors
	Pattern              // keys are numbers of patterns
	Whole                // there are no keys, only the total
)

// Charge says which frames of a stack are charged with its sample.
type Charge uint8

const (
	Flat       Charge = iota // the leaf
	Cumulative               // every frame
	// Resumed is Flat, but charges the function that was interrupted, and not the
	// runtime's interrupt on top of it. On a busy machine most samples of a loop are in
	// such interrupts.
	Resumed
	// Inner charges the function in whose body the sample was taken, and its callers up
	// to the entry point, which is left out: see the package's doc.
	Inner
	// Waiting is Inner for profiles of contention. The leaf shows how a goroutine waits,
	// so packages sync and time are part of the floor as well.
	Waiting
	// Started is for goroutines of which there are too many. It charges the function that the goroutine
	// was started for, because its go statement is what to mend: the outermost of the program's
	// own module, or else the goroutine's first. A sample without such a function is no leak, see
	// Counter.started.
	Started
	// Living is for profiles of goroutines: as Waiting, but with the entry point, which
	// shows the purpose of a goroutine.
	Living
)

// Query says which samples are counted and what they are charged to. It is
// comparable: equal queries are asked once.
type Query struct {
	Value  int // index of the sample type that is added up
	Weight Weight
	Unit   Unit
	Charge Charge
	In     int32 // number of a pattern: only samples through it, and of these only its callees; -1: all
	Where  int32 // number of a condition on labels; -1: every sample
	Except int32 // number of a set of patterns: samples in these and in their callees are charged neither to them nor to their callers; -1: none
}

// A Label is one condition on a sample's labels.
type Label struct{ Key, Value string }

// walk visits the samples that a query selects.
func (c *Counter) walk(query int, visit func(v int64, s *Stack)) {
	t, q, s := c.table, &c.queries[query], &c.stack
	types := len(t.Types)
	for i := range t.Samples {
		// Differences of profiles have values below zero. These are left out.
		v := t.Values[i*types+q.Value]
		if v <= 0 || q.Where >= 0 && !holds(t, &t.Samples[i], c.Where[q.Where]) {
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
	s.from, s.reach, s.unknown, s.without, s.skip = 0, len(s.frames), s.cut, without[q.Charge], -1
	if q.Unit == Pattern {
		s.without |= unmatched
	}
	if q.In >= 0 {
		var found bool
		if s.reach, found = s.below(c.Names, q.In); !found {
			return s.cut // the pattern may match a frame that was cut off
		}
	}
	switch q.Charge {
	case Flat:
		s.reach, s.unknown = min(s.reach, 1), s.cut && q.In >= 0
	case Resumed:
		s.from = int(s.resumed)
		s.reach, s.unknown = min(s.reach, s.from+1), s.cut && q.In >= 0
	case Inner, Waiting:
		s.from = int(s.working)
		if q.Charge == Waiting {
			s.from = int(s.busy)
		}
		if s.unknown = s.cut && (q.In >= 0 || !s.handed); s.server {
			s.reach = 0
		}
		s.reach = min(s.reach, max(int(s.entry), s.from+1))
		// The entry point is charged with its own body only, also where it is recursive. In a
		// stack that was cut off it may as well be a recursive function below the entry point.
		if s.entry >= 0 && (s.handed || !s.cut) {
			s.skip = s.frames[s.entry]
		}
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
	case q.Unit == Whole:
		s.reach, s.unknown = 0, false
	case q.Unit == Pattern && !s.matched:
		s.reach = 0
	}
	if q.Except >= 0 && s.matched {
		// An interrupt is not matched: the function that was interrupted is at work itself.
		for i := int(s.resumed); i < s.reach; i++ {
			if c.Names.Match(s.frames[i], c.Excepts[q.Except]) {
				s.reach = i // only the callees of the excepted function
				if q.doors() {
					s.reach = c.runEnd(i)
				}
				break
			}
		}
	}
	return true
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

// keys lists the function or package that each frame of the loaded stack is charged to,
// from Stack.from on, with -1 for none. For a query by patterns it lists functions. The
// list is valid until the next call.
func (c *Counter) keys(q *Query) []int32 {
	s, parts, pkgs, all := &c.stack, c.Names.parts, c.Names.pkg, q.Charge <= Resumed
	frames := s.frames[min(s.from, s.reach):s.reach]
	if q.doors() {
		list := c.doors(frames)
		if q.Unit == Folded {
			for i, f := range list {
				if f >= 0 {
					list[i] = c.Names.folded[f]
				}
			}
		}
		return list
	}
	list, without, skip := slices.Grow(c.list[:0], len(frames))[:len(frames)], s.without, decode.ID(-1) // the first is not skipped
	for i, f := range frames {
		key := int32(-1)
		switch {
		case parts[f]&without != 0 || f == skip:
		case q.Unit != Package:
			key = int32(f)
		case all || !c.own[pkgs[f]]:
			key = pkgs[f]
		}
		list[i], skip = key, s.skip
	}
	c.list = list
	return list
}

// doors reports whether foreign code is charged at its doors only.
func (q *Query) doors() bool { return (q.Unit == Function || q.Unit == Folded) && q.Charge > Resumed }

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
		pkg := c.Names.pkg[f]
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
	pkg := names.pkg[s.frames[at]]
	if c.own[pkg] {
		return at
	}
	for i := at - 1; i >= 0; i-- {
		f := s.frames[i]
		switch below := names.pkg[f]; {
		case names.parts[f]&s.without != 0:
		case !c.own[below] && names.homes[below].module == names.homes[pkg].module:
			at = i
		default:
			return at
		}
	}
	return at
}
