package charge

import (
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/names"
)

// This file finds the owner of an offender: the function to change, where the offender itself is fine. A handler that
// calls Store.Get 600 times makes json.Unmarshal the offender, and Get the caller in the own module, and both are as
// they should be.
//
// The argument: nearly all of the offender goes through the owner, and the other work of the program does not, or a
// wrapper of all handlers would be the owner of everything. The outermost such function is the endpoint or the job.

// nearlyAll is the part of a weight that counts as all of it: nine tenths, because a few samples of other
// callers are in each profile. Below it callers differ, and the offender itself is what to look at.
func nearlyAll(v int64) int64 { return v - v/10 }

// owners are the functions that may be owners: those of the program's own module that a person would change. So
// tests and generated code are none, nor methods that the standard library calls (String, Less). A function literal
// belongs to the function around it.
type owners struct {
	numbers []int32 // by name, 1 + the number of the function
	names   []string

	here, all flow // of the stacks with an offender, and of those of the query
}

// reset forgets the stacks before.
func (o *owners) reset() {
	o.here.reset(len(o.names))
	o.all.reset(len(o.names))
}

// add adds a stack of the query. outer is the place of the outermost frame of the offender, -1 without it.
func (o *owners) add(v int64, s *Stack, outer int) {
	o.all.add(o, v, s, 0)
	if outer >= 0 {
		o.here.add(o, v, s, min(s.from+outer, s.top()+1))
	}
}

func (c *Counter) newOwners() owners {
	o, seen := owners{numbers: make([]int32, len(c.Names.parts))}, map[string]int32{}
	for i := range c.table.Funcs {
		f := &c.table.Funcs[i]
		file := c.table.Symbols.Name(f.File)
		if o.numbers[f.Name] != 0 || !c.isMine(f.Name) || c.Names.parts[f.Name]&serving != 0 || isGenerated(file) || strings.HasSuffix(file, "_test.go") {
			continue
		}
		name := names.Fold(c.table.Symbols.Name(f.Name))
		n := number(seen, name)
		if o.numbers[f.Name] = n + 1; int(n) == len(o.names) {
			o.names = append(o.names, name)
		}
	}
	return o
}

// top is the outermost frame of a stack that may be an owner: the entry point, because all work passes the way in. It
// is -1 where there is none: without a hand-over the goroutine's first function is the way in, and if frames
// were cut off, the real entry point may be among them.
func (s *Stack) top() int {
	if !s.handed && (s.cut || s.entry == s.root) {
		return -1
	}
	return int(s.entry)
}

// A flow is how much weight passes through each function, below the way in. owner compares two of them: that of the
// offender, and that of all work. Stacks with and without a hand-over are counted apart, because a handler is to be
// compared with other handlers, and a job with other jobs: beside a server's requests, every
// function of a background job would look special.
type flow struct {
	through []passed // by number
	sum     [2]int64 // of all stacks with such functions, without and with a hand-over
	stacks  int
}

func (w *flow) reset(functions int) {
	clear(w.through)
	*w = flow{through: slices.Grow(w.through[:0], functions)[:functions]}
}

// passed is the weight that passes through a function. A stack counts once, however often the function is on it.
type passed struct {
	of      [2]int64 // without and with a hand-over
	further int64    // the part that further own functions do
	last    int      // the number of the last stack
}

func (p *passed) total() int64 { return decode.AddSaturating(p.of[0], p.of[1]) }

// add adds a stack with functions from its outermost one down to a frame.
func (w *flow) add(o *owners, v int64, s *Stack, down int) {
	w.stacks++
	kind, innermost := s.kind(), int32(0)
	for _, f := range s.frames[:s.top()+1] {
		if innermost = o.numbers[f]; innermost != 0 {
			break
		}
	}
	if innermost == 0 {
		return
	}
	w.sum[kind] = decode.AddSaturating(w.sum[kind], v)
	for _, f := range s.frames[down : s.top()+1] {
		n := o.numbers[f]
		if n == 0 || w.through[n-1].last == w.stacks {
			continue
		}
		p := &w.through[n-1]
		p.last, p.of[kind] = w.stacks, decode.AddSaturating(p.of[kind], v)
		if n != innermost {
			p.further = decode.AddSaturating(p.further, v)
		}
	}
}

// kind is 1 for a stack with a hand-over.
func (s *Stack) kind() int {
	if s.handed {
		return 1
	}
	return 0
}

// owner returns the owner of the offender, at the costliest line that leads on. It is empty where callers differ, and
// where it would be the offender or the function that is blamed, which are named anyway.
//
// It goes from the outermost function with nearly all of the offender's weight inwards, and takes the first that is
// apart: nearly all of the other work does not go through it. A wrapper of all handlers is not apart, and is
// passed over. There are two exceptions:
//
//   - With next to no other work to compare with, a function below a hand-over counts as apart, and the loop of a
//     program does not.
//   - A handler that most other work goes through, too, is remembered if it does that work itself and not in further own
//     functions: it is no wrapper. It is named if the next function on the way is the offender or the one that is blamed.
func (p *paths) owner(blame, offender string) (found Frame) {
	o := &p.owners
	here, all := &o.here, &o.all
	var way []int32 // outermost first
	for i := range p.list {
		s := &p.list[i]
		for at := s.top; at >= s.outer; at-- {
			n := o.numbers[p.line(s, at).Name] - 1
			if n >= 0 && here.through[n].total() >= nearlyAll(p.value) && !slices.Contains(way, n) {
				way = append(way, n)
			}
		}
	}
	for _, n := range way {
		if name := o.names[n]; name == names.Fold(blame) || name == names.Fold(offender) {
			return found
		}
		f, _ := p.heaviest(func(_ int, s *path) int {
			at := s.top
			for at >= s.outer && o.numbers[p.line(s, at).Name]-1 != n {
				at--
			}
			if at < s.outer {
				return -1
			}
			return at
		})
		f.Function, f.Value = o.names[n], here.through[n].total()
		mine, whole, kind := &here.through[n], &all.through[n], 0
		if mine.of[1] >= mine.of[0] {
			kind = 1
		}
		rest := all.sum[kind] - here.sum[kind]
		isApart := whole.of[kind]-mine.of[kind] < nearlyAll(rest)
		if rest <= all.sum[kind]/20 { // next to no other work: a handler is apart, and what a program does all the time is not
			isApart = kind == 1
		}
		if isApart {
			return f
		}
		found = Frame{}
		if kind == 1 && whole.further-mine.further < nearlyAll(whole.total()-mine.total()) {
			found = f
		}
	}
	return Frame{}
}

// lastIndex is the last place of a key, or -1.
func lastIndex(keys []int32, key int32) int {
	at := len(keys) - 1
	for at >= 0 && keys[at] != key {
		at--
	}
	return at
}
