package guard

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
)

// TestOwnAllocationsOfWindows is the same with the real profiler. What it writes
// takes a megabyte or two a window, of which one allocation in 512 KiB is seen.
func TestOwnAllocationsOfWindows(t *testing.T) {
	if testing.Short() {
		t.Skip("measures allocations for seconds")
	}
	g, err := Start(Config{
		Registerer: prometheus.NewRegistry(), Logger: slog.New(slog.DiscardHandler), Every: time.Second, Window: time.Second,
		Budgets: budget.Must(
			"own: runtime/pprof.profileWriter below 99% of allocs",
			"planted: guard.allocateMuch below 99% of allocs",
			"cpu: no function above 99%", // so that there are CPU profiles
		),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Stop()
	eventually(t, "three windows", func() bool {
		for range 100 {
			allocateMuch()
		}
		runtime.GC()
		time.Sleep(20 * time.Millisecond) // some dozens of collections a window are enough
		b := g.Status().Budgets[1]
		return b.Verdicts["pass"]+b.Verdicts["fail"]+b.Verdicts["inconclusive"] >= 3 && b.Hits > 0
	})
	if b := g.Status().Budgets[0]; b.Hits > 0 {
		t.Errorf("the guard names itself: %s", b.Result)
	}
	if warning := g.Status().Budgets[0].Warning; strings.Contains(warning, "no function linked") {
		t.Errorf("the test proves nothing: %s", warning)
	}
}

// TestOwnAllocationsAreNotCounted is about a program with little to do, which allocates 100 KiB for
// each of its 50 orders a second. The guard allocates some megabytes a window.
func TestOwnAllocationsAreNotCounted(t *testing.T) {
	if testing.Short() {
		t.Skip("measures allocations for seconds")
	}
	var orders atomic.Int64
	g, err := Start(Config{
		Registerer: prometheus.NewRegistry(), Logger: slog.New(slog.DiscardHandler), Every: time.Second, Window: time.Second,
		Work: map[string]func() float64{"order": func() float64 { return float64(orders.Load()) }},
		Budgets: budget.Must(
			"clean: process below 160KiB per order of allocs",
			"guilty: process below 60KiB per order of allocs",
			"no function above 99%", // so that there are CPU profiles
			"no function above 99% of allocs",
		),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Stop()
	eventually(t, "three windows", func() bool {
		for range 50 { // a look at the status allocates as well
			time.Sleep(20 * time.Millisecond)
			order := make([]byte, 100<<10)
			sinkOfBytes.Store(&order)
			orders.Add(1)
		}
		b := g.Status().Budgets[0]
		return b.Verdicts["pass"]+b.Verdicts["fail"] >= 3
	})
	list := g.Status().Budgets
	for i, wrong := range []string{"fail", "pass"} {
		if list[i].Verdicts[wrong] > 0 {
			t.Errorf("%v: %s", list[i].Verdicts, list[i].Result)
		}
	}
}

// What a go statement of profguard starts is known as its own, so that no sample of such a
// goroutine is taken for the program's: a function that is renamed is not forgotten. Check
// runs work of a test on its goroutines.
func TestOwnGoroutinesAreKnown(t *testing.T) {
	started := 0
	for _, path := range linkedPackages(t) {
		dir := "../" + path
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(files), err)
		}
		methods := map[string][]string{} // by name
		var functions []*ast.FuncDecl
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok {
					functions = append(functions, f)
					methods[f.Name.Name] = append(methods[f.Name.Name], "github.com/profguard/profguard/"+path+"."+receiver(f)+f.Name.Name)
				}
			}
		}
		for _, f := range functions {
			ast.Inspect(f, func(n ast.Node) bool {
				var begins ast.Expr
				switch n := n.(type) {
				case *ast.GoStmt:
					begins = n.Call.Fun
				case *ast.CallExpr: // of a sync.WaitGroup
					if called, ok := n.Fun.(*ast.SelectorExpr); ok && called.Sel.Name == "Go" && len(n.Args) == 1 {
						begins = n.Args[0]
					}
				}
				if begins == nil {
					return true
				}
				started++
				var names []string
				switch called := begins.(type) {
				case *ast.FuncLit:
					names = []string{"github.com/profguard/profguard/" + path + "." + receiver(f) + f.Name.Name + ".func1"}
				case *ast.Ident:
					names = methods[called.Name]
				case *ast.SelectorExpr:
					names = methods[called.Sel.Name]
				}
				if len(names) == 0 {
					t.Errorf("%s starts a goroutine in nobody knows what", f.Name.Name)
				}
				for _, name := range names {
					if !charge.IsOurs(name) {
						t.Errorf("%s may start %s, which is not in the list of package charge", f.Name.Name, name)
					}
				}
				return true
			})
		}
	}
	if started < 12 {
		t.Errorf("only %d go statements: the test proves little", started)
	}
}

