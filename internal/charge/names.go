package charge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/names"
	"github.com/profguard/profguard/internal/pattern"
)

// maxCost limits the work and the memory for all names together: the sum over all names of
// what it costs to try patterns on them, and of the patterns that match. It stands for 32 MiB of
// matches, or for 32 MiB of names that regular expressions read, which takes two seconds
// once, and ten on a busy machine: a hundred of them on 5,000 functions, or thousands that need
// a text that these lack. Above it, all names are forgotten and those of the current profile are
// looked up anew. A profile that costs more by itself is refused.
const maxCost = 1 << 23

// Names remembers what is known about each function name: the patterns that match it, its
// package, and its parts. A program has a fixed set of names, so after its first window
// nothing is matched and nothing is allocated. If names keep changing, it forgets
// them together with decode.Symbols, or at maxCost.
type Names struct {
	// Module is the path of the program's own module, and Modules are those of all the others
	// that it is built from, where these are known.
	Module  string
	Modules []string

	index   *pattern.Index
	symbols *decode.Symbols
	module  string // at the last Learn
	sources string // the folder of the standard library, with a slash; "" when unknown

	// By id.
	parts   []part
	matches []span
	by      [len(groups)]group

	hits        []int32 // the patterns that names match, one name's after the other's
	cost        int     // of all names
	most        int     // maxCost, except in tests
	mostMatches int     // the most that one name has

	homes     []home // by number of a package
	moduleIDs map[string]int32
	standard  int32 // the number of the standard library, as a module
	folders   bool  // files have folders
}

// A group has the keys of functions that share some.
type group struct {
	of    []int32 // by id of a function
	names []string
	ids   map[string]int32
}

// id is the number of a name.
func (g *group) id(name string) int32 {
	id := number(g.ids, name)
	if int(id) == len(g.names) {
		g.names = append(g.names, name)
	}
	return id
}

// A span is the place of a name's matches in hits.
type span struct{ from, to int32 }

// NewNames returns an empty memory for an index of patterns.
func NewNames(index *pattern.Index) *Names {
	return &Names{index: index, symbols: new(decode.Symbols), most: maxCost}
}

// Learn looks up every function name of the table that is not known yet. It fails when the
// context ends, or when the patterns cost too much.
func (n *Names) Learn(ctx context.Context, t *decode.Table) error {
	if n.symbols == t.Symbols && n.module == n.Module {
		if err := n.learn(ctx, t); !errors.Is(err, errCost) {
			return err
		}
	}
	*n = Names{
		Module: n.Module, module: n.Module, Modules: n.Modules, index: n.index, most: n.most,
		symbols: t.Symbols, moduleIDs: map[string]int32{},
	}
	for i := range n.by {
		n.by[i].ids = map[string]int32{}
	}
	n.standard = number(n.moduleIDs, "std")
	err := n.learn(ctx, t)
	if err != nil {
		n.symbols = new(decode.Symbols) // some names are missing
	}
	return err
}

var errCost = errors.New("the patterns of the budgets take too long on this many function names: name packages and functions instead of writing regular expressions")

func (n *Names) learn(ctx context.Context, t *decode.Table) error {
	if more := t.Symbols.Len() - len(n.parts); more > 0 {
		n.parts = append(n.parts, make([]part, more)...)
		for i := range groups {
			if groups[i].of != nil {
				n.by[i].of = append(n.by[i].of, make([]int32, more)...)
			}
		}
		n.matches = append(n.matches, make([]span, more)...)
	}
	if n.parts[0] == 0 {
		n.learnName(0, "", "") // so that package 0 is that of unknown names
	}
	if n.sources == "" {
		n.sources = sourcesOf(t)
	}
	for i := range t.Funcs {
		id, file := t.Funcs[i].Name, t.Funcs[i].File
		if n.parts[id]&learnt == 0 {
			if ctx.Err() != nil {
				return fmt.Errorf("match function names: %w", context.Cause(ctx))
			}
			n.learnName(id, t.Symbols.Name(id), t.Symbols.Name(file))
			if n.cost > n.most {
				return fmt.Errorf("match function names: expected a cost of at most %d tries and matches, found %d: %w", n.most, n.cost, errCost)
			}
		}
		if n.parts[id]&(standard|runtimes) == standard && isRuntimeFile(t.Symbols.Name(file)) {
			n.parts[id] |= runtimes | floor | waiting // as reflect.typedmemmove, which the runtime defines
		}
	}
	return nil
}

func (n *Names) learnName(id decode.ID, name, file string) {
	pkg := names.PackageOf(name)
	n.parts[id] = learnt | partsOf(name, pkg, n.isStandard(name, pkg, file))
	for i := range groups {
		if of := groups[i].of; of != nil {
			n.by[i].of[id] = n.by[i].id(of(name, pkg, file))
		}
	}
	in := n.by[Package].of[id]
	if int(in) == len(n.homes) { // a new package
		n.homes = append(n.homes, home{module: n.standard})
	}
	if h := &n.homes[in]; n.parts[id]&standard == 0 && !h.known {
		*h = n.homeOf(pkg, file)
		n.folders = n.folders || h.known
	}
	from := len(n.hits)
	before := n.index.Cost
	n.hits = n.index.Match(name, n.hits)
	if n.matches[id] = (span{int32(from), int32(len(n.hits))}); len(n.hits) == from {
		n.parts[id] |= unmatched
	}
	n.mostMatches = max(n.mostMatches, len(n.hits)-from)
	n.cost += n.index.Cost - before + len(n.hits) - from
}

