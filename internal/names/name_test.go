package names

import (
	"os"
	"strings"
	"testing"
)

// readNames reads testdata/names.tsv: names as profiles of Go 1.27, 1.26 and older releases have
// them, with the package, and the words that follow it: "+" stands before what the compiler added.
// A name that is not Go's has none.
func readNames(t testing.TB) (rows [][]string) {
	b, err := os.ReadFile("testdata/names.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return rows
}

func words(s *Name) string {
	var list []string
	for _, seg := range s.Segments {
		text := seg.Text
		switch seg.Kind {
		case Pointer:
			text = "(*" + text + ")"
		case Mark, Literal:
			text = "+" + text
		}
		list = append(list, text)
	}
	return strings.Join(list, " ")
}

func TestParse(t *testing.T) {
	for _, row := range readNames(t) {
		full, path, want := row[0], row[1], row[2]
		s := Parse(full, nil)
		if got := words(&s); s.Path != path || got != want {
			t.Errorf("%q is %q in %q, want %q in %q", full, got, s.Path, want, path)
		}
		if pkg := PackageOf(full); pkg != path {
			t.Errorf("PackageOf(%q) = %q, want %q", full, pkg, path)
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

func FuzzParse(f *testing.F) {
	for _, row := range readNames(f) {
		f.Add(row[0])
	}
	f.Fuzz(func(t *testing.T, full string) {
		s := Parse(full, nil)
		if PackageOf(full) != s.Path {
			t.Errorf("PackageOf(%q) = %q, the name's is %q", full, PackageOf(full), s.Path)
		}
	})
}

func TestFold(t *testing.T) {
	for name, want := range map[string]string{
		"main.serve":                                   "main.serve",
		"main.serve.func2":                             "main.serve",
		"main.serve.func1.3":                           "main.serve",
		"main.serve-range1":                            "main.serve",
		"main.serve.gowrap1":                           "main.serve",
		"main.serve.func1.deferwrap2":                  "main.serve",
		"main.(*T).run":                                "main.(*T).run",
		"main.(*T).run-fm":                             "main.(*T).run",
		"main.T.run-fm":                                "main.T.run",
		"main.(*T).M-fm.(*T).M.func1":                  "main.(*T).M",
		"main.Sum[go.shape.int]":                       "main.Sum",
		"main.Sum[...].func1":                          "main.Sum",
		"main.(*List[go.shape.struct { A int }]).Add":  "main.(*List).Add",
		"main.(*List[...].Add":                         "main.(*List).Add",
		"main.T.M.func1":                               "main.T.M",
		"main.init":                                    "main.init",
		"main.init.0":                                  "main.init",
		"main.init.func3":                              "main.init",
		"main.init.0.func3":                            "main.init",
		"main.(*Conn).receive.(*Conn).mkReceive.func1": "main.(*Conn).mkReceive",
		"main.main.main.func6.main.main.func6.func11.func12":           "main.main",
		"main.main.Set[go.shape.struct {}].All.func8":                  "main.Set.All",
		"main.main.func5.1.later.1":                                    "main.later",
		"main.outer.later.func1":                                       "main.outer.later", // or a method of a type outer
		"main.Error.Error.func1":                                       "main.Error.Error",
		"gopkg.in/yaml%2ev3.(*Decoder).Decode.func1":                   "gopkg.in/yaml%2ev3.(*Decoder).Decode",
		"example.com/a/vendor/example.com/b.F":                         "example.com/b.F",
		"crypto/sha256.Sum256":                                         "crypto/sha256.Sum256",
		"crypto/internal/fips140/sha256.(*Digest).Write":               "crypto/sha256.(*Digest).Write",
		"crypto/internal/fips140/v1.0.0/sha256.(*Digest).Write":        "crypto/sha256.(*Digest).Write",
		"crypto/internal/fips140deps/cpu.F":                            "crypto/internal/fips140deps/cpu.F",
		"encoding/json/v2.Marshal":                                     "encoding/json.Marshal",
		"encoding/json/jsontext.(*Decoder).ReadToken":                  "encoding/json.(*Decoder).ReadToken",
		"encoding/json/internal/jsonwire.ConsumeString":                "encoding/json.ConsumeString",
		"net/http/internal/http2.(*Framer).WriteData":                  "net/http.(*Framer).WriteData",
		"net/http/httputil.DumpRequest":                                "net/http/httputil.DumpRequest",
		"github.com/go-json-experiment/json/jsontext.(*Decoder).Token": "github.com/go-json-experiment/json/jsontext.(*Decoder).Token",
		"memcpy":           "memcpy",
		"do_exit.isra.0":   "do_exit.isra",
		"type:.eq.main.T":  "type:.eq.main.T",
		"[libc.so.6]":      "[libc.so.6]",
		"":                 "",
		"main.":            "main.",
		"runtime.mallocgc": "runtime.mallocgc",
		"main..func1":      "main..func1",
	} {
		if got := Fold(name); got != want {
			t.Errorf("Fold(%q) = %q, want %q", name, got, want)
		}
	}
}

// TestFoldTwice: what is folded once, as in a file, stays.
func TestFoldTwice(t *testing.T) {
	for _, row := range readNames(t) {
		once := Fold(row[0])
		if twice := Fold(once); twice != once {
			t.Errorf("%q is folded to %q, and that to %q", row[0], once, twice)
		}
		if pkg := PackageOf(Fold(row[0])); pkg != row[1] {
			t.Errorf("%q is folded to one of package %q, want %q", row[0], pkg, row[1])
		}
	}
	full := "github.com/profguard/profguard/internal/names.(*Name).Canonical"
	if n := testing.AllocsPerRun(100, func() { Fold(full) }); n != 0 {
		t.Errorf("Fold of a function as written allocates %.0f times", n)
	}
}
