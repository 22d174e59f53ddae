package pattern_test

import (
	"strings"
	"testing"

	"github.com/profguard/profguard/internal/names"
	. "github.com/profguard/profguard/internal/pattern"
)

// matchTests go beyond the examples in doc.go.
var matchTests = []struct {
	pattern string
	match   []string
	miss    []string
}{
	{"portlist",
		[]string{"portlist.New", "a/vendor/tailscale.com/portlist.New", "gopkg.in/portlist%2ev3.New", "portlist", "main.portlist.Method", "main.(*portlist).Method", "main.portlist[go.shape.int]"},
		[]string{"main.portList", "portlist/sub.New", "tailscale.com/portlist_test.New", "main.T.portlist", "main.(*T).portlist.func1", "portlist::New", ""}},
	{"v2", []string{"k8s.io/api/autoscaling/v2.F"}, []string{"k8s.io/api/autoscaling/v2beta.F"}},
	{"autoscaling", []string{"k8s.io/api/autoscaling/v2.F"}, []string{"k8s.io/api/autoscaling/v1.F", "k8s.io/api/autoscaling/v2/x.F"}},
	{"main.main",
		[]string{"main.main", "main.main.func1", "main.main.main.func1.func4", "main.main-range1"},
		[]string{"main.mainLoop", "runtime.main", "main.T.main"}},
	{"runtime.main", []string{"runtime.main", "runtime.main.func2"}, []string{"main.main", "runtime.main2"}},
	{"main.T.M",
		[]string{"main.T.M", "main.(*T).M", "main.T[int].M", "main.(*T[go.shape.struct { A string \"]).M\" }]).M.func1", "main.outer.T.M.func2", "main.outer.(*T).M.func2"},
		[]string{"main.T.M2", "main.U.M", "main.M", "other.T.M", "main.T", "main.T.func1"}},
	{"main.(*T).M", []string{"main.(*T).M", "main.(*T).M.func1"}, []string{"main.T.M", "main.(*T).Mx"}},
	{"main.(*T[go.shape.int]).M.func1", []string{"main.(*T[go.shape.string]).M.func1", "main.(*T[...]).M.func1.3"}, []string{"main.(*T[...]).M", "main.(*T[...]).M.func2", "main.f.(*T[...]).M.func1"}},
	{"main.M", []string{"main.M"}, []string{"main.T.M", "main.T.M-fm", "main.(*T).M.func1"}},
	{"os.init.OnceValue[go.shape.interface { Error() string },**int].func2", []string{"os.init.OnceValue[go.shape.interface { Error() string },**int].func2"}, []string{"os.init.OnceValue.func1"}},
	{"main.F-range1", []string{"main.F-range1", "main.F-range1.func2"}, []string{"main.F", "main.F-range2"}},
	{"main.T.M-fm", []string{"main.T.M-fm"}, []string{"main.T.M"}},
	{"main.init", []string{"main.init", "main.init.1", "main.map.init.0"}, []string{"main.initialize", "os.init"}},
	{"main.init.0", []string{"main.init.0", "main.init.0.func1"}, []string{"main.init.1", "main.init"}},
	{"net/http/...", []string{"net/http.Get", "net/http/internal/ascii.F"}, []string{"net/httptest.F", "x/net/http.F", "http"}},
	{".../v2", []string{"a/v2.F", "v2.F"}, []string{"a/v2/b.F", "a/xv2.F"}},
	{".../http/...", []string{"net/http.F", "net/http/httptrace.F", "http.F"}, []string{"net/httptrace.F"}},
	{"a/.../z.F", []string{"a/z.F", "a/b/c/z.F", "a/z/z.F"}, []string{"a/z.G", "b/z.F", "a/z/y.F"}},
	{"a/*/z", []string{"a/b/z.F"}, []string{"a/z.F", "a/b/c/z.F"}},
	{"gopkg.in/*", []string{"gopkg.in/yaml%2ev3.F"}, []string{"gopkg.in/a/b.F"}},
	{"yaml.v3.*", []string{"gopkg.in/yaml%2ev3.(*Decoder).Decode"}, []string{"gopkg.in/yaml%2ev2.F"}},
	{"fmt.*", []string{"fmt.Println", "fmt.(*pp).doPrint"}, []string{"fmtx.Println"}},
	{"fmt.F*f", []string{"fmt.Fprintf", "fmt.Ff"}, []string{"fmt.Fprintln", "fmt.Sprintf", "fmt.T.Fprintf"}},
	{"(**).Close", []string{"os.(*File).Close"}, []string{"main.T.Close", "os.(*File).close"}},
	{"main.*.func1", []string{"main.work.func1", "main.rest.func1.2"}, []string{"main.work.func2", "main.work"}},
	{"x*", []string{"main.xyz", "a/xyz.F", "xmalloc"}, []string{"main.ax", "main.T.xyz", "x::y"}},
	{"a%2eb/c%2ed.F", []string{"a.b/c%2ed.F"}, []string{"a.b/c.d"}},
	{"a/vendor/b/c.F", []string{"b/c.F", "x/vendor/b/c.F"}, []string{"b/c.G"}},
	{`"std::foo<int>(char*)"`, []string{"std::foo<int>(char*)"}, []string{"std::foo<int>(char)", "foo"}},
	{`"type:.eq.main.T"`, []string{"type:.eq.main.T"}, []string{"type:.eq.main.T2", "main.T"}},
	{`"<unknown>"`, []string{"<unknown>"}, []string{"unknown"}},
	{`/type:\..*/`, []string{"type:.eq.main.T"}, []string{"main.T"}},
	{"/(?i)PORTLIST/", []string{"tailscale.com/portlist.New", "main.portListé"}, []string{"main.port"}},
	{"/(?i)k/", []string{"main.\u212aelvin", "main.K"}, []string{"main.c"}},
	{`/a\/b\\/`, []string{`a/b\.F`}, []string{"a/b.F"}},
	{`/\.func\d+$/`, []string{"main.f.func12"}, []string{"main.f"}},
	{`/^golang\.org\/x\/net/`, []string{"vendor/golang.org/x/net/idna.F"}, []string{"x/golang.org/x/net/idna.F"}},
	{`/yaml\.v3/`, []string{"gopkg.in/yaml%2ev3.F"}, []string{"gopkg.in/yaml%2ev2.F"}},
	{`/shape\.int/`, []string{"main.G[go.shape.int]"}, []string{"main.G[...]"}},
	{"  fmt.Println\t", []string{"fmt.Println"}, []string{"fmt.Print"}},
	{"main.init.func1", []string{"main.init.func1", "main.init.func1.2"}, []string{"main.init.1", "main.init.1.func1", "main.init.0"}},
	{"main.init.1", []string{"main.init.1", "main.init.1.func1", "main.init.1.1"}, []string{"main.init.func1"}},
	{"main.init.0.func1", []string{"main.init.0.func1", "main.init.0.1"}, []string{"main.init.0.2", "main.init.func1"}},
	{"main.ranges-range1.func1", []string{"main.ranges-range1.func1", "main.ranges-range1.1.2"}, []string{"main.ranges-range2.1", "main.ranges.1"}},
	{"main.f.gowrap1", []string{"main.f.gowrap1"}, []string{"main.f.func1", "main.f.1", "main.f.deferwrap1"}},
	{"größe", []string{"main.größe"}, []string{"main.grösse"}},
}