// sourcesOf is the folder in which the runtime's folder is, with a slash, or "" when unknown.
func sourcesOf(t *decode.Table) string {
	for i := range t.Funcs {
		if strings.HasPrefix(t.Symbols.Name(t.Funcs[i].Name), "runtime.") {
			if file := t.Symbols.Name(t.Funcs[i].File); isRuntimeFile(file) {
				return strings.TrimSuffix(file[:strings.LastIndexByte(file, '/')], "runtime")
			}
		}
	}
	return ""
}

// isRuntimeFile reports whether a file is in a folder of the name runtime.
func isRuntimeFile(file string) bool {
	folder := file[:max(strings.LastIndexByte(file, '/'), 0)]
	return folder == "runtime" || strings.HasSuffix(folder, "/runtime")
}

// Matches lists the numbers of the patterns that match the name.
func (n *Names) Matches(id decode.ID) []int32 { return n.hits[n.matches[id].from:n.matches[id].to] }

// handles reports whether a function is of the packages that call what begins something: handlers,
// and the code that pprof.Do or label.Do labels.
func (n *Names) handles(id decode.ID) bool {
	pkg := n.by[Package].names[n.by[Package].of[id]]
	return pkg == "runtime/pprof" || pkg == module+"label" || pkg == "net/http" || strings.HasPrefix(pkg, "net/http/")
}

// continues reports whether a frame is the body of a loop over a function (handle-range1), in a
// function that is the entry point, if there is one yet, or one of its callers.
func (n *Names) continues(frames []decode.ID, body, entry int32) bool {
	name := n.symbols.Name(frames[body])
	at := strings.LastIndex(name, "-range")
	if at < 0 {
		return false
	}
	for i := max(body+1, entry); i < int32(len(frames)); i++ {
		if len(n.symbols.Name(frames[i])) <= at && n.isAround(frames[i], frames[body]) {
			return true
		}
	}
	return false
}

// isAround reports whether a function literal is in another function, by its name.
func (n *Names) isAround(function, literal decode.ID) bool {
	if n.by[Package].of[function] != n.by[Package].of[literal] {
		return false
	}
	outer, inner := n.symbols.Name(function), n.symbols.Name(literal)
	if len(inner) <= len(outer) || inner[len(outer)] != '.' && inner[len(outer)] != '-' {
		return false // without comparing names, which may be long
	}
	return strings.HasPrefix(inner, outer)
}

// This file tells modules apart: code of the program's own module is charged function by
// function, other code at its doors.

// A home is where a package's files are.
type home struct {
	module  int32 // the number of its module
	foreign bool  // its files are in the folder of a version of a module, or in a vendor folder
	known   bool  // its files have a folder: those that the compiler and cgo write have none
}

// homeOf is the home of a package outside the standard library, by the file of one of its
// functions. The go command keeps a module in a folder "path@v1.2.0", or a package in
// "vendor/path". Any other package counts as a module of its own, unless one of the modules that
// were linked has it.
func (n *Names) homeOf(pkg, file string) home {
	folder := file[:max(strings.LastIndexByte(file, '/'), 0)]
	if at := strings.LastIndex(folder, "@v"); at >= 0 {
		version, _, _ := strings.Cut(folder[at+len("@v"):], "/")
		if version != "" && '0' <= version[0] && version[0] <= '9' {
			return home{number(n.moduleIDs, folder[:at]+"@v"+version), true, true}
		}
	}
	module := pkg
	for _, m := range n.Modules {
		if isIn(pkg, m) && (module == pkg || len(m) > len(module)) {
			module = m
		}
	}
	vendored := folder == "vendor/"+pkg || strings.HasSuffix(folder, "/vendor/"+pkg)
	return home{number(n.moduleIDs, module), vendored, folder != ""}
}

// number is the number of a text, which is the next one if the text is new.
func number(ids map[string]int32, text string) int32 {
	id, known := ids[text]
	if !known {
		id = int32(len(ids))
		ids[text] = id
	}
	return id
}

// isIn reports whether a package is in a module, or is the external test of its first package.
func isIn(pkg, module string) bool {
	rest, ok := strings.CutPrefix(pkg, module)
	return ok && module != "" && (rest == "" || rest[0] == '/' || rest == "_test")
}

// isStandard reports whether a function is of the standard library, unless its name is not a Go name.
// The files of that are where the runtime's are. With -trimpath no path leads there: then
// files of other modules have a version, and a guard knows the paths of all modules.
func (n *Names) isStandard(name, pkg, file string) bool {
	switch root := firstElement(name); {
	case root == "main" || root == "cmd" || strings.Contains(root, "."):
		return false
	case isIn(pkg, n.Module) || slices.ContainsFunc(n.Modules, func(m string) bool { return isIn(pkg, m) }):
		return false
	case n.sources != "" && strings.Contains(file, "/"):
		return strings.HasPrefix(file, n.sources)
	default:
		return !strings.Contains(file, "@") && slices.Contains(standardRoots, root)
	}
}
