package profguard_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/profguard/profguard/internal/golden"
)

const module = "github.com/profguard/profguard"

// pkg is what go list tells of a package.
type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func list(t *testing.T, args ...string) []pkg {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports,Deps"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); err == io.EOF {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

func isBelow(path, tree string) bool { return path == tree || strings.HasPrefix(path, tree+"/") }

// TestDependenciesPointOneWay keeps guard -> internal -> budget -> its leaves,
// and Prometheus and OpenTelemetry in guard.
func TestDependenciesPointOneWay(t *testing.T) {
	// What budget stands on. These import nothing of ours but each other.
	leaves := map[string]bool{}
	for _, name := range []string{"decode", "evidence", "kinds", "names", "pattern", "spelling", "unit", "charge", "alert", "tree", "release", "judge", "words", "bridge"} {
		leaves[module+"/internal/"+name] = true
	}
	// The probe is an exporter.
	prometheusIn := map[string]bool{"internal/series": true, "internal/probe": true, "internal/registry": true, "internal/registrytest": true, "cmd/profguard": true}
	for _, p := range list(t, "./...") {
		rel := strings.TrimPrefix(p.ImportPath, module+"/")
		for _, dep := range p.Deps {
			switch {
			case isBelow(rel, "guard"), isBelow(rel, "examples"):
			case isBelow(dep, module+"/guard"):
				t.Errorf("%s depends on %s: only examples may stand on guard", rel, dep)
			case rel == "internal/work" && (dep == module+"/budget" || dep == module+"/internal/judge"):
				t.Errorf("%s depends on %s: whose samples are is no question of budgets", rel, dep)
			case prometheusIn[rel] && isBelow(dep, "github.com/prometheus"):
			case isBelow(dep, "github.com/prometheus"), isBelow(dep, "go.opentelemetry.io"):
				t.Errorf("%s depends on %s: only guard knows where things go to", rel, dep)
			}
			if ours := strings.HasPrefix(dep, module+"/"); ours && (rel == "budget" || leaves[p.ImportPath]) && !leaves[dep] {
				t.Errorf("%s depends on %s: budget stands on pure leaves alone", rel, dep)
			}
			if dep == "runtime/pprof" && rel == "budget" {
				t.Errorf("%s links the runtime's profiles: that of the heap makes the runtime sample allocations, in every program", rel)
			}
			if dep == "testing" && (rel == "guard" || rel == "budget") {
				t.Errorf("%s links package testing into production binaries", rel)
			}
		}
	}
}

// TestImports shows a new arrow between packages in review.
func TestImports(t *testing.T) {
	var b strings.Builder
	for _, p := range list(t, "./...") {
		rel := strings.TrimPrefix(p.ImportPath, module+"/")
		if isBelow(rel, "examples") {
			continue
		}
		var ours []string
		for _, dep := range p.Imports {
			if name, is := strings.CutPrefix(dep, module+"/"); is {
				ours = append(ours, name)
			}
		}
		fmt.Fprintf(&b, "%s: %s\n", rel, strings.Join(ours, " "))
	}
	golden.Compare(t, "imports.txt", b.String())
}

// TestModulesAreChosen keeps the importer's go.mod small.
func TestModulesAreChosen(t *testing.T) {
	allowed := map[string]string{
		"github.com/google/pprof":             "profile, the public type and the oracle in tests",
		"github.com/klauspost/compress":       "gzip without garbage; client_golang needs it too",
		"github.com/prometheus/client_golang": "metrics",
		"github.com/prometheus/client_model":  "what a registry of client_golang holds, for units of work",
		"go.opentelemetry.io/otel":            "attributes and the global provider",
		"go.opentelemetry.io/otel/log":        "events",
		"google.golang.org/protobuf":          "protowire",
		"golang.org/x/sys":                    "what the kernel says",
		"golang.org/x/tools":                  "txtar, in tests",
		"github.com/google/go-cmp":            "tests",
		"go.uber.org/goleak":                  "tests",
	}
	out, err := exec.Command("go", "list", "-m", "-f", "{{if not .Indirect}}{{.Path}}{{end}}", "all").Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.FieldsSeq(string(out)) {
		if path == module {
			continue
		}
		if direct(t, path) && allowed[path] == "" {
			t.Errorf("go.mod requires %s: say in this test what for, or put what needs it into a nested module", path)
		}
	}
}

// direct reports whether go.mod itself requires the module.
func direct(t *testing.T, path string) bool {
	t.Helper()
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(f) >= 2 && f[0] == path {
			return !strings.Contains(line, "// indirect")
		}
	}
	return false
}

