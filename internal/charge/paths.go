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
	// Callers is the costliest way in: first the caller, then its caller, up to the outermost
	// frame of the own module, or else all of it. Each has what passes through it on any way: a
	// walk of folders calls itself more or less often.
	Callers []Frame
	// Callees is where the cost goes from here: first the costliest callee, then its costliest
	// callee, as long as that one has at least half of the cost. Each is there once.
	Callees []Frame
}

// maxPaths limits the stacks that are looked at for one function, and maxPathFrames their
// frames. The costliest path shows in far fewer.
const maxPaths, maxPathFrames = 4096, 4096 * otherDepth

// A path is a stack with the function in it: the places of its frames in paths.lines, leaf first.
type path struct {
	value        int64
	begin, end   int
	inner, outer int // the innermost and the outermost frame of the function
	cut          bool
	at           int // see follow
}

// paths are the stacks through one function. Their memory is used for one function of a profile
// after the other, because large profiles take some megabytes of it.
type paths struct {
	*Counter
	kept  []path
	live  []path  // see follow
	lines []int32 // of all that are kept, indices into Table.Lines
	value int64   // of all that are kept
	all   int64   // of all stacks, also of those beyond the limit

	through map[decode.ID]int64 // what passes through each function on the way in, see nearest

	byName map[decode.ID]int64 // see heaviest
	byLine map[decode.Line]int64
}

// Explain looks at the samples that a query charges to a key, and returns an explanation.
func (c *Counter) Explain(query int, key int32) Explanation {
	if c.paths == nil {
		c.paths = &paths{
			Counter: c, lines: make([]int32, 0, min(c.table.Frames, maxPathFrames)),
			through: map[decode.ID]int64{}, byName: map[decode.ID]int64{}, byLine: map[decode.Line]int64{},
		}
	}
	p, t := c.paths, c.table
	p.kept, p.lines, p.value, p.all = p.kept[:0], p.lines[:0], 0, 0
	c.walk(query, func(v int64, s *Stack) {
		keys := c.keys(&c.queries[query])
		inner := slices.Index(keys, key)
		if inner < 0 {
			return
		}
		p.all = decode.AddSaturating(p.all, v)
		if len(p.kept) == maxPaths || len(p.kept) > 0 && len(p.lines)+len(s.frames) > maxPathFrames {
			return
		}
		outer := len(keys) - 1
		for keys[outer] != key {
			outer--
		}
		begin := len(p.lines)
		for _, at := range t.Stacks[t.Samples[s.sample].StackLo:t.Samples[s.sample].StackHi] {
			for line := t.Locations[at].LineLo; line < t.Locations[at].LineHi; line++ {
				p.lines = append(p.lines, line)
			}
		}
		p.kept = append(p.kept, path{v, begin, len(p.lines), begin + s.from + inner, begin + s.from + outer, s.cut, 0})
		p.value = decode.AddSaturating(p.value, v)
	})
	var e Explanation
	e.Here, _ = p.heaviest(p.kept, func(s *path) int { return s.inner })
	e.Own, e.Cut = p.nearest()
	if c.queries[query].Charge == Started && c.Names.parts[key]&literal != 0 && len(p.kept) > 0 {
		if begins := int(t.Funcs[p.line(p.kept[0].inner).Func].Line); begins > 0 { // where the go statement is
			if e.Here.Line = begins; e.Own.Function == e.Here.Function {
				e.Own.Line = begins
			}
		}
	}
	e.Callers = p.follow(func(s *path) int { return s.outer }, true, 0)
	way := len(e.Callers)
	for i := range e.Callers {
		id, _ := t.Symbols.Find(e.Callers[i].Function)
		e.Callers[i].Value = max(e.Callers[i].Value, p.ofAll(p.through[id]))
		if c.isMine(id) {
			way = i + 1
		}
	}
	e.Callers = e.Callers[:way]
	e.Callees = p.follow(func(s *path) int { return s.inner }, false, e.Here.Value/2)
	return e
}

