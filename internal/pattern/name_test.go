package pattern

import (
	"strconv"
	"strings"
	"testing"
)

// Names as profiles of Go 1.27, 1.26 and older releases have them, with the package, and the words
// that follow it: "+" stands before what the compiler added. A name that is not Go's
// has none.
var nameTests = []struct {
	full, path, words string
}{
	{"main.main", "main", "main"},
	{"net/http.(*conn).serve", "net/http", "(*conn) serve"},
	{"net/http.HandlerFunc.ServeHTTP", "net/http", "HandlerFunc ServeHTTP"},
	{"net/http.(*conn).serve.func1", "net/http", "(*conn) serve +1"},
	{"main.F.func1", "main", "F +1"},
	{"main.F.func1.2.3", "main", "F +1 +2 +3"},
	{"main.F.func1.1-range1", "main", "F +1 +1 +-range1"},
	{"main.F-range1", "main", "F +-range1"},
	{"main.F-range1-range2.func3", "main", "F +-range1 +-range2 +3"},
	{"main.F.gowrap1", "main", "F +gowrap1"},
	{"main.F.deferwrap12", "main", "F +deferwrap12"},
	{"main.(*T).M-fm", "main", "(*T) M +-fm"},
	{"main.T.M-fm", "main", "T M +-fm"},
	{"main.Gen[go.shape.int]", "main", "Gen"},
	{"main.Gen[...]", "main", "Gen"},
	{"main.Gen[go.shape.struct { A int }]", "main", "Gen"},
	{`main.gen[go.shape.struct { A int "json:\"a]b.c/d\""; B net.IP }].func1`, "main", "gen +1"},
	{"main.(*T[go.shape.int]).Meth", "main", "(*T) Meth"},
	{"main.(*T[...]).Meth.func2", "main", "(*T) Meth +2"},
	{"main.T[go.shape.[]int].Meth", "main", "T Meth"},
	{"maps.Clone[go.shape.map[string]float64,go.shape.string,go.shape.float64]", "maps", "Clone"},
	{"crypto/ecdsa.verify[go.shape.*crypto/internal/nistec.P384Point]", "crypto/ecdsa", "verify"},
	{"main.(*T[...].func1", "main", "(*T) +1"},
	{"main.main.main.func1.func4", "main", "main main +1 +4"},
	{"main.main.main.func6.main.main.func6.func11.func12", "main", "main main +6 main main +6 +11 +12"},
	{"main.ranges.seq.ranges-range1.func2", "main", "ranges seq ranges +-range1 +2"},
	{"main.(*Conn).receive.(*Conn).mkReceive.func1", "main", "(*Conn) receive (*Conn) mkReceive +1"},
	{"main.f.(*T).M.func1", "main", "f (*T) M +1"},
	{"main.main.Set[go.shape.struct {}].All.func8", "main", "main Set All +8"},
	{"main.outer.later.func1.1", "main", "outer later +1 +1"},
	{"main.main.func5.1.later.1", "main", "main +5 +1 later +1"},
	{"main.later.1.1", "main", "later +1 +1"},
	{"main.gen[...].1.func2", "main", "gen +1 +2"},
	{"main.ranges-range1.1", "main", "ranges +-range1 +1"},
	{"main.ranges-range1-range1", "main", "ranges +-range1 +-range1"},
	{"example.com/lib/v2.Set[...].All.func1", "example.com/lib/v2", "Set All +1"},
	{"main.main.func6.func1.func1", "main", "main +6 +1 +1"},
	{"f.part.0", "f", "part +0"},
	{"main.init", "main", "init"},
	{"main.init.0", "main", "init +0"},
	{"main.init.0.func1", "main", "init +0 +1"},
	{"main.init.func1", "main", "init +1"},
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
		case mark, literal:
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

func TestIsLiteral(t *testing.T) {
	for name, want := range map[string]bool{
		"main.F.func1":                          true,
		"main.F.func1.2":                        true,
		"main.F.1":                              true, // of Go 1.27, where F was inlined into a literal
		"main.F.1.1":                            true,
		"main.Gen[...].1":                       true,
		"main.(*T).M.2":                         true,
		"main.F-range1":                         true,
		"main.F-range1-range1":                  true,
		"main.(*T).M-fm":                        true,
		"main.main.func5.1.later.1":             true, // of Go 1.26
		"main.(*T).M-fm.(*T).M.func1":           true,
		"main.F.func1.gowrap1":                  true,
		"main.init.func1":                       true,
		"main.init.0.func1":                     true,
		"main.glob..func1":                      true, // of Go 1.20
		"main.init.0":                           false,
		"main.init.1":                           false,
		"main.map.init.1":                       false,
		"main.F.gowrap1":                        false,
		"main.F.deferwrap1":                     false,
		"main.Gen[go.shape.struct { F.func1 }]": false,
		"gopkg.in/x%2e1.F":                      false,
		"example.com/a.1/b.F":                   false,
		"f.part.0":                              false, // of a C compiler
		"_ZN6__tsan3fooEv":                      false,
		"main.F":                                false,
		"main.function1":                        false,
		"":                                      false,
	} {
		if got := IsLiteral(name); got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
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

// TestQuote: what a report proposes for an "except" matches the function.
func TestQuote(t *testing.T) {
	for name, want := range map[string]string{
		"main.(*T).f": "main.(*T).f",
		"main.Map[go.shape.struct { A int; B string }]":                          "main.Map",
		"connectrpc.com/connect.(*ServerStream[go.shape.07aaf4e05d5329fd]).Send": "connectrpc.com/connect.(*ServerStream).Send",
		"operator new(unsigned long)":                                            `"operator new(unsigned long)"`,
	} {
		got := Quote(name)
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		text, err := strconv.Unquote(got)
		if err != nil {
			text = got
		}
		if p, err := Parse(text); err == nil && !p.Match(name) {
			t.Errorf("%s does not match %s", got, name)
		}
	}
}
