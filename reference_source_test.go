package profguard_test

import (
	"cmp"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/guard"
)

// An entry is a name that the code declares, with its comment as a sentence.
type entry struct {
	name, kind, value string // the value of a constant, the default of a field
	doc               string
}

var (
	link       = regexp.MustCompile(`\[([\w.]+)\]`)
	defaultsTo = regexp.MustCompile(`\s*Default: (.*?)\.(\s|$)`)
)

// sentence begins with a capital letter and ends with a full stop.
func sentence(s string) string {
	s = link.ReplaceAllString(strings.Join(strings.Fields(s), " "), "`$1`")
	if s == "" {
		return ""
	}
	if word, _, _ := strings.Cut(s, " "); !strings.ContainsAny(word[1:], "./_") { // those are names
		s = strings.ToUpper(s[:1]) + s[1:]
	}
	return strings.TrimSuffix(s, ".") + "."
}

// comment is the first paragraph of comments, without the name that it may begin with.
func comment(name string, groups ...*ast.CommentGroup) string {
	for _, g := range groups {
		if text, _, _ := strings.Cut(g.Text(), "\n\n"); text != "" {
			for _, begin := range []string{name + ": ", name + " is ", name + " are ", name + " "} {
				text = strings.TrimPrefix(text, begin)
			}
			return sentence(strings.TrimSpace(text))
		}
	}
	return ""
}

// sources are the files of a package, without its tests, in the order of their names.
func sources(t *testing.T, dir string) (files []*ast.File) {
	t.Helper()
	all := parsed(t, dir)
	var paths []string
	for path := range all {
		if !strings.HasSuffix(path, "_test.go") {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		files = append(files, all[path])
	}
	return files
}

// constants are the constants of a block that has the type or a constant of that name.
func constants(t *testing.T, dir, of string) (list []entry) {
	t.Helper()
	for _, file := range sources(t, dir) {
		for _, d := range file.Decls {
			block, is := d.(*ast.GenDecl)
			if !is || block.Tok != token.CONST || len(list) > 0 {
				continue
			}
			found := false
			var names []entry
			for _, s := range block.Specs {
				v := s.(*ast.ValueSpec)
				typed, _ := v.Type.(*ast.Ident)
				found = found || typed != nil && typed.Name == of || v.Names[0].Name == of
				c := entry{name: v.Names[0].Name, doc: comment(v.Names[0].Name, v.Doc, v.Comment)}
				if len(v.Values) > 0 {
					c.value = cmp.Or(text(v.Values[0]), types.ExprString(v.Values[0]))
				}
				names = append(names, c)
			}
			if found {
				list = names
			}
		}
	}
	if len(list) == 0 {
		t.Fatalf("package %s has no constants %s", dir, of)
	}
	return list
}

// text is the value of texts that are added, "" for anything else.
func text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, _ := strconv.Unquote(e.Value)
		return s
	case *ast.BinaryExpr:
		return text(e.X) + text(e.Y)
	}
	return ""
}

func texts(list []ast.Expr) (all []string) {
	for _, e := range list {
		all = append(all, text(e))
	}
	return all
}

// rowsOf are the rows of a table in the code: the first text of each, and the comment behind it.
func rowsOf(t *testing.T, dir, variable string) (rows [][]string) {
	t.Helper()
	for _, file := range sources(t, dir) {
		ast.Inspect(file, func(n ast.Node) bool {
			v, is := n.(*ast.ValueSpec)
			if !is || v.Names[0].Name != variable {
				return true
			}
			for _, e := range v.Values[0].(*ast.CompositeLit).Elts {
				cells := []ast.Expr{e}
				if row, is := e.(*ast.CompositeLit); is {
					cells = row.Elts
				}
				rows = append(rows, []string{code(text(cells[0])), behind(file, e)})
			}
			return false
		})
	}
	return rows
}

// behind is the comment behind a node, on its last line.
func behind(file *ast.File, n ast.Node) string {
	line := func(p token.Pos) int { return positions.Position(p).Line }
	for _, g := range file.Comments {
		if line(g.Pos()) == line(n.End()) && g.Pos() > n.Pos() {
			return sentence(g.Text())
		}
	}
	return ""
}

// inFunc calls f with each node of a function or method, in order.
func inFunc(t *testing.T, dir, name string, f func(*ast.File, ast.Node)) {
	t.Helper()
	for _, file := range sources(t, dir) {
		for _, d := range file.Decls {
			if fn, is := d.(*ast.FuncDecl); is && fn.Name.Name == name {
				ast.Inspect(fn, func(n ast.Node) bool { f(file, n); return true })
				return
			}
		}
	}
	t.Fatalf("package %s has no function %s", dir, name)
}