func TestMatch(t *testing.T) {
	for _, test := range matchTests {
		p, err := Parse(test.pattern)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, name := range test.match {
			if !p.Match(name) {
				t.Errorf("%s does not match %q", test.pattern, name)
			}
		}
		for _, name := range test.miss {
			if p.Match(name) {
				t.Errorf("%s matches %q", test.pattern, name)
			}
		}
	}
}

// TestMatchPasted: any Go name out of a profile can be pasted as a pattern and
// matches itself.
func TestMatchPasted(t *testing.T) {
	for _, full := range spellings(t) {
		if names.PackageOf(full) == "" || strings.HasPrefix(full, "main.(*T[...].") || strings.HasSuffix(full, ".") || strings.Contains(full, "%zz") {
			continue // not of Go, or damaged
		}
		p, err := Parse(full)
		if err != nil {
			t.Error(err)
			continue
		}
		if !p.Match(full) {
			t.Errorf("%s does not match itself", full)
		}
		if p.Match("other.F") {
			t.Errorf("%s matches other.F", full)
		}
	}
}

// TestMatchLinear guards against patterns and names made to take long: doubling
// the wild cards must not multiply the time. It would hang if it did.
func TestMatchLinear(t *testing.T) {
	for _, test := range []struct{ pattern, name string }{
		{"main." + strings.Repeat("a*", 1000) + "b", "main." + strings.Repeat("a", 4000)},
		{strings.Repeat(".../a/", 500) + "b", strings.Repeat("a/", 2000) + "c.F"},
		{"main.F", "main." + strings.Repeat("[", 4000)},
		{"main.F", "main." + strings.Repeat("a[", 2000) + "]"},
		{"main.F", "main." + strings.Repeat("(*", 2000)},
		{strings.Repeat("x.", 2000) + "F", "x.G"},
		{"x.F.G", strings.Repeat("x.", 2000) + "func1"},
	} {
		p, err := Parse(test.pattern)
		if err != nil {
			t.Error(err)
			continue
		}
		if p.Match(test.name) {
			t.Errorf("%.20s... matches %.20s...", test.pattern, test.name)
		}
	}
}
