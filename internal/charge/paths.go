package charge

import (
	"cmp"
	"slices"

	"github.com/profguard/profguard/internal/decode"
)

// A Frame is a function at a place, with the weight that passes through it.
type Frame struct {
	Function string
	File     string
	Line     int
	Value    int64
	Own      bool // of the program's own module
}

// An Explanation says how the program gets to a function, and what for.
type Explanation struct {
	// Here is the function's costliest line.
	Here Frame
	// Own is the frame nearest to the function that is in the program's own module and
	// has at least half of the function's weight; the function itself when it is of the
	// module. Empty where no frame has half of it. Without a module it is the nearest
	// frame outside the standard library.
	Own Frame
	// From is the costliest way in: the caller first, then its caller, up to the
	// outermost frame of the own module, or else outside the standard library.
	From []Frame
	// To is where the cost goes from here: the costliest callee first, then its
	// callee, as long as one of them has most of it.
	To []Frame
}

// maxPath bounds the stacks kept for one explanation. The costliest path shows
// in far fewer.
const maxPath = 4096

// maxLines bounds the frames that they have together (4 MiB).
const maxLines = 1 << 20

// stackPath is one stack that passes through the function, leaf first.
type stackPath struct {
	value int64
	lines []int32 // indices into Table.Lines
	outer int     // the outermost frame of the function
	inner int     // its innermost frame
}

// paths are the stacks through one function.
type paths struct {
	kept    []stackPath
	value   int64 // of those kept
	all     int64 // of those and the ones beyond maxPath
	touched bool  // by the sample that is being looked at
	path    stackPath
}

// memory is what one explanation after the other uses.
type memory struct {
	through []paths
	lines   []int32
	all     []*stackPath
	live    []*stackPath
	byName  map[decode.ID]int64
	own     map[decode.ID]int64
	byPlace map[place]int64
}

// place is a line of a function.
type place struct {
	file decode.ID
	line int32
}

func (r *memory) paths(n int) []paths {
	if r.byName == nil {
		r.byName, r.own, r.byPlace = map[decode.ID]int64{}, map[decode.ID]int64{}, map[place]int64{}
	}
	for len(r.through) < n {
		r.through = append(r.through, paths{})
	}
	for i := range r.through[:n] {
		r.through[i] = paths{kept: r.through[i].kept[:0]}
	}
	return r.through[:n]
}

// linesOf keeps the lines of a sample's stack. What was kept before stays where it is
// when the memory has to grow.
func (r *memory) linesOf(t *decode.Table, sample int) []int32 {
	from := len(r.lines)
	for _, at := range t.Stacks[t.Samples[sample].StackLo:t.Samples[sample].StackHi] {
		for line := t.Locations[at].LineLo; line < t.Locations[at].LineHi; line++ {
			r.lines = append(r.lines, line)
		}
	}
	return r.lines[from:len(r.lines):len(r.lines)]
}

// Explain looks at the samples that a query charges to the keys, and returns an
// explanation for each.
func (c *Counter) Explain(query int, keys []int32) []Explanation {
	room := &c.memory
	through := room.paths(len(keys))
	room.lines = room.lines[:0]
	c.walk(query, func(v int64, s *Stack, reach int) {
		any := false
		c.each(query, s, reach, func(i int, k int32) {
			at := slices.Index(keys, k)
			if at < 0 {
				return
			}
			any = true
			if p := &through[at]; !p.touched {
				p.touched, p.path = true, stackPath{value: v, outer: i, inner: i}
			} else {
				p.path.outer = i
			}
		})
		if !any {
			return
		}
		var lines []int32 // one copy for all
		for i := range through {
			p := &through[i]
			if !p.touched {
				continue
			}
			p.touched = false
			p.all = AddSaturating(p.all, v)
			if len(p.kept) == maxPath || len(room.lines) > maxLines {
				continue
			}
			if lines == nil {
				lines = room.linesOf(c.table, s.sample)
			}
			p.path.lines = lines
			p.kept = append(p.kept, p.path)
			p.value = AddSaturating(p.value, v)
		}
	})
	out := make([]Explanation, len(keys))
	for i := range through {
		if p := &through[i]; len(p.kept) > 0 {
			out[i] = c.explain(p)
		}
	}
	return out
}

func (c *Counter) explain(p *paths) Explanation {
	live := c.memory.all[:0]
	for i := range p.kept {
		live = append(live, &p.kept[i])
	}
	c.memory.all = live
	var e Explanation
	e.Here, _ = c.heaviest(live, func(p *stackPath) int { return p.inner })
	mine := c.inModule
	if c.Module == "" {
		mine = c.isOutside
	}
	e.Own = c.nearest(live, mine)
	e.From = c.wayIn(c.follow(live, func(p *stackPath, step int) int { return p.outer + step }, 0))
	e.To, _ = c.follow(live, func(p *stackPath, step int) int { return p.inner - step }, e.Here.Value/2)
	if p.all > p.value {
		p.scale(&e.Here)
		p.scale(&e.Own)
		for i := range e.From {
			p.scale(&e.From[i])
		}
		for i := range e.To {
			p.scale(&e.To[i])
		}
	}
	return e
}

