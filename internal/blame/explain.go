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

// Explain looks at the samples that are charged to key.
func (c *Case) Explain(key int32) Explanation {
	var paths []path
	c.Counter.Walk(c.Table, c.Query, func(v int64, s *tally.Stack, inner int) {
		p := path{value: v, outer: -1, inner: -1}
		c.each(s, inner, func(i int, k int32) {
			if k == key {
				p.outer = i
				if p.inner < 0 {
					p.inner = i
				}
			}
		})
		if p.outer < 0 || len(paths) >= maxPath {
			return
		}
		for i := range s.Frames() {
			p.lines = append(p.lines, s.Line(i))
		}
		paths = append(paths, p)
	})
	var e Explanation
	if len(paths) == 0 {
		return e
	}
	e.Here = c.heaviest(paths, func(p *path) int { return p.inner })
	e.Own = c.heaviest(paths, c.ownFrame)
	e.From = c.wayIn(c.follow(paths, func(p *path, step int) int { return p.outer + step }, 0))
	e.To = c.follow(paths, func(p *path, step int) int { return p.inner - step }, e.Here.Value/2)
	return e
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
func (c *Case) heaviest(paths []path, at func(*path) int) Frame {
	type place struct {
		name decode.ID
		line int32
	}
	byPlace := map[place]int64{}
	byName := map[decode.ID]int64{}
	files := map[decode.ID]int32{}
	for i := range paths {
		k := at(&paths[i])
		if k < 0 || k >= len(paths[i].lines) {
			continue
		}
		l := c.Table.Lines[paths[i].lines[k]]
		byPlace[place{l.Name, l.Line}] += paths[i].value
		byName[l.Name] += paths[i].value
		files[l.Name] = l.Func
	}
	var best place
	var bestValue int64
	for p, v := range byPlace {
		if v > bestValue || v == bestValue && (p.name < best.name || p.name == best.name && p.line < best.line) {
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

func (c *Case) file(fn int32) string {
	if fn < 0 || int(fn) >= len(c.Table.Funcs) {
		return ""
	}
	return c.Table.Symbols.Name(c.Table.Funcs[fn].File)
}

// follow walks from the function along the costliest frames, one step a time,
// among the paths that have taken the same steps so far. It ends where the paths
// do, or where the costliest step has less than least.
func (c *Case) follow(paths []path, at func(p *path, step int) int, least int64) []Frame {
	var out []Frame
	live := make([]*path, len(paths))
	for i := range paths {
		live[i] = &paths[i]
	}
	const maxSteps = 64 // deeper is the runtime's own limit on CPU stacks
	for step := 1; step <= maxSteps; step++ {
		var here []path
		for _, p := range live {
			if i := at(p, step); i >= 0 && i < len(p.lines) {
				here = append(here, *p)
			}
		}
		f := c.heaviestFunction(here, func(p *path) int { return at(p, step) })
		if f.Function == "" || f.Value < least {
			break
		}
		out = append(out, f)
		live = slices.DeleteFunc(live, func(p *path) bool {
			i := at(p, step)
			return i < 0 || i >= len(p.lines) || c.name(p, i) != f.Function
		})
	}
	return out
}

// heaviestFunction is the costliest function at the frame that at selects, with
// its costliest line.
func (c *Case) heaviestFunction(paths []path, at func(*path) int) Frame {
	byName := map[decode.ID]int64{}
	for i := range paths {
		byName[c.Table.Lines[paths[i].lines[at(&paths[i])]].Name] += paths[i].value
	}
	var best decode.ID
	var bestValue int64
	for id, v := range byName {
		if v > bestValue || v == bestValue && id < best {
			best, bestValue = id, v
		}
	}
	if bestValue == 0 {
		return Frame{}
	}
	name := c.Table.Symbols.Name(best)
	same := slices.DeleteFunc(paths, func(p path) bool { return c.name(&p, at(&p)) != name })
	return c.heaviest(same, at)
}

func (c *Case) name(p *path, i int) string {
	return c.Table.Symbols.Name(c.Table.Lines[p.lines[i]].Name)
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
