package charge

import (
	"cmp"
	"slices"

	"github.com/profguard/profguard/internal/decode"
)

// A Frame is a function at a line, with the weight of the samples that pass through it.
type Frame struct {
	Function string
	File     string
	Line     int
	Value    int64
	Own      bool // of the program's own module
}

// An Explanation shows how the program gets to a function, and what the function calls.
type Explanation struct {
	// Here is the function's costliest line.
	Here Frame
	// Own is the nearest frame of the program's own module that has at least half of the
	// function's weight. That is the function itself when it is of the module. It is empty
	// when no frame has half of the weight. If nothing shows the module, Own is the nearest
	// frame outside the standard library.
	Own Frame
	// Cut says that Own is empty, and may be among the frames that were cut off.
	Cut bool
	// Owner is the function that makes it expensive, see paths.owner.
	Owner Frame
	// Callers is the costliest way in: first the caller, then its caller, up to the outermost
	// frame of the own module, or else all of it. Each has what passes through it on any way: a
	// walk of folders calls itself more or less often.
	Callers []Frame
	// Callees is where the cost goes from here: first the costliest callee, then its costliest
	// callee, as long as that one has at least half of the cost. Each is there once.
	Callees []Frame
}

// A path is a stack with the function in it.
type path struct {
	value        int64
	lines        []int32 // its frames, leaf first: indices into Table.Lines
	inner, outer int     // the innermost and the outermost frame of the function
	top          int     // the outermost frame that may be an owner, or below 0
	cut, handed  bool
}

// paths are the stacks through one function of the open profile.
type paths struct {
	*Counter
	lines   []int32 // of the frames of all stacks of the profile, in their order
	owners  owners
	list    []path
	value   int64               // of all in the list
	through map[decode.ID]int64 // what passes through each function on the way in
	byName  map[decode.ID]int64 // see heaviest
	byLine  map[decode.Line]int64
}

// newPaths has what does not depend on the function.
func (c *Counter) newPaths() *paths {
	t := c.table
	p := &paths{Counter: c, lines: make([]int32, 0, t.Frames), owners: c.newOwners(), byName: map[decode.ID]int64{}, byLine: map[decode.Line]int64{}}
	for s := range t.Each() {
		for _, at := range s.Locations {
			for line := t.Locations[at].LineLo; line < t.Locations[at].LineHi; line++ {
				p.lines = append(p.lines, line)
			}
		}
	}
	return p
}

// Explain looks at the samples that a query charges to a key, and returns an explanation.
func (c *Counter) Explain(query int, key int32) Explanation {
	if c.paths == nil {
		c.paths = c.newPaths()
	}
	p, t := c.paths, c.table
	p.list, p.value, p.through = p.list[:0], 0, map[decode.ID]int64{}
	p.owners.reset()
	c.walk(query, func(v int64, s *Stack) {
		keys := c.keys(&c.queries[query])
		inner, outer := slices.Index(keys, key), lastIndex(keys, key)
		if p.owners.add(v, s, outer); inner < 0 {
			return
		}
		p.list = append(p.list, path{
			value: v, lines: p.lines[c.stacks.starts[s.sample]:c.stacks.starts[s.sample+1]], inner: s.from + inner, outer: s.from + outer, top: s.top(), cut: s.cut, handed: s.handed,
		})
		p.value = decode.AddSaturating(p.value, v)
	})
	var e Explanation
	e.Here, _ = p.heaviest(func(_ int, s *path) int { return s.inner })
	e.Own, e.Cut = p.nearest()
	e.Owner = p.owner(e.Own.Function, e.Here.Function)
	if c.queries[query].Charge == Started && c.Names.parts[key]&literal != 0 && len(p.list) > 0 {
		s := &p.list[0]
		if begins := int(t.Funcs[p.line(s, s.inner).Func].Line); begins > 0 { // where the go statement is
			if e.Here.Line = begins; e.Own.Function == e.Here.Function {
				e.Own.Line = begins
			}
		}
	}
	e.Callers = p.follow(true, 0)
	way := 0
	for i := range e.Callers {
		id, _ := t.Symbols.Find(e.Callers[i].Function)
		e.Callers[i].Value = max(e.Callers[i].Value, p.through[id])
		if c.isMine(id) {
			way = i + 1
		}
	}
	if way > 0 {
		e.Callers = e.Callers[:way]
	}
	e.Callees = p.follow(false, e.Here.Value/2)
	return e
}

