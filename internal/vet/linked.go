package vet

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/unit"
)

// programs are the main packages, and what their source declares. That is more than what the linker keeps:
// what is not declared is surely not linked.
type programs struct {
	mains []*listed
	pkgs  map[string]*listed
	read  map[string]*declared
}

// declared is what the source of a package declares, for all platforms.
type declared struct {
	functions []string        // as the linker names them
	methods   []string        // their names, those of interfaces too
	embedding []string        // types that may have methods of others
	literals  map[string]bool // texts that may be names of metrics
}

func newPrograms(all []*listed) *programs {
	ps := &programs{pkgs: map[string]*listed{}, read: map[string]*declared{}}
	for _, l := range all {
		ps.pkgs[l.ImportPath] = l
		if !l.DepOnly && l.Name == "main" {
			ps.mains = append(ps.mains, l)
		}
	}
	return ps
}

// with are the packages of the programs that a package is linked into, none if it is in no program, or if
// one of them loads code that the source does not show.
func (ps *programs) with(path string) (list []*listed) {
	seen := map[string]bool{}
	for _, m := range ps.mains {
		if m.ImportPath != path && !slices.Contains(m.Deps, path) {
			continue
		}
		for _, dep := range append([]string{m.ImportPath}, m.Deps...) {
			l := ps.pkgs[dep]
			switch {
			case dep == "C" || dep == "unsafe" || seen[dep]:
				continue
			case l == nil || l.Error != nil || dep == "plugin":
				return nil
			}
			seen[dep] = true
			list = append(list, l)
		}
	}
	return list
}

// check tells of the budgets that guards get what the programs surely lack.
func (ps *programs) check(calls []*call, f *flow) (found []Finding, err error) {
	by := map[string][]*call{} // their packages
	for _, c := range calls {
		if !c.pkg.test(c.node.Pos()) && len(f.starts[c.node]) > 0 {
			by[c.pkg.Path] = append(by[c.pkg.Path], c)
		}
	}
	for path, calls := range by {
		linked := ps.with(path)
		if len(linked) == 0 {
			continue
		}
		var texts []string
		for _, c := range calls {
			for i := range c.sentences {
				texts = append(texts, c.sentences[i].patterns()...)
			}
		}
		near, err := ps.missing(slices.DeleteFunc(texts, unsure.MatchString), linked)
		if err != nil {
			return nil, err
		}
		for _, c := range calls {
			for i := range c.sentences {
				s := &c.sentences[i]
				found = append(found, s.unmatched(near)...)
				if s.rule.Test == judge.Steady && !f.shared(c) {
					found = append(found, s.tell(s.Subject, `the budget can never fail: only a test judges "steady"; give it a limit, or take it out`))
				}
				if s.Per == "" || slices.ContainsFunc(f.starts[c.node], func(at *starting) bool { return !at.lacksWork(s.Per) }) {
					continue
				}
				if counted, err := ps.counts(linked, s.Per); err != nil {
					return nil, err
				} else if !counted {
					found = append(found, s.tell(s.Per, "nobody counts %s: Config.Work has no function for it, and no metric of the program has its name", s.Per))
				}
			}
		}
	}
	return found, nil
}

// unsure matches patterns about names that the source does not show: regular expressions, names of other
// languages, literals and what the compiler makes, and packages that differ between releases of Go
// or systems.
var unsure = regexp.MustCompile(`^/|^"|\[|\.(func|gowrap|deferwrap)?\d|-fm$|\.abi\w+$|-range\d|\.glob\.|_C|_cgo|^(runtime|internal)\b|^(go|type):|/internal/|\b(unix|linux|windows|darwin|plan9|\w+bsd)\b|^none$`)

// missing are the patterns that match nothing, each with the nearest name, "" for none.
func (ps *programs) missing(texts []string, linked []*listed) (map[string]string, error) {
	near, err := process.Missing(texts, "", func(yield func(string) bool) error {
		for _, l := range linked {
			d, err := ps.declared(l)
			if err != nil {
				return err
			}
			for _, name := range d.functions {
				if !yield(name) {
					return nil
				}
			}
		}
		return nil
	})
	maps.DeleteFunc(near, func(text, _ string) bool { return ps.mayPromote(linked, text) })
	if slices.ContainsFunc(linked, func(l *listed) bool { return !l.Standard && len(l.CgoFiles) > 0 }) {
		maps.DeleteFunc(near, func(text, _ string) bool { return unit.IsName(text) && !strings.Contains(text, ".") }) // perhaps a function of C
	}
	return near, err
}

// unmatched tells of the patterns of a sentence that match nothing. For "absent" that is the best pass.
func (s *sentence) unmatched(near map[string]string) (found []Finding) {
	for _, text := range s.patterns() {
		hint, is := near[text]
		if !is || hint == "" && s.rule.Test == judge.Absent && text == s.Subject {
			continue
		}
		remedy := "check the spelling, or take it out"
		if hint != "" {
			remedy = "did you mean " + hint + "?"
		}
		found = append(found, s.tell(text, "no function of the program matches %s: %s", pattern.Visible(text), remedy))
	}
	return found
}

var identifier = regexp.MustCompile(`[\p{L}_*][\p{L}\p{Nd}_*]*`)

// mayPromote reports whether a pattern may be about a method that a type has from another: there is such a method, and
// such a type.
func (ps *programs) mayPromote(linked []*listed, text string) bool {
	words := identifier.FindAllString(text, -1)
	if len(words) < 2 {
		return false
	}
	is := func(word string) func(string) bool {
		return func(name string) bool { ok, _ := filepath.Match(word, name); return ok }
	}
	method, typ := is(words[len(words)-1]), is(words[len(words)-2])
	return slices.ContainsFunc(linked, func(l *listed) bool { return slices.ContainsFunc(ps.read[l.ImportPath].methods, method) }) &&
		slices.ContainsFunc(linked, func(l *listed) bool { return slices.ContainsFunc(ps.read[l.ImportPath].embedding, typ) })
}