// cases are the names that a function returns, by the names that it compares with, and by "" otherwise.
func cases(t *testing.T, dir, function string) map[string]string {
	of, names := map[string]string{}, []string{""}
	inFunc(t, dir, function, func(_ *ast.File, n ast.Node) {
		switch n := n.(type) {
		case *ast.CaseClause:
			names = nil
			for _, e := range n.List {
				names = append(names, types.ExprString(e))
			}
		case *ast.ReturnStmt:
			for _, name := range names {
				of[name] = n.Results[0].(*ast.SelectorExpr).Sel.Name
			}
			names = []string{""}
		}
	})
	return of
}

// A metric is one that the source declares, by NewGauge or NewCounter or with the options of client_golang.
type metric struct {
	name   string
	labels []string
	help   string
}

func metricsIn(t *testing.T, paths ...string) (list []metric) {
	t.Helper()
	for _, path := range paths {
		ast.Inspect(parsed(t, filepath.Dir(path))[filepath.ToSlash(path)], func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is || len(call.Args) == 0 || !newMetric.MatchString(types.ExprString(call.Fun)) {
				return true
			}
			if options, is := call.Args[0].(*ast.CompositeLit); is {
				m := metric{}
				for _, e := range options.Elts {
					switch kv := e.(*ast.KeyValueExpr); kv.Key.(*ast.Ident).Name {
					case "Name":
						m.name = text(kv.Value)
					case "Help":
						m.help = text(kv.Value)
					}
				}
				if len(call.Args) > 1 {
					if labels, is := call.Args[1].(*ast.CompositeLit); is {
						m.labels = texts(labels.Elts)
					}
				}
				list = append(list, m)
			} else if all := texts(call.Args); all[0] != "" {
				list = append(list, metric{"profguard_" + all[0], all[2:], all[1]})
			}
			return true
		})
	}
	return list
}

var newMetric = regexp.MustCompile(`(?i)\bnew(gauge|counter)`)

// An attribute is one of an event, or three of a function.
type attribute struct {
	names  []string // in OpenTelemetry
	logged string
	doc    string
}

// attributesIn are those that Event.attributes adds, with the comments behind.
func attributesIn(t *testing.T) (list []attribute) {
	var ends []string // of the three names of a function
	inFunc(t, "guard", "attributes", func(file *ast.File, n ast.Node) {
		call, is := n.(*ast.CallExpr)
		if !is || len(call.Args) != 3 {
			return
		}
		a := attribute{logged: text(call.Args[1]), doc: behind(file, call)}
		if variable, is := call.Args[1].(*ast.Ident); is { // it has the name of what it holds
			a.logged = variable.Name
		}
		name := text(call.Args[0])
		switch fun := types.ExprString(call.Fun); {
		case fun == "add" && strings.HasPrefix(name, "."):
			ends = append(ends, name)
			return
		case fun == "add" && name != "":
			a.names = []string{name}
		case fun == "frame":
			a.logged = text(call.Args[2])
			for _, end := range ends {
				a.names = append(a.names, text(call.Args[1])+end)
			}
		case fun != "add":
			return
		}
		list = append(list, a)
	})
	return list
}

// loggedAtStart are the values of the line that Start logs.
func loggedAtStart(t *testing.T) (list []attribute) {
	inFunc(t, "guard", "announce", func(file *ast.File, n ast.Node) {
		if call, is := n.(*ast.CallExpr); is && len(call.Args) == 2 && strings.HasPrefix(types.ExprString(call.Fun), "slog.") {
			list = append(list, attribute{logged: text(call.Args[0]), doc: behind(file, call)})
		}
	})
	return list
}

// A structure is a struct that the reader fills in.
type structure struct {
	name   string
	fields []entry
}

// structs are the structs of those names, each followed by the structs of its fields.
func structs(t *testing.T, names ...string) (list []structure) {
	t.Helper()
	known := map[string]*ast.StructType{}
	for _, file := range append(sources(t, "budget"), sources(t, "guard")...) {
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, is := n.(*ast.TypeSpec); is {
				if s, is := spec.Type.(*ast.StructType); is {
					known[spec.Name.Name] = s
				}
			}
			return true
		})
	}
	for len(names) > 0 {
		s := structure{name: names[0]}
		var inside []string
		for _, f := range known[s.name].Fields.List {
			for _, name := range f.Names {
				d := entry{name: name.Name, kind: typeOf(f.Type), doc: comment(name.Name, f.Doc, f.Comment)}
				if m := defaultsTo.FindStringSubmatch(d.doc); m != nil {
					d.value, d.doc = m[1], sentence(defaultsTo.ReplaceAllString(d.doc, "$2"))
				}
				if s.fields = append(s.fields, d); known[d.kind] != nil && name.IsExported() {
					inside = append(inside, d.kind)
				}
			}
		}
		list, names = append(list, s), append(inside, names[1:]...)
	}
	return list
}

func typeOf(e ast.Expr) string {
	if _, is := e.(*ast.InterfaceType); is {
		return "interface"
	}
	return types.ExprString(e)
}

