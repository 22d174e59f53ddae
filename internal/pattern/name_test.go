package pattern

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Names as Go 1.26 profiles and older ones have them.
var nameTests = []struct {
	full string
	want Name
}{
	{"main.main", Name{Package: "main", Func: "main"}},
	{"net/http.(*conn).serve", Name{Package: "net/http", Receiver: "conn", Pointer: true, Func: "serve"}},
	{"net/http.HandlerFunc.ServeHTTP", Name{Package: "net/http", Receiver: "HandlerFunc", Func: "ServeHTTP"}},
	{"net/http.(*conn).serve.func1", Name{"net/http", "conn", true, "serve", ".func1"}},
	{"main.F.func1", Name{Package: "main", Func: "F", Inner: ".func1"}},
	{"main.F.func1.2.3", Name{Package: "main", Func: "F", Inner: ".func1.2.3"}},
	{"main.F.func1.1-range1", Name{Package: "main", Func: "F", Inner: ".func1.1-range1"}},
	{"main.F-range1", Name{Package: "main", Func: "F", Inner: "-range1"}},
	{"main.F-range1-range2.func3", Name{Package: "main", Func: "F", Inner: "-range1-range2.func3"}},
	{"main.F.gowrap1", Name{Package: "main", Func: "F", Inner: ".gowrap1"}},
	{"main.F.deferwrap12", Name{Package: "main", Func: "F", Inner: ".deferwrap12"}},
	{"main.(*T).M-fm", Name{"main", "T", true, "M", "-fm"}},
	{"main.T.M-fm", Name{"main", "T", false, "M", "-fm"}},

	{"main.Gen[go.shape.int]", Name{Package: "main", Func: "Gen"}},
	{"main.Gen[...]", Name{Package: "main", Func: "Gen"}},
	{"main.Gen[go.shape.struct { A int }]", Name{Package: "main", Func: "Gen"}},
	{`main.gen[go.shape.struct { A int "json:\"a]b.c/d\""; B net.IP }].func1`, Name{Package: "main", Func: "gen", Inner: ".func1"}},
	{"main.(*T[go.shape.int]).Meth", Name{"main", "T", true, "Meth", ""}},
	{"main.(*T[...]).Meth.func2", Name{"main", "T", true, "Meth", ".func2"}},
	{"main.T[go.shape.[]int].Meth", Name{"main", "T", false, "Meth", ""}},
	{"maps.Clone[go.shape.map[string]float64,go.shape.string,go.shape.float64]", Name{Package: "maps", Func: "Clone"}},
	{"crypto/ecdsa.verify[go.shape.*crypto/internal/nistec.P384Point]", Name{Package: "crypto/ecdsa", Func: "verify"}},
	{"main.(*T[...].func1", Name{"main", "T", true, "func1", ""}}, // how tracebacks shorten (*T[A]).M[B].func1

	// The literals of inlined functions.
	{"main.main.main.func1.func4", Name{Package: "main", Func: "main", Inner: ".main.func1.func4"}},
	{"main.main.main.func6.main.main.func6.func11.func12", Name{Package: "main", Func: "main", Inner: ".main.func6.main.main.func6.func11.func12"}},
	{"main.ranges.seq.ranges-range1.func2", Name{Package: "main", Func: "ranges", Inner: ".seq.ranges-range1.func2"}},
	{"main.(*Conn).receive.(*Conn).mkReceive.func1", Name{"main", "Conn", true, "receive", ".(*Conn).mkReceive.func1"}},
	{"main.f.(*T).M.func1", Name{Package: "main", Func: "f", Inner: ".(*T).M.func1"}},
	{"main.main.Set[go.shape.struct {}].All.func8", Name{Package: "main", Func: "main", Inner: ".Set.All.func8"}},
	{"main.outer.later.func1.1", Name{"main", "outer", false, "later", ".func1.1"}}, // ambiguous, see Name.Inner
	{"main.main.func5.1.later.1", Name{Package: "main", Func: "main", Inner: ".func5.1.later.1"}},

	{"main.init", Name{Package: "main", Func: "init"}},
	{"main.init.0", Name{Package: "main", Func: "init", Inner: ".0"}},
	{"main.init.0.func1", Name{Package: "main", Func: "init", Inner: ".0.func1"}},
	{"main.init.func1", Name{Package: "main", Func: "init", Inner: ".func1"}},
	{"main.glob..func1", Name{Package: "main", Func: "init", Inner: ".func1"}},
	{"main.map.init.0", Name{Package: "main", Func: "init", Inner: ".map.0"}},

	{"gopkg.in/yaml%2ev3.(*Decoder).Decode", Name{"gopkg.in/yaml.v3", "Decoder", true, "Decode", ""}},
	{"gopkg.in/yaml.v3.Unmarshal", Name{Package: "gopkg.in/yaml.v3", Func: "Unmarshal"}},
	{"example.com/a%25b%zz.F", Name{Package: "example.com/a%b%zz", Func: "F"}},
	{"example.com/x.y/z.F", Name{Package: "example.com/x.y/z", Func: "F"}},
	{"example.com/x_test.TestF", Name{Package: "example.com/x_test", Func: "TestF"}},
	{"example.com/x%2etest.init", Name{Package: "example.com/x.test", Func: "init"}},
	{"plugin/unnamed-0a1b.F", Name{Package: "plugin/unnamed-0a1b", Func: "F"}},
	{"example.com/a/vendor/tailscale.com/portlist.F", Name{Package: "tailscale.com/portlist", Func: "F"}},
	{"vendor/golang.org/x/net/idna.F", Name{Package: "golang.org/x/net/idna", Func: "F"}},
	{"example.com/go-cmp/range-fm.F", Name{Package: "example.com/go-cmp/range-fm", Func: "F"}},
	{"main.(*local·1).M", Name{"main", "local", true, "M", ""}},
	{"runtime._ExternalCode", Name{Package: "runtime", Func: "_ExternalCode"}},
	{"main._Cfunc_x", Name{Package: "main", Func: "_Cfunc_x"}},

	{"", Name{}},
	{"_Cfunc_x", Name{Func: "_Cfunc_x"}},
	{"memcpy", Name{Func: "memcpy"}},
	{"std::foo<int>(char const*, ...)", Name{Func: "std::foo<int>(char const*, ...)"}},
	{"foo(int, ...)", Name{Func: "foo(int, ...)"}},
	{"operator new(unsigned long)", Name{Func: "operator new(unsigned long)"}},
	{"(anonymous namespace)::f", Name{Func: "(anonymous namespace)::f"}},
	{"core::fmt::Write.x", Name{Func: "core::fmt::Write.x"}},
	{"[libc.so.6]", Name{Func: "[libc.so.6]"}},
	{"/usr/lib/libc.so", Name{Func: "/usr/lib/libc.so"}},
	{"<unknown>", Name{Func: "<unknown>"}},
	{"type:.eq.main.T", Name{Func: "type:.eq.main.T"}},
	{"type:.hash.net/netip.AddrPort", Name{Func: "type:.hash.net/netip.AddrPort"}},
	{"go:(*struct { main.T }).M", Name{Func: "go:(*struct { main.T }).M"}},
	{"main.", Name{Func: "main."}},
	{"main..", Name{Package: "main", Func: "main.."}},
}