// linkedPackages are the packages of this module in a program with a guard.
func linkedPackages(t *testing.T) []string {
	t.Helper()
	list, err := os.ReadFile("../testdata/imports.txt") // a test of the root keeps it true
	if err != nil {
		t.Fatal(err)
	}
	imports := map[string][]string{}
	for line := range strings.Lines(string(list)) {
		path, names, _ := strings.Cut(line, ":")
		imports[path] = strings.Fields(names)
	}
	linked := []string{"guard"}
	for i := 0; i < len(linked); i++ {
		for _, path := range imports[linked[i]] {
			// Those of a check run on goroutines of the test, and no guard calls them.
			if path != "internal/check" && path != "internal/work" && !slices.Contains(linked, path) {
				linked = append(linked, path)
			}
		}
	}
	return linked
}

// receiver is how the name of a method begins in a profile, "" of a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	switch of := f.Recv.List[0].Type.(type) {
	case *ast.StarExpr:
		return "(*" + of.X.(*ast.Ident).Name + ")."
	case *ast.Ident:
		return of.Name + "."
	}
	return ""
}

// hosts is the root of the goroutines on which the guard calls the program: its callbacks,
// counters and registry.
const hosts = "internal/foreign.Start.func1"

// aloneVar says that a test runs in a process of its own.
const aloneVar = "PROFGUARD_TEST_ALONE"

// TestNothingOwnIsLeft is about a process in which there is nobody but the guard, which has
// all of its parts at work. The memory that other tests have used is in its profiles for
// ever, so it is another process.
func TestNothingOwnIsLeft(t *testing.T) {
	if testing.Short() {
		t.Skip("takes real profiles for seconds")
	}
	if os.Getenv(aloneVar) == "" {
		t.Parallel()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNothingOwnIsLeft$", "-test.v")
		cmd.Env = append(os.Environ(), aloneVar+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("in a process of its own: %v\n%s", err, out)
		}
		return
	}
	runtime.MemProfileRate = 512
	runtime.SetBlockProfileRate(1)
	defer runtime.SetBlockProfileRate(0)
	registry := prometheus.NewRegistry()
	requests := prometheus.NewCounter(prometheus.CounterOpts{Name: "requests_total"})
	registry.MustRegister(requests)
	g, err := Start(Config{
		Registerer: registry, Logger: slog.New(slog.NewJSONHandler(new(bytes.Buffer), nil)), Every: time.Second, Window: time.Second, DumpDir: filepath.Join(t.TempDir(), "dumps"),
		OnEvent: func(Event) {}, Work: map[string]func() float64{"row": func() float64 { return 1 }},
		Budgets: budget.Must("rss below 1MiB", "goroutines below 1", "no function above 20% of allocs", "no function above 90%", "process below 1ms per requests_total", "process below 1ms per row"),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stopWhole(t, g)
	page := g.Handler()
	eventually(t, "a dump", func() bool {
		requests.Inc()
		for _, path := range []string{"/status.json", "/dumps.json"} {
			request := httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil)
			page.ServeHTTP(httptest.NewRecorder(), request)
		}
		if _, err := registry.Gather(); err != nil {
			t.Error(err)
		}
		time.Sleep(50 * time.Millisecond)
		return g.Status().Dumps["saved"] > 0 && g.Status().Windows["ok"] > 2
	})
	runtime.GC()
	runtime.GC()
	for _, kind := range []string{"allocs", "heap", "goroutine", "block"} {
		var data bytes.Buffer
		if err := pprof.Lookup(kind).WriteTo(&data, 0); err != nil {
			t.Fatal(err)
		}
		if own, left := ownSamples(t, data.Bytes()); own == 0 || len(left) > 0 {
			t.Errorf("%s: of %d samples of the guard's goroutines these are left: %s", kind, own, strings.Join(left, "\n"))
		}
	}
}

// ownSamples counts the samples of goroutines that profguard has started, and returns the
// stacks of those that WithoutOwn leaves although they are not of code of the program.
func ownSamples(t *testing.T, data []byte) (own int, left []string) {
	t.Helper()
	var d decode.Decoder
	table, err := d.Bytes(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, stack := range ownStacks(charge.WithoutOwn(table)) {
		if host := stack[0] == hosts && slices.Contains(stack, "internal/foreign.Call"); !host {
			left = append(left, strings.Join(stack, ";"))
		}
	}
	return len(ownStacks(table)), left
}

// ownStacks are the stacks of goroutines that profguard has started. Each begins with its
// outermost function that is not the runtime's, or its initialisation of packages.
func ownStacks(table *decode.Table) (stacks [][]string) {
	for _, s := range table.Samples {
		stack := []string{""}
		test := false
		for _, at := range table.Stacks[s.StackLo:s.StackHi] {
			for _, line := range table.Lines[table.Locations[at].LineLo:table.Locations[at].LineHi] {
				name := strings.TrimPrefix(table.Symbols.Name(line.Name), "github.com/profguard/profguard/")
				stack = append(stack, name)
				if !strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "runtime.doInit") {
					stack[0] = name
				}
				test = test || strings.HasSuffix(table.Symbols.Name(table.Funcs[line.Func].File), "_test.go")
			}
		}
		if root := stack[0]; !test && (strings.HasPrefix(root, "guard.") || strings.HasPrefix(root, "internal/")) && !charge.IsStandard(root) {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}
