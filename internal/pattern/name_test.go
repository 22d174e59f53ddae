package pattern

import (
	"strings"
	"testing"
)

// Names as Go 1.26 profiles and older ones have them, with the package, and the words
// that follow it: "+" stands before what the compiler added. A name that is not Go's
// has none.
var nameTests = []struct {
	full, path, words string
}{
	{"main.main", "main", "main"},
	{"net/http.(*conn).serve", "net/http", "(*conn) serve"},
	{"net/http.HandlerFunc.ServeHTTP", "net/http", "HandlerFunc ServeHTTP"},
	{"net/http.(*conn).serve.func1", "net/http", "(*conn) serve +func1"},
	{"main.F.func1", "main", "F +func1"},
	{"main.F.func1.2.3", "main", "F +func1 +2 +3"},
	{"main.F.func1.1-range1", "main", "F +func1 +1 +-range1"},
	{"main.F-range1", "main", "F +-range1"},
	{"main.F-range1-range2.func3", "main", "F +-range1 +-range2 +func3"},
	{"main.F.gowrap1", "main", "F +gowrap1"},
	{"main.F.deferwrap12", "main", "F +deferwrap12"},
	{"main.(*T).M-fm", "main", "(*T) M +-fm"},
	{"main.T.M-fm", "main", "T M +-fm"},
	{"main.Gen[go.shape.int]", "main", "Gen"},
	{"main.Gen[...]", "main", "Gen"},
	{"main.Gen[go.shape.struct { A int }]", "main", "Gen"},
	{`main.gen[go.shape.struct { A int "json:\"a]b.c/d\""; B net.IP }].func1`, "main", "gen +func1"},
	{"main.(*T[go.shape.int]).Meth", "main", "(*T) Meth"},
	{"main.(*T[...]).Meth.func2", "main", "(*T) Meth +func2"},
	{"main.T[go.shape.[]int].Meth", "main", "T Meth"},
	{"maps.Clone[go.shape.map[string]float64,go.shape.string,go.shape.float64]", "maps", "Clone"},
	{"crypto/ecdsa.verify[go.shape.*crypto/internal/nistec.P384Point]", "crypto/ecdsa", "verify"},
	{"main.(*T[...].func1", "main", "(*T) +func1"},
	{"main.main.main.func1.func4", "main", "main main +func1 +func4"},
	{"main.main.main.func6.main.main.func6.func11.func12", "main", "main main +func6 main main +func6 +func11 +func12"},
	{"main.ranges.seq.ranges-range1.func2", "main", "ranges seq ranges +-range1 +func2"},
	{"main.(*Conn).receive.(*Conn).mkReceive.func1", "main", "(*Conn) receive (*Conn) mkReceive +func1"},
	{"main.f.(*T).M.func1", "main", "f (*T) M +func1"},
	{"main.main.Set[go.shape.struct {}].All.func8", "main", "main Set All +func8"},
	{"main.outer.later.func1.1", "main", "outer later +func1 +1"},
	{"main.main.func5.1.later.1", "main", "main +func5 +1 later +1"},
	{"main.init", "main", "init"},
	{"main.init.0", "main", "init +0"},
	{"main.init.0.func1", "main", "init +0 +func1"},
	{"main.init.func1", "main", "init +func1"},
	{"main.map.init.0", "main", "map init +0"},
	{"gopkg.in/yaml%2ev3.(*Decoder).Decode", "gopkg.in/yaml.v3", "(*Decoder) Decode"},
	{"example.com/a%25b%zz.F", "example.com/a%25b%zz", "F"},
	{"example.com/x.y/z.F", "example.com/x.y/z", "F"},
	{"example.com/x_test.TestF", "example.com/x_test", "TestF"},
	{"example.com/x%2etest.init", "example.com/x.test", "init"},
	{"plugin/unnamed-0a1b.F", "plugin/unnamed-0a1b", "F"},
	{"example.com/a/vendor/tailscale.com/portlist.F", "tailscale.com/portlist", "F"},
	{"vendor/golang.org/x/net/idna.F", "golang.org/x/net/idna", "F"},
	{"example.com/go-cmp/range-fm.F", "example.com/go-cmp/range-fm", "F"},
	{"runtime._ExternalCode", "runtime", "_ExternalCode"},
	{"main._Cfunc_x", "main", "_Cfunc_x"},
	{"", "", ""},
	{"_Cfunc_x", "", "_Cfunc_x"},
	{"memcpy", "", "memcpy"},
	{"std::foo<int>(char const*, ...)", "", ""},
	{"foo(int, ...)", "", ""},
	{"operator new(unsigned long)", "", ""},
	{"(anonymous namespace)::f", "", ""},
	{"core::fmt::Write.x", "", ""},
	{"[libc.so.6]", "", ""},
	{"/usr/lib/libc.so", "", ""},
	{"<unknown>", "", ""},
	{"type:.eq.main.T", "", ""},
	{"type:.hash.net/netip.AddrPort", "", ""},
	{"go:(*struct { main.T }).M", "", ""},
	{"main.", "", ""},
	{"main..", "main", ""},
}

func words(s *symbol) string {
	var list []string
	for _, seg := range s.segments {
		text := seg.text
		switch seg.kind {
		case pointer:
			text = "(*" + text + ")"
		case mark:
			text = "+" + text
		}
		list = append(list, text)
	}
	return strings.Join(list, " ")
}

func TestParseName(t *testing.T) {
	for _, test := range nameTests {
		s := parseName(test.full, nil)
		if got := words(&s); s.path != test.path || got != test.words {
			t.Errorf("%q is %q in %q, want %q in %q", test.full, got, s.path, test.words, test.path)
		}
		if pkg := PackageOf(test.full); pkg != test.path {
			t.Errorf("PackageOf(%q) = %q, want %q", test.full, pkg, test.path)
		}
	}
}

func FuzzParseName(f *testing.F) {
	for _, test := range nameTests {
		f.Add(test.full)
	}
	f.Fuzz(func(t *testing.T, full string) {
		s := parseName(full, nil)
		if PackageOf(full) != s.path {
			t.Errorf("PackageOf(%q) = %q, the symbol's is %q", full, PackageOf(full), s.path)
		}
	})
}