// defaultsInCode are the defaults that the code takes with cmp.Or(x.Field, value), by structure and field.
func defaultsInCode(t *testing.T) map[string]string {
	t.Helper()
	known := []string{"time.Second", "1e9", "time.Minute", "60e9", "time.Hour", "3600e9", "c.Every", "60e9", "c.Window", "0"} // in this order
	for _, c := range append(constants(t, "guard", "minWindow"), constants(t, "internal/check", "defaultMax")...) {
		known = append(known, c.name, strings.NewReplacer(known...).Replace(c.value))
	}
	numbers := strings.NewReplacer(known...)
	defaults := map[string]string{}
	for path, structure := range map[string]string{
		"guard/config.go": "Config", "guard/start.go": "DumpLimits", "internal/dumps/dump.go": "DumpLimits", "internal/check/check.go": "Checker",
	} {
		ast.Inspect(parsed(t, filepath.Dir(path))[filepath.FromSlash(path)], func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is || types.ExprString(call.Fun) != "cmp.Or" {
				return true
			}
			field, is := call.Args[0].(*ast.SelectorExpr)
			expr := types.ExprString(call.Args[1])
			if v, err := types.Eval(positions, nil, token.NoPos, numbers.Replace(expr)); is && err == nil && v.Value != nil {
				n, _ := constant.Float64Val(constant.ToFloat(v.Value))
				defaults[structure+"."+field.Sel.Name] = shown(n, numbers.Replace(expr) != expr)
			}
			return true
		})
	}
	if len(defaults) < 7 {
		t.Errorf("expected the defaults of at least 7 fields in the code, found %q", defaults)
	}
	return defaults
}

// shown is a number as comments have it.
func shown(n float64, duration bool) string {
	switch {
	case duration:
		s := strings.TrimSuffix(time.Duration(n).String(), "0s")
		if s == "" || strings.HasSuffix(s, "m") || strings.HasSuffix(s, "h") {
			return strings.TrimSuffix(s, "0m")
		}
		return time.Duration(n).String()
	case n >= 1<<20:
		return strconv.FormatFloat(n/(1<<20), 'f', -1, 64) + " MiB"
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}

// goFolders are the folders below some that have Go files.
func goFolders(t *testing.T, roots ...string) (dirs []string) {
	t.Helper()
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if dir := filepath.Dir(path); strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && !slices.Contains(dirs, dir) && !strings.Contains(path, "testdata") {
				dirs = append(dirs, dir)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return dirs
}

// variablesIn are the variables of the environment that a package reads.
func variablesIn(t *testing.T, dir string) (names []string) {
	for _, file := range sources(t, dir) {
		ast.Inspect(file, func(n ast.Node) bool {
			if call, is := n.(*ast.CallExpr); is && slices.Contains([]string{"os.Getenv", "os.LookupEnv", "os.Environ"}, types.ExprString(call.Fun)) {
				names = append(names, strings.Join(texts(call.Args), ""))
			}
			return true
		})
	}
	return names
}

// A valued is a label that has a few values, with those that are there when a guard has started.
type valued struct {
	metric, label string
	values        []string
}

// A describer is a registry that remembers what it was given.
type describer struct {
	prometheus.Registerer
	descs chan *prometheus.Desc
}

func (d describer) Register(c prometheus.Collector) error {
	c.Describe(d.descs)
	return d.Registerer.Register(c)
}

// aGuard is a guard that was started and stopped: the metrics that it describes, and the values of its labels.
var aGuard = sync.OnceValues(func() (names []string, values []valued) {
	registry := prometheus.NewRegistry()
	to := describer{registry, make(chan *prometheus.Desc, 200)}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	g, err := guard.Start(guard.Config{
		Registerer: to, DumpDir: dir, OnEvent: func(guard.Event) {}, Logger: slog.New(slog.DiscardHandler),
		Budgets: budget.Must("no function above 90%", "main below 90%", "goroutines below 50000"),
	})
	if err != nil {
		panic(err)
	}
	defer g.Stop()
	close(to.descs)
	for d := range to.descs {
		names = append(names, regexp.MustCompile(`fqName: "(\w+)"`).FindStringSubmatch(d.String())[1])
	}
	slices.Sort(names)
	families, err := registry.Gather()
	if err != nil {
		panic(err)
	}
	for _, f := range families {
		of := map[string][]string{}
		for _, m := range f.Metric {
			for _, l := range m.Label {
				if v := l.GetValue(); !slices.Contains(of[l.GetName()], v) {
					of[l.GetName()] = append(of[l.GetName()], v)
				}
			}
		}
		for _, label := range []string{"additive", "outcome", "part", "result", "sink", "verdict"} { // of others there are any
			if list := of[label]; list != nil {
				slices.Sort(list)
				values = append(values, valued{f.GetName(), label, list})
			}
		}
	}
	return names, values
})

func describedByGuard() []string {
	names, _ := aGuard()
	return names
}

func valuesOfGuard() []valued {
	_, values := aGuard()
	return values
}
