package charge

import (
	"slices"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/pattern"
)

// A Frame is a function at a place, with the weight that passes through it.
type Frame struct {
	Function string
	File     string
	Line     int
	Value    int64
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

// Explain looks at the samples that are charged to the keys, and returns an
// explanation for each.
func (c *Case) Explain(keys []int32) []Explanation {
	room := c.Room
	through := room.paths(len(keys))
	room.lines = room.lines[:0]
	c.Counter.Walk(c.Table, c.Query, func(v int64, s *Stack, reach int) {
		any := false
		c.each(s, reach, func(i int, k int32) {
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
				lines = room.copyLines(s)
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

func (c *Case) explain(p *paths) Explanation {
	live := c.Room.all[:0]
	for i := range p.kept {
		live = append(live, &p.kept[i])
	}
	c.Room.all = live
	var e Explanation
	e.Here = c.heaviest(live, func(p *stackPath) int { return p.inner })
	mine := c.isOwn
	if c.Counter.Module == "" {
		mine = c.isOutside
	}
	e.Own = c.nearest(live, mine)
	e.From = c.wayIn(c.follow(live, func(p *stackPath, step int) int { return p.outer + step }, 0))
	e.To = c.follow(live, func(p *stackPath, step int) int { return p.inner - step }, e.Here.Value/2)
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
func (c *Case) isOwn(name decode.ID) bool {
	return c.Counter.IsOwn(c.Counter.Names.PackageName(c.Counter.Names.Package(name)))
}

// isOutside reports whether a function is outside the standard library.
func (c *Case) isOutside(name decode.ID) bool { return c.Counter.Names.parts[name]&standard == 0 }

// nearest returns the frame nearest to the function among those of the functions that
// count and that have at least half of its weight, with all the weight that passes
// through that frame's function.
func (c *Case) nearest(paths []*stackPath, counts func(decode.ID) bool) Frame {
	var all int64
	through := c.Room.weights(c.Table.Symbols.Len())
	for _, p := range paths {
		all = AddSaturating(all, p.value)
		c.eachOnce(p, counts, func(_ int, name decode.ID) { through.add(name, p.value) })
	}
	half := map[decode.ID]int64{}
	for _, name := range through.touched {
		if v := through.value[name]; v >= all-all/2 {
			half[name] = v
		}
	}
	if len(half) == 0 {
		return Frame{}
	}
	f := c.heaviest(paths, func(p *stackPath) int {
		for i := p.outer; i < len(p.lines); i++ {
			if _, ok := half[c.Table.Lines[p.lines[i]].Name]; ok {
				return i
			}
		}
		return -1
	})
	for name, v := range half {
		if c.Table.Symbols.Name(name) == f.Function {
			f.Value = v
		}
	}
	return f
}

// eachOnce visits the functions that count on the way from the function to the root, each
// once.
func (c *Case) eachOnce(p *stackPath, counts func(decode.ID) bool, visit func(frame int, name decode.ID)) {
	for i := p.outer; i < min(len(p.lines), p.outer+otherDepth); i++ { // no deeper than the runtime
		name := c.Table.Lines[p.lines[i]].Name
		if !counts(name) {
			continue
		}
		before := slices.ContainsFunc(p.lines[p.outer:i], func(l int32) bool { return c.Table.Lines[l].Name == name })
		if !before {
			visit(i, name)
		}
	}
}

// heaviest returns the costliest function among the frames that at selects, at
// its costliest line.
func (c *Case) heaviest(paths []*stackPath, at func(*stackPath) int) Frame {
	name, value := c.costliest(paths, at)
	if value == 0 {
		return Frame{}
	}
	places := c.Room.places[:0]
	var fn int32
	for _, p := range paths {
		k := at(p)
		if k < 0 || k >= len(p.lines) {
			continue
		}
		l := c.Table.Lines[p.lines[k]]
		if l.Name != name {
			continue
		}
		fn = l.Func
		i := slices.IndexFunc(places, func(x place) bool { return x.line == l.Line })
		if i < 0 {
			i = len(places)
			places = append(places, place{line: l.Line})
		}
		places[i].value = AddSaturating(places[i].value, p.value)
	}
	c.Room.places = places
	best := places[0]
	for _, x := range places[1:] {
		if x.value > best.value || x.value == best.value && x.line < best.line {
			best = x
		}
	}
	return Frame{
		Function: c.Table.Symbols.Name(name),
		File:     c.file(fn),
		Line:     int(best.line),
		Value:    value,
	}
}

// costliest is the function with the most weight among the frames that at
// selects.
func (c *Case) costliest(paths []*stackPath, at func(*stackPath) int) (best decode.ID, value int64) {
	sums := c.Room.weights(c.Table.Symbols.Len())
	for _, p := range paths {
		if k := at(p); k >= 0 && k < len(p.lines) {
			sums.add(c.Table.Lines[p.lines[k]].Name, p.value)
		}
	}
	for _, id := range sums.touched {
		if v := sums.value[id]; v > value || v == value && c.before(id, best) {
			best, value = id, v
		}
	}
	return best, value
}

// before orders equals by name: ids depend on what a judge has seen before.
func (c *Case) before(a, b decode.ID) bool {
	return c.Table.Symbols.Name(a) < c.Table.Symbols.Name(b)
}

func (c *Case) file(fn int32) string {
	if fn < 0 || int(fn) >= len(c.Table.Funcs) {
		return ""
	}
	return c.Table.Symbols.Name(c.Table.Funcs[fn].File)
}

// follow walks from the function along the costliest frames, one step a time,
// among the paths that have taken the same steps so far. It ends where the paths
// do, or where the costliest step has less than least.
func (c *Case) follow(paths []*stackPath, at func(p *stackPath, step int) int, least int64) []Frame {
	var out []Frame
	live := append(c.Room.live[:0], paths...)
	c.Room.live = live
	const maxSteps = 64 // deeper is the runtime's own limit on CPU stacks
	for step := 1; step <= maxSteps; step++ {
		here := func(p *stackPath) int { return at(p, step) }
		live = slices.DeleteFunc(live, func(p *stackPath) bool { i := here(p); return i < 0 || i >= len(p.lines) })
		f := c.heaviest(live, here)
		if f.Function == "" || f.Value < least {
			break
		}
		live = slices.DeleteFunc(live, func(p *stackPath) bool {
			return c.Table.Symbols.Name(c.Table.Lines[p.lines[here(p)]].Name) != f.Function
		})
		out = append(out, f)
	}
	return out
}

// wayIn is the part of a way in that is worth showing.
func (c *Case) wayIn(from []Frame) []Frame {
	last, lastOutside := 0, 0
	for i, f := range from {
		switch part := partsOf(f.Function, pattern.PackageOf(f.Function)); {
		case c.Counter.IsOwn(pattern.PackageOf(f.Function)):
			last = i + 1
		case part&standard == 0:
			lastOutside = i + 1
		}
	}
	if last == 0 {
		last = lastOutside
	}
	if last == 0 {
		last = len(from) // all of it is the standard library's
	}
	return from[:last]
}
