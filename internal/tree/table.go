package tree

import (
	"math"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/names"
)

// The first frames of samples that are charged to nothing, and of those whose callers are not known.
const aside, cutOff = "[charged to nothing]", "[cut off]"

// period is how much CPU time a sample stands for, where that is not known: runtime/pprof takes a hundred a second.
const period = 1e7

// Table is the tree as a profile of CPU, with a stack for each path, which pprof can show.
func (t *Tree) Table() *decode.Table {
	t.init()
	out := &decode.Table{
		Types: []decode.ValueType{{Type: "samples", Unit: "count"}, {Type: kinds.CPU, Unit: "nanoseconds"}}, DefaultType: -1,
		PeriodType: decode.ValueType{Type: kinds.CPU, Unit: "nanoseconds"}, Period: period, Symbols: new(decode.Symbols),
	}
	places := places{table: out, functions: map[[2]decode.ID]int32{}, locations: map[place]int32{}}
	for i := range t.nodes {
		n := &t.nodes[i]
		if n.Own <= 0 {
			continue
		}
		lo, line := int32(len(out.Stacks)), n.Line
		for at := int32(i); at > 0; at = t.nodes[at].Parent {
			x := &t.nodes[at]
			out.Stacks = append(out.Stacks, places.of(x.title(), x.File, line))
			if line = x.Call; x.Kind == Aside {
				out.Stacks = append(out.Stacks, places.of(aside, "", 0))
			}
		}
		hi := int32(len(out.Stacks))
		out.Samples = append(out.Samples, decode.Sample{StackLo: lo, StackHi: hi})
		count := int64(math.Round(min(n.Own, math.MaxInt64/period)))
		out.Values = append(out.Values, count, count*period)
		out.Frames += int64(hi - lo)
	}
	return out
}

// A place is a line of a function.
type place struct{ function, line int32 }

// places are the functions and locations of a table that is being made.
type places struct {
	table     *decode.Table
	functions map[[2]decode.ID]int32
	locations map[place]int32
}

// of is the location of a line.
func (p *places) of(name, file string, line int) int32 {
	t := p.table
	key := [2]decode.ID{t.Symbols.Intern([]byte(name)), t.Symbols.Intern([]byte(file))}
	function, known := p.functions[key]
	if !known {
		function = int32(len(t.Funcs))
		p.functions[key] = function
		t.Funcs = append(t.Funcs, decode.Func{Name: key[0], File: key[1]})
	}
	at := place{function, int32(line)}
	location, known := p.locations[at]
	if !known {
		location = int32(len(t.Locations))
		p.locations[at] = location
		lo := int32(len(t.Lines))
		t.Lines = append(t.Lines, decode.Line{Name: key[0], Func: function, Line: at.line})
		t.Locations = append(t.Locations, decode.Location{LineLo: lo, LineHi: lo + 1})
	}
	return location
}

// title is the name of a node in a profile.
func (n *Node) title() string {
	if n.Kind == Cut {
		return cutOff
	}
	return n.Name
}

// isOwn reports whether a function is of the program's own module, or outside the standard library if that is not
// known.
func isOwn(name, module string) bool {
	pkg := names.PackageOf(name)
	if module == "" {
		return !charge.IsStandard(name)
	}
	return pkg == "main" || pkg == module || strings.HasPrefix(pkg, module+"/")
}

// Of is the tree that a profile is: see [Tree.Table]. module is the program's own one, "" if it is not known.
func Of(t *decode.Table, module string) *Tree {
	sum := &Tree{}
	sum.init()
	for i, s := range t.Samples {
		n := float64(t.Values[i*len(t.Types)])
		if !(n > 0) {
			continue
		}
		at, kind, call := int32(0), Entry, 0
		for l := s.StackHi - 1; l >= s.StackLo; l-- {
			line := t.Lines[t.Locations[t.Stacks[l]].LineLo]
			switch name := t.Symbols.Name(line.Name); name {
			case aside:
				kind = Aside
			case cutOff:
				at, kind = sum.child(at, Cut, ""), Function
			default:
				at, kind = sum.child(at, kind, name), Function
				node := &sum.nodes[at]
				node.Mine = isOwn(name, module)
				node.at(t.Symbols.Name(t.Funcs[line.Func].File), int(line.Line), call, n)
				call = int(line.Line)
			}
		}
		sum.nodes[at].Own += n
	}
	sum.fold()
	sum.nodes, sum.by = slices.Clip(slices.Clone(sum.nodes)), nil
	return sum
}
