package charge

import (
	"cmp"
	"slices"
	"strings"

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
	// when no frame has half of the weight. If the module is unknown, Own is the nearest
	// frame outside the standard library.
	Own Frame
	// From is the costliest way in: first the caller, then its caller, up to the outermost
	// frame of the own module, or else outside the standard library, or else all of it.
	From []Frame
	// To is where the cost goes from here: first the costliest callee, then its costliest
	// callee, as long as that one has at least half of the cost.
	To []Frame
}

// maxPath limits the stacks that are kept for one function. The costliest path shows in
// far fewer.
const maxPath = 4096

// maxLines limits the frames of all stacks that are kept (4 MiB).
const maxLines = 1 << 20

// A path is a stack with the function in it, leaf first.
type path struct {
	value        int64
	lines        []int32 // indices into Table.Lines
	inner, outer int     // the innermost and the outermost frame of the function
}

// paths are the stacks through one function.
type paths struct {
	*Counter
	kept  []path
	value int64 // of the kept stacks
	all   int64 // of all stacks, also those beyond the limits
	seen  int   // the number, from 1, of the last sample with the function
	open  bool  // that sample is kept
}

// Explain looks at the samples that a query charges to the keys, and returns an
// explanation for each.
func (c *Counter) Explain(query int, keys []int32) []Explanation {
	through := make([]paths, len(keys))
	c.lines = c.lines[:0]
	c.walk(query, func(v int64, s *Stack) {
		var lines []int32 // shared by all keys
		for i, key := range c.keys(&c.queries[query]) {
			at := slices.Index(keys, key)
			if at < 0 {
				continue
			}
			i += s.from
			p := &through[at]
			if p.seen > s.sample {
				if p.open {
					p.kept[len(p.kept)-1].outer = i
				}
				continue
			}
			p.seen, p.all = s.sample+1, AddSaturating(p.all, v)
			if p.open = len(p.kept) < maxPath && (lines != nil || len(c.lines) <= maxLines); !p.open {
				continue
			}
			if lines == nil {
				lines = c.linesOf(s.sample)
			}
			p.kept, p.value = append(p.kept, path{v, lines, i, i}), AddSaturating(p.value, v)
		}
	})
	out := make([]Explanation, len(keys))
	for i := range through {
		if p := &through[i]; len(p.kept) > 0 {
			p.Counter = c
			out[i] = p.explain()
		}
	}
	return out
}

// linesOf copies the lines of a sample's stack into Counter.lines. Slices that were
// returned before stay valid when that grows.
func (c *Counter) linesOf(sample int) []int32 {
	t, from := c.table, len(c.lines)
	for _, at := range t.Stacks[t.Samples[sample].StackLo:t.Samples[sample].StackHi] {
		for line := t.Locations[at].LineLo; line < t.Locations[at].LineHi; line++ {
			c.lines = append(c.lines, line)
		}
	}
	return c.lines[from:len(c.lines):len(c.lines)]
}

func (p *paths) explain() Explanation {
	var e Explanation
	e.Here, _ = p.heaviest(p.kept, func(s *path) int { return s.inner })
	mine := p.inModule
	if p.Module == "" {
		mine = p.isOutside
	}
	e.Own = p.nearest(func(line int32) bool { return mine(p.home(line)) })
	e.From = p.wayIn(p.follow(func(s *path, step int) int { return s.outer + step }, 0))
	e.To, _ = p.follow(func(s *path, step int) int { return s.inner - step }, e.Here.Value/2)
	return e
}

// scaled estimates the weight in all stacks from the weight in the kept ones.
func (p *paths) scaled(value int64) int64 {
	if p.all <= p.value {
		return value
	}
	return int64(float64(value) / float64(p.value) * float64(p.all))
}

// home is a function of the package in which a line's code is written, 0 if that package
// is not known. When a function is inlined into a caller of another package, the literals
// in it get names of the caller's package. Their file still is in the folder of the package
// that they are written in.
func (c *Counter) home(line int32) decode.ID {
	f := &c.table.Funcs[c.table.Lines[line].Func]
	if c.Names.parts[f.Name]&literal == 0 {
		return f.Name
	}
	folder := c.folder(f)
	if folder == "" {
		return f.Name
	}
	if c.folders == nil {
		c.folders, c.placed = map[string]decode.ID{}, map[int32]bool{}
		for i := range c.table.Funcs {
			f := &c.table.Funcs[i]
			if folder := c.folder(f); folder != "" && c.Names.parts[f.Name]&literal == 0 {
				c.folders[folder], c.placed[c.Names.pkg[f.Name]] = f.Name, true
			}
		}
	}
	if home, known := c.folders[folder]; known {
		return home
	}
	if c.placed[c.Names.pkg[f.Name]] { // the package of the name has another folder
		return 0
	}
	return f.Name
}

