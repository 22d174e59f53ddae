package blame

import (
	"slices"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/scaffold"
	"github.com/profguard/profguard/internal/tally"
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
	// Own is the frame nearest to the function in the user's own module; the
	// function itself when it is the user's. Empty when no own frame is on the
	// way.
	Own Frame
	// From is the costliest way in: the caller first, then its caller, and so on.
	From []Frame
	// To is where the cost goes from here: the costliest callee first, then its
	// callee, as long as one of them has most of it.
	To []Frame
}

// maxPath bounds the stacks kept for one explanation. The costliest path shows
// in far fewer.
const maxPath = 4096

// path is one stack that passes through the function, leaf first.
type path struct {
	value int64
	lines []int32 // indices into Table.Lines
	outer int     // the outermost frame of the function
	inner int     // its innermost frame
}

// paths are the stacks through one function.
type paths struct {
	kept    []path
	value   int64 // of those kept
	all     int64 // of those and the ones beyond maxPath
	touched bool  // by the sample that is being looked at
	path    path
}

// Explain looks at the samples that are charged to the keys, and returns an
// explanation for each.
func (c *Case) Explain(keys []int32) []Explanation {
	room := c.Room
	through := room.paths(len(keys))
	room.lines = room.lines[:0]
	c.Counter.Walk(c.Table, c.Query, func(v int64, s *tally.Stack, reach int) {
		any := false
		c.each(s, reach, func(i int, k int32) {
			at := slices.Index(keys, k)
			if at < 0 {
				return
			}
			any = true
			if p := &through[at]; !p.touched {
				p.touched, p.path = true, path{value: v, outer: i, inner: i}
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
			p.all = tally.AddSaturating(p.all, v)
			if len(p.kept) == maxPath {
				continue
			}
			if lines == nil {
				lines = room.copyLines(s)
			}
			p.path.lines = lines
			p.kept = append(p.kept, p.path)
			p.value = tally.AddSaturating(p.value, v)
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
	e.Here = c.heaviest(live, func(p *path) int { return p.inner })
	e.Own = c.heaviest(live, c.ownFrame)
	e.From = c.wayIn(c.follow(live, func(p *path, step int) int { return p.outer + step }, 0))
	e.To = c.follow(live, func(p *path, step int) int { return p.inner - step }, e.Here.Value/2)
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

// ownFrame is the index of the frame nearest to the function in the user's
// module, or, where no module is known, outside the standard library.
func (c *Case) ownFrame(p *path) int {
	names := c.Counter.Names
	for i := p.outer; i < len(p.lines); i++ {
		if c.users(names.Package(c.Table.Lines[p.lines[i]].Name)) {
			return i
		}
	}
	return -1
}

// users reports whether a package, by its number, is the user's. It is asked for
// every frame, so the answer is kept for as long as the case lasts.
func (c *Case) users(pkg int32) bool {
	if len(c.packages) == 0 {
		c.packages = make([]int8, c.Counter.Names.PackageCount())
	}
	if c.packages[pkg] == 0 {
		c.packages[pkg] = -1
		if path := c.Counter.Names.PackageName(pkg); c.own(path) || c.Module == "" && !c.standard(path) {
			c.packages[pkg] = 1
		}
	}
	return c.packages[pkg] > 0
}

// heaviest returns the costliest function among the frames that at selects, at
// its costliest line.
func (c *Case) heaviest(paths []*path, at func(*path) int) Frame {
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
		places[i].value = tally.AddSaturating(places[i].value, p.value)
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
func (c *Case) costliest(paths []*path, at func(*path) int) (best decode.ID, value int64) {
	sums := c.Room.sums(c.Table.Symbols.Len())
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
func (c *Case) follow(paths []*path, at func(p *path, step int) int, least int64) []Frame {
	var out []Frame
	live := append(c.Room.live[:0], paths...)
	c.Room.live = live
	const maxSteps = 64 // deeper is the runtime's own limit on CPU stacks
	for step := 1; step <= maxSteps; step++ {
		here := func(p *path) int { return at(p, step) }
		live = slices.DeleteFunc(live, func(p *path) bool { i := here(p); return i < 0 || i >= len(p.lines) })
		f := c.heaviest(live, here)
		if f.Function == "" || f.Value < least {
			break
		}
		live = slices.DeleteFunc(live, func(p *path) bool {
			return c.Table.Symbols.Name(c.Table.Lines[p.lines[here(p)]].Name) != f.Function
		})
		out = append(out, f)
	}
	return out
}

// wayIn is the part of a way in that is worth showing: up to the entry point,
// without the scaffolding behind it.
func (c *Case) wayIn(from []Frame) []Frame {
	for i, f := range from {
		if class := c.Counter.Names.ClassOf(f.Function); class == scaffold.Server || class == scaffold.Root || class == scaffold.Runner {
			return from[:i]
		}
	}
	return from
}
