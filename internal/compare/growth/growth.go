// Package growth tells which functions of a benchmark cost more a call, from CPU profiles of both sides. They are
// compared as the functions of two builds are: see package release. Here the benchmark is left out, and what the
// change touches goes first. Points are parts of what a call cost before.
package growth

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/release"
	"github.com/profguard/profguard/internal/tree"
)

const (
	// call is the unit of work.
	call = "call"
	// worth is the part of all growth from which a function is told, and limit the least growth.
	worth, limit = 1.0 / 10, 0.002
	// likely is that without proof, and mostLikely how many are told.
	likely, mostLikely = 1.0 / 5, 3
	// most is the part of the growth of a function that those below it have which are told in its place.
	most = 2.0 / 3
	// inside is that from which one below it is told beside it.
	inside = 1.0 / 3
)

// Add adds a profile of some calls, and the CPU time that these took, to a side. module is the path of the module.
func Add(ctx context.Context, to *release.Side, module string, t *decode.Table, cpu, calls float64) error {
	c := tree.Counter{Module: module, Entry: isBenchmark}
	sum, err := c.Tree(ctx, t)
	if err == nil {
		to.Add(sum, release.Piece{CPU: cpu, Work: map[string]float64{call: calls}})
	}
	return err
}

// isBenchmark reports whether a function is a benchmark or a part of it that several have in common.
func isBenchmark(name, file string) bool {
	base := name[strings.LastIndexByte(name, '/')+1:]
	_, base, _ = strings.Cut(base, ".")
	return strings.HasSuffix(file, "_test.go") && (strings.HasPrefix(base, "Benchmark") || strings.HasPrefix(base, "benchmark"))
}

// An Input is both sides.
type Input struct {
	Before, Now *release.Side
	// Scale is what a call costs now in parts of what it cost before.
	Scale   release.Growth
	Own     func(file string) bool             // whether a file is one of the module's
	Touched func(file string, line int) Change // by the change
}

// A Change says what of a place the change touches.
type Change struct{ Line, Function bool }

// A Result is where the growth is.
type Result struct {
	Functions []Function // that are named, those that are new or changed first
	Proven    bool       // they surely have grown
	Done      bool       // more samples would tell little more
	// Body is the growth of the benchmark's own lines, and Collector that of the garbage collector's
	// goroutines, in points; 0 unless it is sure.
	Body, Collector float64
	Line            release.Frame // that cost most in Body
}

// A Function is one that has grown.
type Function struct {
	release.Function
	At release.Frame
	// Inside is the function below it that seems to have most of its growth.
	Inside       string
	InsidePoints float64
	// Mine says that At is in the function itself. Otherwise At has its caller.
	Mine    bool
	Changed Change // whether the change touches At
}

// Find finds the functions that have grown.
func Find(ctx context.Context, in Input) (r Result, err error) {
	total := in.Scale.Value - 1
	c, err := release.Compare(ctx, in.Before, in.Now, release.Options{Per: call, Scale: in.Scale, Limit: max(worth*total, limit)})
	if err != nil {
		return r, err
	}
	x := &explaining{Input: in, nodes: in.Now.Tree.Nodes(), below: in.Now.Tree.Below()}
	var sure, named, seem []Function // surely grown, those to name of them, and those that may have
	for _, f := range c.Functions {
		switch g := x.function(f); {
		case isBenchmark(f.Name, f.Line.File):
			if f.Points.Low > 0 && f.Points.Value > max(r.Body, likely*total) {
				r.Body, r.Line = f.Points.Value, f.Line
			}
		case isCaller(f.Name) || f.Status == release.Moved || f.Points.Value <= 0:
		default:
			if f.Points.Low > 0 {
				sure = append(sure, g)
			}
			if (f.Named || f.Above && !f.MayMove) && f.Points.Value >= worth*total {
				named = append(named, g)
			}
			if f.Points.Value >= likely*total {
				seem = append(seem, g)
			}
		}
	}
	deepest, sum := x.deepest(seem), 0.0
	if r.Proven = len(named) > 0; !r.Proven {
		named = deepest[:min(len(deepest), mostLikely)]
	}
	for _, f := range named {
		sum += f.Points.Value
		r.Functions = append(r.Functions, x.parts(f, sure)...)
	}
	for i := range r.Functions {
		x.inside(&r.Functions[i], seem)
	}
	slices.SortStableFunc(r.Functions, func(a, b Function) int { return cmp.Compare(b.news(), a.news()) })
	if c.Collector.Value >= likely*total {
		r.Collector = c.Collector.Value
	}
	open := slices.ContainsFunc(deepest, func(f Function) bool {
		return !slices.ContainsFunc(r.Functions, func(g Function) bool { return g.Name == f.Name || x.isBelow(g, f) })
	})
	r.Done = r.Proven && sum >= total/2 && !open || r.Body >= total/2 || r.Collector >= total/2
	return r, nil
}