// scale estimates the weight on all stacks from that on the ones that were kept.
func (p *paths) scale(f *Frame) {
	f.Value = int64(float64(f.Value) / float64(p.value) * float64(p.all))
}

// isOwn reports whether a function is of the program's own module.
func (c *Counter) inModule(name decode.ID) bool {
	return c.own[c.Names.pkg[name]]
}

// isOutside reports whether a function is outside the standard library.
func (c *Counter) isOutside(name decode.ID) bool { return c.Names.parts[name]&standard == 0 }

// nearest returns the frame nearest to the function among those of the functions that
// count and that have at least half of its weight, with all the weight that passes
// through that frame's function.
func (c *Counter) nearest(paths []*stackPath, counts func(decode.ID) bool) Frame {
	var all int64
	through := c.memory.own
	clear(through)
	for _, p := range paths {
		all = AddSaturating(all, p.value)
		c.eachOnce(p, counts, func(name decode.ID) { through[name] = AddSaturating(through[name], p.value) })
	}
	f, name := c.heaviest(paths, func(p *stackPath) int {
		for i, l := range p.lines[p.outer:] {
			if through[c.table.Lines[l].Name] >= all-all/2 {
				return p.outer + i
			}
		}
		return -1
	})
	f.Value = through[name]
	return f
}

// eachOnce visits the functions that count on the way from the function to the root, each
// once.
func (c *Counter) eachOnce(p *stackPath, counts func(decode.ID) bool, visit func(name decode.ID)) {
	for i := p.outer; i < min(len(p.lines), p.outer+otherDepth); i++ { // no deeper than the runtime
		name := c.table.Lines[p.lines[i]].Name
		if counts(name) && !slices.ContainsFunc(p.lines[p.outer:i], func(l int32) bool { return c.table.Lines[l].Name == name }) {
			visit(name)
		}
	}
}

// heaviest returns the costliest function among the frames that at selects, at its
// costliest line. Equals are ordered by name: ids depend on what a judge has seen before.
func (c *Counter) heaviest(paths []*stackPath, at func(*stackPath) int) (Frame, decode.ID) {
	byName, byPlace, symbols := c.memory.byName, c.memory.byPlace, c.table.Symbols
	each := func(visit func(l *decode.Line, value int64)) {
		for _, p := range paths {
			if i := at(p); i >= 0 && i < len(p.lines) {
				visit(&c.table.Lines[p.lines[i]], p.value)
			}
		}
	}
	clear(byName)
	each(func(l *decode.Line, value int64) { byName[l.Name] = AddSaturating(byName[l.Name], value) })
	f, best := Frame{}, decode.ID(0)
	for id, v := range byName {
		if v > f.Value || v == f.Value && symbols.Name(id) < f.Function {
			best, f.Function, f.Value = id, symbols.Name(id), v
		}
	}
	f.Own = f.Value > 0 && c.inModule(best)
	clear(byPlace)
	each(func(l *decode.Line, value int64) {
		if l.Name == best {
			at := place{c.table.Funcs[l.Func].File, l.Line}
			byPlace[at] = AddSaturating(byPlace[at], value)
		}
	})
	most := int64(0)
	for at, v := range byPlace {
		file, line := symbols.Name(at.file), int(at.line)
		if v > most || v == most && cmp.Or(cmp.Compare(line, f.Line), cmp.Compare(file, f.File)) < 0 {
			f.File, f.Line, most = file, line, v
		}
	}
	return f, best
}

// follow walks from the function along the costliest frames, one step a time,
// among the paths that have taken the same steps so far. It ends where the paths
// do, or where the costliest step has less than least.
func (c *Counter) follow(paths []*stackPath, at func(p *stackPath, step int) int, least int64) (way []Frame, names []decode.ID) {
	live := append(c.memory.live[:0], paths...)
	c.memory.live = live
	for step := 1; step <= cpuDepth; step++ {
		f, name := c.heaviest(live, func(p *stackPath) int { return at(p, step) })
		if f.Value <= 0 || f.Value < least {
			break
		}
		live = slices.DeleteFunc(live, func(p *stackPath) bool {
			i := at(p, step)
			return i < 0 || i >= len(p.lines) || c.table.Lines[p.lines[i]].Name != name
		})
		way, names = append(way, f), append(names, name)
	}
	return way, names
}

// wayIn is the part of a way in that is worth showing: up to the outermost frame of the
// own module, or else outside the standard library, or else all of it.
func (c *Counter) wayIn(way []Frame, names []decode.ID) []Frame {
	for _, ends := range []func(decode.ID) bool{c.inModule, c.isOutside} {
		for i := len(names) - 1; i >= 0; i-- {
			if ends(names[i]) {
				return way[:i+1]
			}
		}
	}
	return way
}