// folder is where a function's file is, as far as its name says.
func (c *Counter) folder(f *decode.Func) string {
	file := c.table.Symbols.Name(f.File)
	return file[:strings.LastIndexByte(file, '/')+1]
}

// inModule reports whether a function is of the program's own module.
func (c *Counter) inModule(name decode.ID) bool { return c.own[c.Names.pkg[name]] }

// isOutside reports whether a function is outside the standard library.
func (c *Counter) isOutside(name decode.ID) bool { return c.Names.parts[name]&standard == 0 }

// nearest returns the frame nearest to the function among those of the functions that
// count and that have at least half of its weight, with all the weight that passes
// through that frame's function.
func (p *paths) nearest(counts func(line int32) bool) Frame {
	nameOf := func(line int32) decode.ID { return p.table.Lines[line].Name }
	through := map[decode.ID]int64{}
	for _, s := range p.kept {
		above := s.lines[s.outer:min(len(s.lines), s.outer+otherDepth)] // the runtime keeps no more
		for i, l := range above {
			name := nameOf(l)
			again := func(l int32) bool { return nameOf(l) == name }
			if counts(l) && !slices.ContainsFunc(above[:i], again) {
				through[name] = AddSaturating(through[name], s.value)
			}
		}
	}
	f, line := p.heaviest(p.kept, func(s *path) int {
		for i, l := range s.lines[s.outer:] {
			if through[nameOf(l)] >= p.value-p.value/2 {
				return s.outer + i
			}
		}
		return -1
	})
	if line >= 0 {
		f.Value = p.scaled(through[nameOf(line)])
	}
	return f
}

// heaviest returns the costliest function among the frames that at selects, at its
// costliest line, and the index of one of its lines, below 0 if there is no function.
// Equal ones are ordered by name, because ids depend on earlier profiles.
func (p *paths) heaviest(stacks []path, at func(*path) int) (f Frame, line int32) {
	type place struct {
		name, file decode.ID
		line       int32
	}
	byName, byPlace, lines, symbols := map[decode.ID]int64{}, map[place]int64{}, map[decode.ID]int32{}, p.table.Symbols
	for k := range stacks {
		s := &stacks[k]
		if i := at(s); i >= 0 && i < len(s.lines) {
			l := &p.table.Lines[s.lines[i]]
			byName[l.Name], lines[l.Name] = AddSaturating(byName[l.Name], s.value), s.lines[i]
			here := place{l.Name, p.table.Funcs[l.Func].File, l.Line}
			byPlace[here] = AddSaturating(byPlace[here], s.value)
		}
	}
	best := decode.ID(0)
	for id, v := range byName {
		if v > f.Value || v == f.Value && symbols.Name(id) < f.Function {
			best, f.Function, f.Value = id, symbols.Name(id), v
		}
	}
	most := int64(0)
	for at, v := range byPlace {
		file, line := symbols.Name(at.file), int(at.line)
		if at.name == best && (v > most || v == most && cmp.Or(cmp.Compare(line, f.Line), cmp.Compare(file, f.File)) < 0) {
			f.File, f.Line, most = file, line, v
		}
	}
	if f.Value == 0 {
		return Frame{}, -1
	}
	f.Own, f.Value = p.inModule(p.home(lines[best])), p.scaled(f.Value)
	return f, lines[best]
}

// follow walks from the function along the costliest frames. Each step looks only at the
// stacks that have the frames of the steps before. It ends where these stacks end, or where
// the costliest frame has less than least.
func (p *paths) follow(at func(s *path, step int) int, least int64) (way []Frame, lines []int32) {
	live := slices.Clone(p.kept)
	for step := 1; step <= cpuDepth; step++ {
		f, line := p.heaviest(live, func(s *path) int { return at(s, step) })
		if f.Value <= 0 || f.Value < least {
			break
		}
		same := live[:0]
		for k := range live {
			s := &live[k]
			if i := at(s, step); i >= 0 && i < len(s.lines) && p.table.Lines[s.lines[i]].Name == p.table.Lines[line].Name {
				same = append(same, *s)
			}
		}
		live = same
		way, lines = append(way, f), append(lines, line)
	}
	return way, lines
}

// wayIn is the part of a way in to show: up to the outermost frame of the own module, or
// if there is none, outside the standard library, or else all of it.
func (c *Counter) wayIn(way []Frame, lines []int32) []Frame {
	for _, ends := range []func(decode.ID) bool{c.inModule, c.isOutside} {
		for i, line := range slices.Backward(lines) {
			if ends(c.home(line)) {
				return way[:i+1]
			}
		}
	}
	return way
}
