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
	through := make([]paths, len(keys))
	c.Counter.Walk(c.Table, c.Query, func(v int64, s *tally.Stack, reach int) {
		c.each(s, reach, func(i int, k int32) {
			at := slices.Index(keys, k)
			if at < 0 {
				return
			}
			if p := &through[at]; !p.touched {
				p.touched, p.path = true, path{value: v, outer: i, inner: i}
			} else {
				p.path.outer = i
			}
		})
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
				for i := range s.Frames() {
					lines = append(lines, s.Line(i))
				}
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
	live := make([]*path, len(p.kept))
	for i := range live {
		live[i] = &p.kept[i]
	}
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
		pkg := names.PackageName(names.Package(c.Table.Lines[p.lines[i]].Name))
		if c.own(pkg) || c.Module == "" && !c.standard(pkg) {
			return i
		}
	}
	return -1
}

// heaviest groups the paths by the place (function and line) of the frame that
// at selects and returns the costliest place. Its value is that of the place's
// function on all paths.
func (c *Case) heaviest(paths []*path, at func(*path) int) Frame {
	type place struct {
		name decode.ID
		line int32
	}
	byPlace := map[place]int64{}
	byName := map[decode.ID]int64{}
	files := map[decode.ID]int32{}
	for _, p := range paths {
		k := at(p)
		if k < 0 || k >= len(p.lines) {
			continue
		}
		l := c.Table.Lines[p.lines[k]]
		at := place{l.Name, l.Line}
		byPlace[at] = tally.AddSaturating(byPlace[at], p.value)
		byName[l.Name] = tally.AddSaturating(byName[l.Name], p.value)
		files[l.Name] = l.Func
	}
	var best place
	var bestValue int64
	for p, v := range byPlace {
		if v > bestValue || v == bestValue && (p.name == best.name && p.line < best.line || c.before(p.name, best.name)) {
			best, bestValue = p, v
		}
	}
	if bestValue == 0 {
		return Frame{}
	}
	return Frame{
		Function: c.Table.Symbols.Name(best.name),
		File:     c.file(files[best.name]),
		Line:     int(best.line),
		Value:    byName[best.name],
	}
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
	live := slices.Clone(paths)
	const maxSteps = 64 // deeper is the runtime's own limit on CPU stacks
	for step := 1; step <= maxSteps; step++ {
		here := func(p *path) int { return at(p, step) }
		live = slices.DeleteFunc(live, func(p *path) bool { i := here(p); return i < 0 || i >= len(p.lines) })
		live = c.costliest(live, here)
		f := c.heaviest(live, here)
		if f.Function == "" || f.Value < least {
			break
		}
		out = append(out, f)
	}
	return out
}

// costliest keeps the paths through the costliest function at the frame that at
// selects.
func (c *Case) costliest(paths []*path, at func(*path) int) []*path {
	name := func(p *path) decode.ID { return c.Table.Lines[p.lines[at(p)]].Name }
	byName := map[decode.ID]int64{}
	for _, p := range paths {
		byName[name(p)] = tally.AddSaturating(byName[name(p)], p.value)
	}
	var best decode.ID
	var bestValue int64
	for id, v := range byName {
		if v > bestValue || v == bestValue && c.before(id, best) {
			best, bestValue = id, v
		}
	}
	return slices.DeleteFunc(paths, func(p *path) bool { return name(p) != best })
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
