package reference

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/release"
	"github.com/profguard/profguard/internal/tree"
)

func table(t testing.TB, text string) *decode.Table {
	t.Helper()
	table, err := new(decode.Decoder).Profile(folded.Must(text))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

const small = `cpu 10s
main.main;main.serve@a.go:10;main.valid@a.go:20 30
main.main;main.serve@a.go:11;main.sum@b.go:7 10
`

func window(cpu, requests float64) release.Piece {
	return release.Piece{CPU: cpu, Elapsed: 10, Work: map[string]float64{"request": requests}}
}

// add adds a window to a side.
func add(t testing.TB, s *release.Side, window *decode.Table, p release.Piece) {
	t.Helper()
	sum, err := new(tree.Counter).Tree(t.Context(), window)
	if err != nil {
		t.Fatal(err)
	}
	s.Add(sum, p)
}

func decoded(t testing.TB, b []byte) *release.Side {
	t.Helper()
	s, err := Decode(new(decode.Decoder), b, "main")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestFile: what is written is read as it was.
func TestFile(t *testing.T) {
	want := &release.Side{
		Build: release.Build{Program: "example.com/shop", Version: "v1.2.0", Revision: "abcdef0123", Modified: true, Go: "go1.27.4", Arch: "linux/amd64", Binary: "00ff"},
		Since: time.Date(2026, 1, 31, 8, 0, 0, 25e7, time.UTC),
	}
	w := window(0.41, 100)
	w.Work["a \"b\" c"] = 7
	w.Machine = release.Machine{Waited: 0.31, Others: 4.5, Stolen: 0.25, Cores: 20}
	for i := range 3 {
		w.CPU += 0.1 * float64(i)
		add(t, want, table(t, small), w)
	}
	b := Encode(want, time.Now())
	got := decoded(t, b)
	if diff := cmp.Diff(want.Pieces, got.Pieces, cmpopts.IgnoreUnexported(release.Pieces{})); diff != "" {
		t.Errorf("pieces, -want +got\n%s", diff)
	}
	if diff := cmp.Diff(want.Tree.Hits(), got.Tree.Hits()); diff != "" || got.Build != want.Build || !got.Since.Equal(want.Since) || got.Tree.N() != 120 {
		t.Errorf("%+v since %v, %v samples; hits, -want +got\n%s", got.Build, got.Since, got.Tree.N(), diff)
	}
	c, err := release.Compare(t.Context(), got, want, release.Options{Per: "request"})
	if err != nil || c.Why != "" || c.Process.Value != 0 || len(c.Functions) == 0 || c.Functions[0].Named {
		t.Errorf("%+v, %v", c, err)
	}
	// What goes on has the same sums as what was never written.
	for _, s := range []*release.Side{want, got} {
		add(t, s, table(t, small), window(0.4, 100))
	}
	if want.Pieces.Samples != got.Pieces.Samples || want.Pieces.Work["request"] != got.Pieces.Work["request"] || want.Tree.N() != got.Tree.N() {
		t.Errorf("%+v, want %+v", got.Pieces, want.Pieces)
	}
}

// TestTinyNumbers: what is too little to be measured is nothing. Quotients of it would be infinite, and bounds no numbers.
func TestTinyNumbers(t *testing.T) {
	side := &release.Side{}
	for range 30 {
		add(t, side, table(t, small), window(0.4, 100))
	}
	comment := FactsOf(side, time.Now())
	for cpu, known := range map[string]bool{"5e-324": false, "0": false, "12": true} {
		was, _, err := Facts([]string{strings.Replace(comment, fmt.Sprintf("pieces 30 1200 %v ", side.Pieces.CPU), "pieces 30 1200 "+cpu+" ", 1)})
		if err != nil || was.Pieces.CPU > 0 != known {
			t.Errorf("%s seconds of CPU: %v, %v", cpu, was, err)
		}
	}
}

// TestLargeWork: a service that counts its work in bytes or nanoseconds has large squares.
func TestLargeWork(t *testing.T) {
	side := &release.Side{}
	for range 30 {
		add(t, side, table(t, small), window(0.4, 1e13))
	}
	if got := decoded(t, Encode(side, time.Now())); got.Pieces.Costs["request"].WW < 1e27 {
		t.Errorf("expected 30 windows of 1e13, found %+v", got.Pieces.Costs["request"])
	}
}

// TestOf: a reference that is a tree, one that is a whole profile, and a profile without facts are sides.
func TestOf(t *testing.T) {
	side := &release.Side{Build: release.Build{Version: "v1"}}
	add(t, side, table(t, small), window(0.4, 100))
	profile := table(t, small)
	for name, tt := range map[string]struct {
		file    []byte
		version string
		work    float64
	}{
		"a tree":          {Encode(side, time.Now()), "v1", 100},
		"a whole profile": {EncodeWhole(side, profile, time.Now()), "v1", 100},
		"without facts":   {profile.Encode(), "", 0},
	} {
		table, err := new(decode.Decoder).Bytes(tt.file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Of(t.Context(), &tree.Counter{Module: "main"}, table, table.Comments())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(side.Tree.Hits(), s.Tree.Hits()); diff != "" || s.Build.Version != tt.version || s.Pieces.Work["request"] != tt.work || s.Pieces.Samples != 40 || s.Pieces.CPU != 0.4 {
			t.Errorf("%s: %+v, %+v; hits, -want +got\n%s", name, s.Build, s.Pieces, diff)
		}
		if _, err := Decode(new(decode.Decoder), tt.file, "main"); (err == nil) != (name == "a tree") {
			t.Errorf("%s as a file of a guard: %v", name, err)
		}
	}
	goroutines := table(t, "goroutine\nmain.f 7\n")
	for _, comments := range [][]string{nil, {prefix + "2\npieces 1 1 1 1 1\n"}} {
		if s, err := Of(t.Context(), &tree.Counter{}, goroutines, comments); err == nil || !strings.Contains(err.Error(), "expected a profile of CPU") {
			t.Errorf("%+v, %v", s, err)
		}
	}
}

// TestValuesInFile: values of labels are written and read as they were, whatever clients called them, in a file that an
// older profguard reads, too; IDs of users do not grow it.
func TestValuesInFile(t *testing.T) {
	side, counter := &release.Side{}, &tree.Counter{Labels: []string{"tenant", "a \"b\"\nc"}}
	add := func(text string) {
		sum, err := counter.Tree(t.Context(), table(t, text))
		if err != nil {
			t.Fatal(err)
		}
		side.Add(sum, window(0.4, 100))
	}
	add("cpu 10s\nmain.main;main.serve 30 {tenant=acme}\nmain.main;main.serve 10 {tenant=\"two words\"}\nmain.main 5\n")
	add("cpu 10s\nmain.main;main.serve 20 {tenant=acme}\nmain.main 5\n")
	got := decoded(t, Encode(side, time.Now()))
	if diff := cmp.Diff(side.Pieces, got.Pieces, cmpopts.IgnoreUnexported(release.Pieces{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if v := got.Pieces.Values["tenant"]; v.Samples != 70 || v.Without != 10 || v.Hits["acme"].H != 50 || v.Hits["acme"].HW["request"] != 5000 {
		t.Errorf("%+v", v)
	}
	for i := range 50 {
		var text strings.Builder
		text.WriteString("cpu 10s\n")
		for id := range 1500 {
			fmt.Fprintf(&text, "main.main;main.serve 1 {tenant=u%d-%d}\n", i, id)
		}
		add(text.String())
	}
	if b := Encode(side, time.Now()); len(b) > 60_000 || len(FactsOf(side, time.Now())) > mostFacts/8 {
		t.Errorf("a file of %d bytes, with %d of facts", len(b), len(FactsOf(side, time.Now())))
	}
	if v := side.Pieces.Values["tenant"]; v.Lost < 50 {
		t.Errorf("one ID may have had a sample in each window, and no more than %v are not known", v.Lost)
	}
}