// TestAPI shows a change of the public surface in review.
func TestAPI(t *testing.T) {
	var b strings.Builder
	exporters, err := filepath.Glob("export/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range append([]string{"budget", "guard", "label"}, exporters...) {
		dir = filepath.ToSlash(dir)
		names := exported(t, dir)
		fmt.Fprintf(&b, "# package %s\n\n%s\n\n", dir, strings.Join(names, "\n"))
	}
	golden.Compare(t, "api.txt", b.String())
}

// exported lists a package's exported names, and beneath types their fields and
// methods.
func exported(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	top := map[string][]string{}
	fset := token.NewFileSet()
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, filepath.Join(dir, e.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			declared(d, top)
		}
	}
	var names []string
	for name := range top {
		names = append(names, name)
	}
	slices.Sort(names)
	var out []string
	for _, name := range names {
		members := top[name]
		slices.Sort(members)
		out = append(out, name)
		for _, m := range members {
			out = append(out, "  "+m)
		}
	}
	return out
}

func declared(d ast.Decl, top map[string][]string) {
	add := func(name, member string) {
		if !ast.IsExported(name) {
			return
		}
		if member == "" {
			top[name] = append(top[name], nil...)
		} else if ast.IsExported(member) {
			top[name] = append(top[name], member)
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			add(d.Name.Name, "")
			return
		}
		recv := d.Recv.List[0].Type
		if star, ok := recv.(*ast.StarExpr); ok {
			recv = star.X
		}
		if id, ok := recv.(*ast.Ident); ok && ast.IsExported(id.Name) {
			add(id.Name, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					add(n.Name, "")
				}
			case *ast.TypeSpec:
				add(s.Name.Name, "")
				var fields *ast.FieldList
				switch typ := s.Type.(type) {
				case *ast.StructType:
					fields = typ.Fields
				case *ast.InterfaceType:
					fields = typ.Methods
				}
				if fields == nil {
					continue
				}
				for _, f := range fields.List {
					for _, n := range f.Names {
						add(s.Name.Name, n.Name)
					}
				}
			}
		}
	}
}

// TestServicesLinkNoTests keeps what only a test needs out of services: where nothing but Check refers to it, the
// linker leaves it out. TestSize of internal/peerbench looks at a binary.
func TestServicesLinkNoTests(t *testing.T) {
	for source, want := range map[string]bool{
		`package guard; import _ "` + module + `/internal/check"`: true,
		`package guard; import _ "` + module + `/internal/loop"`:  false,
	} {
		if got := importsTests(t, "planted.go", source); got != want {
			t.Errorf("%s: found %t, want %t", source, got, want)
		}
	}
	files, err := filepath.Glob("guard/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") && file != filepath.Join("guard", "check.go") && importsTests(t, file, nil) {
			t.Errorf("%s imports what only a test needs: only guard/check.go may, as services do not call Check", file)
		}
	}
}

// importsTests reports whether a file imports what only a test needs. The source is that of the file, or given.
func importsTests(t *testing.T, file string, source any) bool {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool {
		path := strings.Trim(i.Path.Value, `"`)
		return isBelow(path, module+"/internal/check") || isBelow(path, module+"/internal/work") || path == "testing"
	})
}
