package pattern_test

import (
	"bytes"
	"debug/elf"
	"debug/gosym"
	"go/version"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	"golang.org/x/tools/txtar"

	"github.com/profguard/profguard/internal/names"
	. "github.com/profguard/profguard/internal/pattern"
)

type realTest struct {
	tags  string
	match []string
	miss  []string
}

// realTests say which patterns match the frame that called main.record, for each
// construct of testdata/names.txtar by its tag.
var realTests = []realTest{
	{"plain", []string{"main", "plain", "main.plain"}, []string{"main.pla", "fmt"}},
	{"closure", []string{"main.closures", "closures", "main.closures.func1"}, []string{"main.closure", "main.closures.func2"}},
	{"nested", []string{"main.closures", "main.closures.func1", "main.closures.func1.1"}, []string{"main.closures.func1.2"}},
	{"nestedrange", []string{"main.closures", "main.closures.func1"}, []string{"main.seq"}},
	{"range rangeclosure rangerange", []string{"main.ranges", "ranges"}, []string{"main.range", "main.main"}},
	{"inlined inlinednested main mainnested", []string{"main.later", "later"}, []string{"main.late", "lib.later", "(*main)"}},
	{"inlinedlib", []string{"main.outerlib"}, []string{"main.outer"}},
	{"inlinedmethod", []string{"main.(*pointer).Later", "(*pointer)", "pointer.Later"}, []string{"main.Later", "main.Outer", "main.(*pointer).Late"}},
	{"value anonymous anonymouspointer hidden", []string{"main.value", "main.value.Meth", "value.Meth"}, []string{"main.Meth", "Meth", "(*value).Meth", "main.value.Hold"}},
	{"valueclosure", []string{"main.value.Hold", "main.value"}, []string{"main.value.Meth", "(*value)"}},
	{"pointer embedded fm ifacefm expression", []string{"main.(*pointer).Meth", "pointer.Meth", "main.pointer", "(*pointer)"}, []string{"main.Meth", "main.embedding", "main.(*pointer).Hold"}},
	{"pointerclosure", []string{"main.(*pointer).Hold", "pointer.Hold"}, []string{"main.(*pointer).Meth", "main.Hold"}},
	{"genint genstring genstruct genlocal gendotted", []string{"main.gen", "gen", "main.gen[int]"}, []string{"main.general", "main.gen.func1", "net", "dotted"}},
	{"genintclosure genstringclosure genstructclosure genlocalclosure", []string{"main.gen", "main.gen.func1"}, []string{"main.main"}},
	{"box boxstruct", []string{"main.(*box).Put", "box.Put", "main.box", "main.(*box[...]).Put"}, []string{"main.Put", "dotted.v3", "main.(*box).put"}},
	{"boxclosure boxstructclosure", []string{"main.(*box).Put", "main.(*box[...]).Put.func1"}, []string{"main.(*box).put"}},
	{"boxfm boxstructfm", []string{"main.(*box).put"}, []string{"main.(*box).Put"}},
	{"init initclosure varclosure mapvar", []string{"main.init", "main"}, []string{"main.initialise", "runtime.init"}},
	{"init", []string{"main.init.0"}, []string{"main.init.1"}},
	{"initclosure", []string{"main.init.1"}, []string{"main.init.0"}},
	{"go defer0 defer1", []string{"main.recordDone"}, []string{"main.record"}},
	{"goclosure", []string{"main.gowraps"}, []string{"main.gowrap"}},
	{"deferclosure", []string{"main.defers"}, []string{"main.defer"}},
	{"librange", []string{"main.main"}, []string{"lib.All"}},
	{"dotted dottedmethod", []string{"main.at"}, []string{"main.a"}},
	{"cgo", []string{"main.goRecord"}, []string{"main.cgo"}},
}

// A literal of a function that was inlined has the name that it has without inlining, with
// func1 or 1 in the end.
var inlinedTests = []realTest{
	{"inlined main", []string{"main.later.func1", "main.later.1"}, []string{"main.outer", "main.main", "main.later.func2"}},
	{"inlinednested mainnested", []string{"main.later.func1.1", "main.later.1.func1"}, []string{"main.outer", "main.main", "main.later.1.2"}},
	{"inlinedmethod", []string{"main.(*pointer).Later.func1"}, []string{"main.(*pointer).Outer"}},
	{"dotted dottedmethod", []string{"main.at.func1"}, []string{"main.main"}},
}

// Before Go 1.27 it has the name of the function in which it was compiled, too.
var inlinedTests126 = []realTest{
	{"inlined inlinednested", []string{"main.outer"}, []string{"main.main"}},
	{"main mainnested", []string{"main.main"}, []string{"main.outer"}},
	{"inlinedmethod", []string{"main.(*pointer).Outer"}, nil},
	{"dotted dottedmethod", []string{"main.main"}, nil},
}

// stackTests say which patterns match some frame of the stack.
var stackTests = []realTest{
	{"dotted", []string{"dotted", "dotted.v3", "gopkg.in/dotted.v3", "gopkg.in/dotted.v3.Unmarshal", "dotted.Unmarshal", "gopkg.in/..."}, []string{"v3", "gopkg.in/dotted", "dotted.v2", "dotted.v3.Marshal"}},
	{"dottedmethod", []string{"gopkg.in/dotted.v3.(*Doc).Decode", "(*Doc).Decode", "dotted.(*Doc)"}, []string{"dotted.(*Doc).Encode"}},
	{"libset", []string{"lib", "example.com/names/lib/v2.(*Set).Each", ".../lib/v2", "lib.Set"}, []string{"names", "names/lib/v2", "example.com/names/lib"}},
	{"libnested", []string{"lib.(*Set).Nested", "(*Set).Nested"}, []string{"lib.(*Set).Each"}},
	{"go", nil, []string{"main.gowraps"}},
	{"cgo", []string{"main.cgo", "main._Cfunc_from_c", "runtime.cgocall"}, []string{"main._Cfunc_from"}},
}

