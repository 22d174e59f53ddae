package compare

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/profguard/profguard/internal/compare/growth"
	"github.com/profguard/profguard/internal/compare/repo"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/folded"
)

// edited has a file of the head whose second function is changed: line 7 is new, and line 8 was 7.
func edited(t *testing.T) *edits {
	t.Helper()
	dir := t.TempDir()
	text := "package x\n\nfunc a() {\n}\n\nfunc b() {\n\tnew()\n\told()\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "x.go"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return &edits{root: dir, files: map[string][]repo.Edit{"x.go": {{At0: 6, N0: 0, At: 7, N: 1}}, "y.go": {{At0: 5, N0: 1, At: 5, N: 1}}}, funcs: map[string][]span{}}
}

func TestTouched(t *testing.T) {
	e := edited(t)
	for line, want := range map[int]growth.Change{3: {}, 6: {Function: true}, 7: {Line: true, Function: true}, 8: {Function: true}} {
		if got := e.touched("x.go", line); got != want {
			t.Errorf("line %d: expected %+v, found %+v", line, want, got)
		}
	}
	if got := e.touched("other.go", 3); got != (growth.Change{}) {
		t.Errorf("found %+v", got)
	}
}

// A benchmark that is itself changed is told, and not one beside it, or with the same name elsewhere.
func TestRewritten(t *testing.T) {
	e := edited(t)
	text := "package x\n\nfunc BenchmarkA(b *testing.B) {\n\tfor b.Loop() {\n\t\ta(2)\n\t}\n}\n\nfunc BenchmarkB(b *testing.B) {\n}\n"
	if err := os.WriteFile(filepath.Join(e.root, "x_test.go"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	e.files["x_test.go"] = []repo.Edit{{At0: 5, N0: 1, At: 5, N: 1}}
	for title, want := range map[string]string{". BenchmarkA": "x_test.go:3", ". BenchmarkA/small": "x_test.go:3", ". BenchmarkB": "", "y BenchmarkA": "", ". b": ""} {
		folder, name, _ := strings.Cut(title, " ")
		if got := e.rewritten(folder, name); got != want {
			t.Errorf("%s: expected %q, found %q", title, want, got)
		}
	}
}

// Allocations are told by line, as lines are at the head. Those that did not change are kept apart from
// those that did, and lines that only moved differ in nothing.
func TestAllocations(t *testing.T) {
	table := func(text string) *decode.Table {
		p, err := new(decode.Decoder).Profile(folded.Must("allocs rate=1\n" + text))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	m := &comparison{roots: []root{{"m/", ""}}, edits: edited(t)}
	sides := [2]*profiled{
		{calls: 10, table: table("m.b@m/x.go:7;runtime.mallocgc@malloc.go:1 10 320\nm.c@m/y.go:5 10 160\nruntime.gc@mgc.go:9 1 16\n")},
		{calls: 10, table: table("m.b@m/x.go:8;runtime.mallocgc@malloc.go:1 10 320\nm.b@m/x.go:7 20 640\nm.a@m/x.go:3 10 80\nm.c@m/y.go:5 10 480\n")},
	}
	why := m.allocations(&trial{pkg: &pkg{}}, sides, func(file string, line int) string {
		return fmt.Sprintf("moved to heap: %s%d", file, line)
	})
	var got []string
	for _, r := range why.Rows {
		got = append(got, r.Text)
	}
	want := []string{
		"+2 allocations, +64B a call: m.b, x.go:7",
		"+32B a call: m.c, y.go:5",
		"+1 allocations, +8B a call: m.a, x.go:3, a line that did not change: now the compiler says moved to heap: x.go3",
	}
	if diff := cmp.Diff(want, got); diff != "" || why.File != "x.go" || why.Line != 7 {
		t.Errorf("%s:%d, %s", why.File, why.Line, diff)
	}
}

// A line that did not change allocates more because a changed line calls it more often: that one is named. Most of the
// growth has to come by it, and lines of tests are none.
func TestChangedCaller(t *testing.T) {
	table := func(text string) *decode.Table {
		p, err := new(decode.Decoder).Profile(folded.Must("allocs rate=1\n" + text))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	e := edited(t)
	e.files["x_test.go"] = []repo.Edit{{At: 1, N: 100}}
	m := &comparison{roots: []root{{"m/", ""}}, edits: e}
	const before = "m.Bench@m/x_test.go:9;m.b@m/x.go:7;strings.Map@map.go:3;m.a@m/x.go:3 10 80\n"
	for text, want := range map[string]string{
		"m.Bench@m/x_test.go:9;m.b@m/x.go:7;strings.Map@map.go:3;m.a@m/x.go:3;runtime.mallocgc@malloc.go:1 30 240\n":     ", called from m.b, x.go:7, which is changed",
		"m.Bench@m/x_test.go:9;m.b@m/x.go:8;strings.Map@map.go:3;m.a@m/x.go:3 30 240\n":                                  "",
		"m.Bench@m/x_test.go:9;m.b@m/x.go:7;m.a@m/x.go:3 5 40\nm.Bench@m/x_test.go:9;m.b@m/x.go:8;m.a@m/x.go:3 25 200\n": "",
	} {
		sides := [2]*profiled{{calls: 10, table: table(before)}, {calls: 10, table: table(text)}}
		why := m.allocations(&trial{pkg: &pkg{}}, sides, func(string, int) string { return "" })
		if len(why.Rows) != 1 || why.Rows[0].Text != "+2 allocations, +16B a call: m.a, x.go:3"+want {
			t.Errorf("%s: found %v, want it to end with %q", text, why.Rows, want)
		}
		if wantLine := map[bool]int{true: 7, false: 3}[want != ""]; why.Line != wantLine {
			t.Errorf("%s: annotated is line %d, want %d", text, why.Line, wantLine)
		}
	}
}

// A line that allocates no more has its place at the head, or, if it is gone, says that it is one of the base.
func TestLinesOfTheBase(t *testing.T) {
	table := func(text string) *decode.Table {
		p, err := new(decode.Decoder).Profile(folded.Must("allocs rate=1\n" + text))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	e := edited(t)
	e.files["z.go"] = []repo.Edit{{At0: 4, N0: 1, At: 3}}
	m := &comparison{roots: []root{{"m/", ""}}, edits: e}
	sides := [2]*profiled{
		{calls: 10, table: table("m.d@m/z.go:4 10 480\nm.b@m/x.go:8 10 160\nruntime.gc@mgc.go:9 10 100\nm.e@m/z.go:9 10 80\n")},
		{calls: 10, table: table("m.e@m/z.go:8 10 80\n")},
	}
	var got []string
	for _, r := range m.allocations(&trial{pkg: &pkg{}}, sides, func(string, int) string { return "" }).Rows {
		got = append(got, r.Text)
	}
	want := []string{
		"-1 allocations, -16B a call: m.b, x.go:9",
		"-1 allocations, -48B a call: m.d, z.go:4 of the base",
		"-1 allocations, -10B a call: runtime.gc, mgc.go:9",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
