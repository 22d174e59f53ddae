package scaffold

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/profguard/profguard/internal/pattern"
)

// otherVersions are entries on Go's own packages that this toolchain need not
// have: up to Go 1.25 the scheduler had exitsyscall0 and finalizers ran in
// runfinq; later HTTP/2 moved into a package of its own.
var otherVersions = []string{
	"runtime.exitsyscall0", "runtime.runfinq", "net/http/internal/http2.(*serverConn).*",
}

// TestListIsRight looks every entry on Go's own packages up in their source: a
// function that is renamed must not stay listed under a name that nobody has.
func TestListIsRight(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("no go command:", err)
	}
	src := filepath.Join(strings.TrimSpace(string(root)), "src")
	declared := map[string][]string{}
	checked := 0
	for _, e := range list {
		p, err := pattern.Parse(e.pattern)
		if err != nil {
			t.Errorf("%s: %v", e.pattern, err)
			continue
		}
		if first, _, _ := strings.Cut(e.pattern, "/"); strings.Contains(first, ".com") || strings.Contains(first, ".org") || first == "" {
			continue // of other modules; the nested module internal/integration checks those it has
		}
		if slices.Contains(otherVersions, e.pattern) {
			continue
		}
		pkg := pattern.PackageOf(e.pattern)
		if declared[pkg] == nil {
			declared[pkg] = declarations(t, filepath.Join(src, filepath.FromSlash(pkg)), pkg)
		}
		if checked++; !slices.ContainsFunc(declared[pkg], p.Match) {
			t.Errorf("%s is no function of Go's: it matches none of %d in %s", e.pattern, len(declared[pkg]), pkg)
		}
	}
	if checked < 40 {
		t.Errorf("%d entries were looked up, there are more", checked)
	}
}

// declarations lists the functions of a package as profiles name them.
func declarations(t *testing.T, dir, pkg string) []string {
	t.Helper()
	files, err := filepath.Glob(path.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := pkg + "." + fn.Name.Name
			if fn.Recv != nil {
				switch r := fn.Recv.List[0].Type.(type) {
				case *ast.Ident:
					name = pkg + "." + r.Name + "." + fn.Name.Name
				case *ast.StarExpr:
					if id, ok := r.X.(*ast.Ident); ok {
						name = pkg + ".(*" + id.Name + ")." + fn.Name.Name
					}
				}
			}
			names = append(names, name)
		}
	}
	return names
}

// TestListHasNoTwins: the first match decides, so a pattern that stands twice is
// a mistake.
func TestListHasNoTwins(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Patterns() {
		if seen[p] {
			t.Errorf("%s stands twice", p)
		}
		seen[p] = true
	}
}

// TestFirstMatchDecides: guard.Check's runner is listed before the rest of guard.
func TestFirstMatchDecides(t *testing.T) {
	m := NewMatcher()
	for name, want := range map[string]Class{
		"github.com/profguard/profguard/guard.runWork":       Runner,
		"github.com/profguard/profguard/guard.(*Guard).loop": Server,
		"net/http.HandlerFunc.ServeHTTP":                     Server,
		"main.app.ServeHTTP":                                 Handler,
		"runtime.asyncPreempt":                               Interrupt,
		"main.app.ServeHTTPS":                                Work,
		"main.(*app).ServeHTTP-fm":                           Handler,
		"main.main":                                          Root,
		"main.main.func1":                                    Work,
		"example.com/pb._Greeter_SayHello_Handler.func1":     Server,
		"example.com/pb.Greeter_SayHello_Handler":            Work,
		"main.work":                                          Work,
		"":                                                   Work,
	} {
		if got := m.Class(name); got != want {
			t.Errorf("Class(%q) = %d, want %d", name, got, want)
		}
	}
}