// isCaller reports whether a function only calls what is given to it.
func isCaller(name string) bool {
	return strings.HasPrefix(name, "testing.") || strings.HasPrefix(name, "sync.(*Once).")
}

// news is 1 if a function is new or the change touches it.
func (f *Function) news() int {
	if f.New || f.Changed.Function {
		return 1
	}
	return 0
}

// An explaining has the tree of the head, by which functions are above each other.
type explaining struct {
	Input
	nodes []tree.Node
	below []float64
}

// isBelow reports whether most samples of a function are below another one.
func (x *explaining) isBelow(f, above Function) bool {
	all, under := 0.0, 0.0
	for i := range x.nodes {
		if n := &x.nodes[i]; n.Name == f.Name && n.Kind == tree.Function {
			all += x.below[i]
			for at := n.Parent; at > 0; at = x.nodes[at].Parent {
				if x.nodes[at].Name == above.Name {
					under += x.below[i]
					break
				}
			}
		}
	}
	return f.Name != above.Name && all > 0 && under >= all/2
}

// deepest are the functions of a list of which no other one has most of the growth, those that have grown most first.
func (x *explaining) deepest(list []Function) (deep []Function) {
	list = slices.SortedStableFunc(slices.Values(list), func(a, b Function) int { return cmp.Compare(b.Points.Value, a.Points.Value) })
	for _, f := range list {
		if !slices.ContainsFunc(list, func(g Function) bool { return x.isBelow(g, f) && g.Points.Value >= most*f.Points.Value }) &&
			!slices.ContainsFunc(deep, func(g Function) bool { return x.isBelow(f, g) }) {
			deep = append(deep, f)
		}
	}
	return deep
}

// parts are the functions below one that are new or changed, if they have most of its growth together, or else the
// function.
func (x *explaining) parts(f Function, sure []Function) []Function {
	parts, sum := x.deepest(slices.DeleteFunc(slices.Clone(sure), func(g Function) bool {
		return g.news() == 0 || !x.isBelow(g, f) || g.Points.Value < f.Points.Value/5
	})), 0.0
	for _, g := range parts {
		sum += g.Points.Value
	}
	if sum < most*f.Points.Value {
		return []Function{f}
	}
	return parts
}

// inside finds the function below one with most of its growth.
func (x *explaining) inside(f *Function, list []Function) {
	for _, g := range list {
		if g.Points.Value > f.InsidePoints && g.Points.Value >= inside*f.Points.Value && x.isBelow(g, *f) {
			f.Inside, f.InsidePoints = g.Name, g.Points.Value
		}
	}
}

// function finds the line to look at: of the function, or that by which the module calls it. If it is one that the
// change does not touch, and the change touches a caller, it is the line there.
func (x *explaining) function(g release.Function) Function {
	f, best := Function{Function: g}, 0
	for i := range x.nodes {
		if n := &x.nodes[i]; n.Name == f.Name && n.Kind == tree.Function && (best == 0 || x.below[i] > x.below[best]) {
			best = i
		}
	}
	line := x.nodes[best].Line
	for at := int32(best); at > 0; at = x.nodes[at].Parent {
		switch n := &x.nodes[at]; {
		case !x.Own(n.File):
		case f.At.File == "":
			f.At, f.Mine, f.Changed = release.Frame{Function: n.Name, File: n.File, Line: line}, int(at) == best, x.Touched(n.File, line)
			if f.Changed.Line || f.Changed.Function && f.Mine {
				return f
			}
		case n.Kind == tree.Function && x.Touched(n.File, line).Line:
			f.At, f.Mine, f.Changed = release.Frame{Function: n.Name, File: n.File, Line: line}, false, Change{Line: true, Function: true}
			return f
		}
		line = x.nodes[at].Call
	}
	return f
}