// TestRealNames builds and runs a program and matches the names that its
// profiles and tracebacks have.
func TestRealNames(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	dir := t.TempDir()
	archive, err := txtar.ParseFile("testdata/names.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range archive.Files {
		path := filepath.Join(dir, filepath.FromSlash(file.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, file.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	hasC := strings.TrimSpace(run(t, dir, nil, "go", "env", "CGO_ENABLED")) == "1"
	if compiler := strings.Fields(run(t, dir, nil, "go", "env", "CC")); hasC {
		_, err := exec.LookPath(compiler[0])
		hasC = err == nil
	}
	env := []string{"GOWORK=off", "GOFLAGS=-mod=mod", "GOPROXY=off", "GOTOOLCHAIN=local", "CGO_ENABLED=0"}
	if hasC {
		env[len(env)-1] = "CGO_ENABLED=1"
	}
	binary := filepath.Join(dir, "names.exe")
	run(t, dir, env, "go", "build", "-o", binary, ".")
	out := t.TempDir()
	run(t, dir, nil, binary, out)

	// The release that compiles the program is that of this test.
	inlined, later := inlinedTests, realTest{"inlinedlib", []string{"lib", "lib.Later.func1"}, []string{"main.Later"}}
	if version.Compare(runtime.Version(), "go1.27") < 0 {
		inlined, later = inlinedTests126, realTest{"inlinedlib", []string{"main.Later"}, []string{"lib"}}
	}
	each := func(tests []realTest, name string, frames int) {
		for _, test := range tests {
			for tag := range strings.FieldsSeq(test.tags) {
				t.Run(tag+name, func(t *testing.T) {
					if tag == "cgo" && !hasC {
						t.Skip("NO C COMPILER: names of cgo programs are not tested")
					}
					profiled, traced := stacks(t, out, tag)
					check(t, test.match, test.miss, profiled[:min(frames, len(profiled))])
					check(t, test.match, test.miss, traced[:min(frames, len(traced))])
				})
			}
		}
	}
	each(slices.Concat(realTests, inlined), "", 1)
	each(slices.Concat(stackTests, []realTest{later}), " stack", math.MaxInt)
	t.Run("linked", func(t *testing.T) { checkLinked(t, binary) })
}

// check matches patterns against names, of which at least one must match.
func check(t *testing.T, match, miss, names []string) {
	t.Helper()
	texts := slices.Concat(match, miss)
	for i, p := range mustParse(t, texts...) {
		if got, want := slices.ContainsFunc(names, p.Match), i < len(match); got != want {
			t.Errorf("%s matches %v, want %v: %q", texts[i], got, want, names)
		}
	}
}

// checkLinked uses all names in the program: thousands that nobody chose.
func checkLinked(t *testing.T, binary string) {
	if runtime.GOOS != "linux" {
		t.Skip("reads ELF")
	}
	file, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	data, err := file.Section(".gopclntab").Data()
	if err != nil {
		t.Fatal(err)
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, file.Section(".text").Addr))
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Funcs) < 2000 {
		t.Errorf("only %d functions", len(table.Funcs))
	}
	texts := []string{"golang.org/x/net/...", "dnsmessage", "runtime", "main", "(*pointer)", "*.Close", ".../atomic", "net.*", "/dns/", `"type:.eq.main.value"`}
	patterns, found := mustParse(t, texts...), make([]int, len(texts))
	ix := NewIndex(patterns)
	for _, f := range table.Funcs {
		want := matchAll(patterns, f.Name, nil)
		for _, i := range want {
			found[i]++
		}
		if diff := cmp.Diff(want, ix.Match(f.Name, nil)); diff != "" {
			t.Errorf("%q: -patterns +index\n%s", f.Name, diff)
		}
		pkg := names.PackageOf(f.Name)
		if strings.Contains(pkg+"/", "vendor/") || strings.ContainsAny(pkg, "[(%") {
			t.Errorf("%q is in package %q", f.Name, pkg)
		}
		// Every Go name pasted as a pattern means itself.
		if pkg == "" {
			continue
		}
		p, err := Parse(f.Name)
		if err != nil {
			t.Errorf("%v", err)
		} else if !p.Match(f.Name) {
			t.Errorf("%s does not match itself", f.Name)
		}
	}
	for i, n := range found[:len(found)-1] {
		if n == 0 {
			t.Errorf("%s matches nothing in the program", texts[i])
		}
	}
}

// stacks returns the frames from the caller of main.record on, as the goroutine
// profile and as runtime.CallersFrames name them.
func stacks(t *testing.T, dir, tag string) (profiled, traced []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, tag+".pb.gz"))
	if err != nil {
		t.Fatal(err)
	}
	prof, err := profile.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, sample := range prof.Sample {
		var names []string
		for _, location := range sample.Location {
			for _, line := range location.Line {
				names = append(names, line.Function.Name)
			}
		}
		if i := slices.Index(names, "main.record"); i >= 0 {
			profiled = names[i+1:]
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, tag+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	traced = strings.Split(string(text), "\n")
	traced = traced[slices.Index(traced, "main.record")+1:]
	if len(profiled) == 0 || len(traced) == 0 {
		t.Fatalf("%s: stacks %q and %q", tag, profiled, traced)
	}
	return profiled, traced
}

func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, stderr.Bytes())
	}
	return string(out)
}