// nearest returns the own frame nearest to the function among those that have at least half of
// its weight, with all the weight that passes through that frame's function. cut says that there
// is none, and that one may have been cut off.
func (p *paths) nearest() (f Frame, cut bool) {
	through, last := p.through, map[decode.ID]int{} // last is 1 + the number of the last stack with the function
	clear(through)
	lost, half := int64(0), p.value-p.value/2 // lost is the value of the stacks that were cut off
	for i, s := range p.kept {
		if s.cut {
			lost = decode.AddSaturating(lost, s.value)
		}
		for at := s.outer; at < min(s.end, s.outer+otherDepth); at++ { // the runtime keeps no more
			if name := p.line(at).Name; last[name] != i+1 {
				last[name], through[name] = i+1, decode.AddSaturating(through[name], s.value)
			}
		}
	}
	own := func(skip func(*path, int) bool) (Frame, decode.ID) {
		return p.heaviest(p.kept, func(s *path) int {
			at := s.outer
			for at < s.end && (!p.isMine(p.line(at).Name) || through[p.line(at).Name] < half || skip(s, at)) {
				at++
			}
			return at
		})
	}
	f, id := own(p.serves)
	if f.Function == "" {
		f, id = own(func(*path, int) bool { return false })
	}
	if f.Function == "" {
		most := int64(0)
		for name, v := range through {
			if p.isMine(name) {
				most = max(most, v)
			}
		}
		return f, lost > 0 && decode.AddSaturating(lost, most) >= half
	}
	f.Value = p.ofAll(through[id])
	return f, false
}

// serves reports whether a frame is of a method that the standard library has called, as fmt
// calls String, or of generated code. The line that a user can change is further up: the one that
// called the library.
func (p *paths) serves(s *path, at int) bool {
	line, parts := p.line(at), p.Names.parts
	if parts[line.Name]&serving != 0 {
		for at++; at < s.end; at++ {
			if above := parts[p.line(at).Name]; above&runtimes == 0 {
				return above&standard != 0
			}
		}
	}
	return isGenerated(p.table.Symbols.Name(p.table.Funcs[line.Func].File))
}

// line is the frame at a place in lines.
func (p *paths) line(at int) decode.Line { return p.table.Lines[p.lines[at]] }

// heaviest returns the costliest function among the frames that at selects, at its costliest
// line. Equal ones are ordered by name, because ids depend on earlier profiles.
func (p *paths) heaviest(stacks []path, at func(*path) int) (f Frame, best decode.ID) {
	byName, byLine := p.byName, p.byLine
	clear(byName)
	clear(byLine)
	for k := range stacks {
		s := &stacks[k]
		if i := at(s); s.begin <= i && i < s.end {
			line := p.line(i)
			byName[line.Name], byLine[line] = decode.AddSaturating(byName[line.Name], s.value), decode.AddSaturating(byLine[line], s.value)
		}
	}
	symbols := p.table.Symbols
	for id, v := range byName {
		if v > f.Value || v == f.Value && symbols.Name(id) < f.Function {
			best, f.Function, f.Value = id, symbols.Name(id), v
		}
	}
	most := int64(0)
	for l, v := range byLine {
		file, line := symbols.Name(p.table.Funcs[l.Func].File), int(l.Line)
		if l.Name == best && (v > most || v == most && cmp.Or(cmp.Compare(line, f.Line), cmp.Compare(file, f.File)) < 0) {
			f.File, f.Line, most = file, line, v
		}
	}
	f.Own, f.Value = p.own[p.Names.pkg[best]], p.ofAll(f.Value)
	return f, best
}

// ofAll is the value of all stacks for which a value of those that are kept stands.
func (p *paths) ofAll(value int64) int64 {
	if p.all == p.value {
		return value
	}
	return int64(float64(value) / float64(p.value) * float64(p.all))
}

// follow walks from the function along the costliest frames, outwards or inwards. Each step looks
// only at the stacks that have the frames of the steps before. It ends where these stacks end, or
// where the costliest frame has less than least. Inwards each function is there once.
func (p *paths) follow(from func(s *path) int, outwards bool, least int64) (way []Frame) {
	p.live = append(p.live[:0], p.kept...)
	live, seen, step := p.live, map[decode.ID]bool{}, 1
	if !outwards {
		step = -1
	}
	for k := range live {
		live[k].at = from(&live[k])
		seen[p.line(live[k].at).Name] = !outwards
	}
	for len(way) < CPUDepth {
		for k := range live {
			s := &live[k]
			for s.at += step; s.begin <= s.at && s.at < s.end && seen[p.line(s.at).Name]; s.at += step {
			}
		}
		f, id := p.heaviest(live, func(s *path) int { return s.at })
		if f.Value <= 0 || f.Value < least {
			break
		}
		live = slices.DeleteFunc(live, func(s path) bool { return s.at < s.begin || s.at >= s.end || p.line(s.at).Name != id })
		way, seen[id] = append(way, f), !outwards
	}
	return way
}