func TestParseName(t *testing.T) {
	for _, test := range nameTests {
		got := ParseName(test.full)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("ParseName(%q): -want +got\n%s", test.full, diff)
		}
		if pkg := PackageOf(test.full); pkg != test.want.Package {
			t.Errorf("PackageOf(%q) = %q, want %q", test.full, pkg, test.want.Package)
		}
	}
}

func TestNameString(t *testing.T) {
	for full, want := range map[string]string{
		"net/http.(*conn).serve.func1":                     "net/http.(*conn).serve.func1",
		"gopkg.in/yaml%2ev3.Gen[go.shape.int].func1":       "gopkg.in/yaml.v3.Gen.func1",
		"a/vendor/b.T.M-fm":                                "b.T.M-fm",
		"main.F-range1.func2":                              "main.F-range1.func2",
		"memcpy":                                           "memcpy",
		"main.(*Conn).receive.(*Conn[int]).mkReceive.func": "main.(*Conn).receive.(*Conn).mkReceive.func",
	} {
		if got := ParseName(full).String(); got != want {
			t.Errorf("ParseName(%q).String() = %q, want %q", full, got, want)
		}
	}
}

func TestDisplay(t *testing.T) {
	for full, want := range map[string]string{
		"main.F": "main.F",
		"gopkg.in/yaml%2ev3.(*Box[go.shape.[]int]).Put.Gen[string].func1": "gopkg.in/yaml.v3.(*Box[...]).Put.Gen[...].func1",
		"main.f[broken":           "main.f[...]",
		"a/vendor/b/c.F":          "b/c.F",
		"std::vector<int>::at":    "std::vector<int>::at",
		"[vdso]":                  "[vdso]",
		`main.g[struct{"]"}].1`:   "main.g[...].1",
		"example.com/a%2eb/c.F":   "example.com/a.b/c.F",
		"example.com/a%2eb.F[x]y": "example.com/a.b.F[...]y",
	} {
		if got := Display(full); got != want {
			t.Errorf("Display(%q) = %q, want %q", full, got, want)
		}
	}
}

func FuzzParseName(f *testing.F) {
	for _, test := range nameTests {
		f.Add(test.full)
	}
	f.Fuzz(func(t *testing.T, full string) {
		name := ParseName(full)
		if PackageOf(full) != name.Package {
			t.Errorf("PackageOf(%q) = %q, ParseName says %q", full, PackageOf(full), name.Package)
		}
		if full != "" && name.Func == "" {
			t.Errorf("ParseName(%q) = %#v has no Func", full, name)
		}
		_ = name.String()
		_ = Display(full)
	})
}