// nearest returns the own frame nearest to the function among those that have at least half of
// its weight, with all the weight that passes through that frame's function. cut says that there
// is none, and that one may have been cut off.
func (p *paths) nearest() (f Frame, cut bool) {
	last := map[decode.ID]int{} // 1 + the number of the last stack with the function
	lost := int64(0)            // the value of the stacks that were cut off
	for i := range p.list {
		s := &p.list[i]
		if s.cut {
			lost = decode.AddSaturating(lost, s.value)
		}
		for at := s.outer; at < min(len(s.lines), s.outer+otherDepth); at++ { // the runtime keeps no more
			if name := p.line(s, at).Name; last[name] != i+1 {
				last[name], p.through[name] = i+1, decode.AddSaturating(p.through[name], s.value)
			}
		}
	}
	half := p.value - p.value/2
	for _, skip := range []func(*path, int) bool{p.serves, func(*path, int) bool { return false }} {
		f, id := p.heaviest(func(_ int, s *path) int {
			at := s.outer
			for at < len(s.lines) && (!p.isMine(p.line(s, at).Name) || p.through[p.line(s, at).Name] < half || skip(s, at)) {
				at++
			}
			return at
		})
		if f.Function != "" {
			f.Value = p.through[id]
			return f, false
		}
	}
	most := int64(0)
	for name, v := range p.through {
		if p.isMine(name) {
			most = max(most, v)
		}
	}
	return f, lost > 0 && decode.AddSaturating(lost, most) >= half
}

// serves reports whether a frame is of a method that the standard library has called, as fmt
// calls String, or of generated code. The line that a user can change is further up: the one that
// called the library.
func (p *paths) serves(s *path, at int) bool {
	line, parts := p.line(s, at), p.Names.parts
	if parts[line.Name]&serving != 0 {
		for at++; at < len(s.lines); at++ {
			if above := parts[p.line(s, at).Name]; above&runtimes == 0 {
				return above&standard != 0
			}
		}
	}
	return isGenerated(p.file(line))
}

// line is a frame of a stack, and file its file.
func (p *paths) line(s *path, at int) decode.Line { return p.table.Lines[s.lines[at]] }
func (p *paths) file(l decode.Line) string        { return p.table.Symbols.Name(p.table.Funcs[l.Func].File) }

// heaviest returns the costliest function among the frames that at selects, at its costliest
// line. Equal ones are ordered by name, because ids depend on earlier profiles.
func (p *paths) heaviest(at func(i int, s *path) int) (f Frame, best decode.ID) {
	byName, byLine := p.byName, p.byLine
	clear(byName)
	clear(byLine)
	for i := range p.list {
		s := &p.list[i]
		if frame := at(i, s); 0 <= frame && frame < len(s.lines) {
			line := p.line(s, frame)
			byName[line.Name], byLine[line] = decode.AddSaturating(byName[line.Name], s.value), decode.AddSaturating(byLine[line], s.value)
		}
	}
	for id, v := range byName {
		if name := p.table.Symbols.Name(id); v > f.Value || v == f.Value && name < f.Function {
			best, f.Function, f.Value = id, name, v
		}
	}
	most := int64(0)
	for l, v := range byLine {
		file, line := p.file(l), int(l.Line)
		if l.Name == best && (v > most || v == most && cmp.Or(cmp.Compare(line, f.Line), cmp.Compare(file, f.File)) < 0) {
			f.File, f.Line, most = file, line, v
		}
	}
	f.Own = p.own[p.Names.by[Package].of[best]]
	return f, best
}

// follow walks from the function along the costliest frames, outwards or inwards. Each step looks
// only at the stacks that have the frames of the steps before. It ends where these stacks end, or
// where the costliest frame has less than least. Inwards each function is there once.
func (p *paths) follow(outwards bool, least int64) (way []Frame) {
	place, left, seen, step := make([]int, len(p.list)), make([]bool, len(p.list)), map[decode.ID]bool{}, 1
	for i := range p.list {
		s := &p.list[i]
		if place[i] = s.outer; !outwards {
			place[i], step = s.inner, -1
			seen[p.line(s, s.inner).Name] = true
		}
	}
	for len(way) < CPUDepth {
		next := func(i int, s *path) int {
			at := place[i] + step
			for 0 <= at && at < len(s.lines) && seen[p.line(s, at).Name] {
				at += step
			}
			if left[i] {
				return -1
			}
			return at
		}
		f, id := p.heaviest(next)
		if f.Value <= 0 || f.Value < least {
			break
		}
		for i := range p.list {
			s := &p.list[i]
			place[i] = next(i, s)
			left[i] = place[i] < 0 || place[i] >= len(s.lines) || p.line(s, place[i]).Name != id
		}
		way, seen[id] = append(way, f), !outwards
	}
	return way
}