// counts reports whether the program may have a metric for a unit of work. Its name, or an end or a beginning of
// it, is in a text of a module that lies here, or of a package that may register metrics.
func (ps *programs) counts(linked []*listed, per string) (bool, error) {
	w, _ := unit.ParseWork(per)
	for _, l := range linked {
		here := l.Module != nil && (l.Module.Main || l.Module.Replace != nil)
		registers := slices.ContainsFunc(l.Deps, func(dep string) bool {
			return strings.HasPrefix(dep, "github.com/prometheus/client_golang/") || strings.HasPrefix(dep, "go.opentelemetry.io/otel/metric")
		})
		if l.Standard || !here && !registers || l.DepOnly && strings.HasPrefix(l.ImportPath, "github.com/profguard/profguard/") {
			continue
		}
		d, err := ps.declared(l)
		if err != nil {
			return false, err
		}
		for text := range d.literals {
			if mayName(text, w.Name) {
				return true, nil
			}
		}
	}
	return false, nil
}

var underscores = strings.NewReplacer(".", "_", "-", "_")

// mayName reports whether a text may become the name of a metric. Registries put namespaces in front of it, and
// OpenTelemetry puts units behind it. The usual endings alone say nothing.
func mayName(text, metric string) bool {
	text, metric = strings.Trim(underscores.Replace(text), "_"), underscores.Replace(metric)
	behind, begins := strings.CutPrefix(metric+"_", text+"_")
	return text != "total" && text != "count" && strings.HasSuffix("_"+metric, "_"+text) || strings.HasPrefix(text, metric+"_") ||
		begins && (strings.Contains(text, "_") || strings.Count(behind, "_") < 2)
}

// namely are the parts of a text, perhaps a format, that may be in a name.
var namely = regexp.MustCompile(`[\w.-]+`)

// linkerPath is the path of a package in the names of its functions.
func linkerPath(l *listed) string {
	if l.Name == "main" {
		return "main"
	}
	slash := strings.LastIndexByte(l.ImportPath, '/') + 1
	return l.ImportPath[:slash] + strings.ReplaceAll(l.ImportPath[slash:], ".", "%2e")
}

// assembled are names in assembly, and linknamed those that //go:linkname gives.
var (
	assembled = regexp.MustCompile(`([\pL\pN_.∕]*)·([\pL\pN_]+)`)
	linknamed = regexp.MustCompile(`(?m)^//go:linkname \S+ (\S+)`)
)

// declared reads a package, once.
func (ps *programs) declared(l *listed) (*declared, error) {
	if d := ps.read[l.ImportPath]; d != nil {
		return d, nil
	}
	d := &declared{literals: map[string]bool{}}
	path := linkerPath(l)
	d.functions = append(d.functions, path+".init")
	for _, name := range slices.Concat(l.GoFiles, l.CgoFiles, l.IgnoredGoFiles, l.SFiles) {
		src, err := os.ReadFile(filepath.Join(l.Dir, name))
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(name, ".s") || strings.HasSuffix(name, ".S") {
			for _, m := range assembled.FindAllSubmatch(src, -1) {
				pkg := strings.ReplaceAll(string(m[1]), "∕", "/")
				if pkg == "" {
					pkg = path
				}
				d.functions = append(d.functions, pkg+"."+string(m[2]))
			}
			continue
		}
		for _, m := range linknamed.FindAllSubmatch(src, -1) {
			d.functions = append(d.functions, string(m[1]))
		}
		f, _ := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
		if f != nil {
			d.add(path, f, !l.Standard)
		}
	}
	ps.read[l.ImportPath] = d
	return d, nil
}

// add takes the declarations of a file.
func (d *declared) add(path string, f *ast.File, literals bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			d.function(path, n)
		case *ast.TypeSpec:
			if embeds(n.Type) {
				d.embedding = append(d.embedding, n.Name.Name)
			}
		case *ast.InterfaceType:
			for _, m := range n.Methods.List {
				for _, name := range m.Names {
					d.methods = append(d.methods, name.Name)
				}
			}
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); literals && err == nil && !strings.Contains(text, " ") {
				for _, name := range namely.FindAllString(text, -1) {
					d.literals[strings.TrimPrefix(name, "s_")] = true // of %s_
				}
			}
		}
		return n != nil
	})
}

func (d *declared) function(path string, f *ast.FuncDecl) {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		d.functions = append(d.functions, path+"."+f.Name.Name)
		return
	}
	d.methods = append(d.methods, f.Name.Name)
	typ, pointer := "", false
	ast.Inspect(f.Recv.List[0].Type, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StarExpr:
			pointer = true
		case *ast.Ident: // before its type parameters
			typ = cmp.Or(typ, n.Name)
		}
		return typ == ""
	})
	d.functions = append(d.functions, path+".(*"+typ+")."+f.Name.Name)
	if !pointer { // the compiler makes the other
		d.functions = append(d.functions, path+"."+typ+"."+f.Name.Name)
	}
}

// embeds reports whether a type may have methods that are declared for another.
func embeds(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.StructType:
		return slices.ContainsFunc(e.Fields.List, func(f *ast.Field) bool { return len(f.Names) == 0 })
	case *ast.ArrayType, *ast.MapType, *ast.FuncType, *ast.ChanType:
		return false
	}
	return true
}
