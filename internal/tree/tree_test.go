package tree

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/names"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/unit"
)

func table(t testing.TB, text string) *decode.Table {
	t.Helper()
	table, err := new(decode.Decoder).Profile(folded.Must(text))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// recorded are the windows of real programs.
func recorded(t testing.TB) map[string]*decode.Table {
	t.Helper()
	tables := map[string]*decode.Table{}
	for _, file := range []string{"window-go1.26.pb.gz", "window-go1.27.pb.gz"} {
		data, err := os.ReadFile("../decode/testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if tables[file], err = new(decode.Decoder).Bytes(data); err != nil {
			t.Fatal(err)
		}
	}
	return tables
}

func treeOf(t testing.TB, c *Counter, table *decode.Table) *Tree {
	t.Helper()
	sum, err := c.Tree(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// sums are the hits of each function as package charge adds them up, without what patterns accept. Functions that are
// folded are left out.
func sums(t testing.TB, table *decode.Table, except ...string) map[string]float64 {
	t.Helper()
	var patterns []*pattern.Pattern
	q := charge.Query{Charge: charge.Inner, In: -1, Where: -1, Except: -1}
	c := charge.Counter{Patterns: len(except)}
	for i, text := range except {
		p, err := pattern.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		patterns, q.Except = append(patterns, p), 0
		if i == 0 {
			c.Excepts = [][]charge.Exception{nil}
		}
		c.Excepts[0] = append(c.Excepts[0], charge.Exception{Of: int32(i), From: -1})
	}
	c.Names = charge.NewNames(pattern.NewIndex(patterns))
	if err := c.Names.Learn(context.Background(), table); err != nil {
		t.Fatal(err)
	}
	v, _ := charge.LayoutOf(table, kinds.CPU).Value(kinds.CPU, unit.Count)
	q.Value, q.Weight = v.Index, v.Weight
	asked := c.Ask(q)
	c.Open(table)
	hits := map[string]float64{}
	for i, key := range c.Sums(asked).Keys {
		hits[c.Name(asked, key)] = float64(c.Sums(asked).Values[i])
	}
	for _, f := range table.Funcs {
		if name := table.Symbols.Name(f.Name); names.Fold(name) != name {
			delete(hits, name)
			delete(hits, names.Fold(name))
		}
	}
	return hits
}

// show lists the nodes of a tree in a form that people can read.
func show(tree *Tree) (lines []string) {
	kinds := map[Kind]string{Function: "", Entry: "entry ", Aside: "aside ", Cut: "cut"}
	paths := make([]string, len(tree.Nodes()))
	for i, n := range tree.Nodes() {
		if i > 0 {
			paths[i] = paths[n.Parent] + ";" + kinds[n.Kind] + n.Name
		}
		if i > 0 || n.Own > 0 {
			lines = append(lines, fmt.Sprintf("%s %v", strings.TrimPrefix(paths[i], ";"), n.Own))
		}
	}
	return lines
}

// recursive are functions that call themselves: below the entry point, and the entry point.
const recursive = `cpu 10s
runtime.main;main.main;main.run;main.walk;main.visit;main.walk;main.visit;main.leaf 7
runtime.main;main.main;main.run;main.walk;main.visit;main.walk 5
runtime.main;main.main;main.run;main.visit;main.run;main.leaf 3
runtime.main;main.main;main.run;main.visit;main.run 2
`

// cutOffText is a stack that has as many frames as the runtime keeps, in which the outermost are not known.
var cutOffText = "cpu 10s\n" + strings.Repeat("main.f;", 70) + "main.leaf 10\n"

// TestHits: a tree has the same hits as the query that functions are counted with.
func TestHits(t *testing.T) {
	tables := recorded(t)
	tables["recursive"], tables["cut off"] = table(t, recursive), table(t, cutOffText)
	for name, table := range tables {
		tree := treeOf(t, &Counter{}, table)
		if diff := cmp.Diff(sums(t, table), tree.Hits()); diff != "" {
			t.Errorf("%s: hits, -charge +tree\n%s", name, diff)
		}
		if want := float64(table.Count()); tree.N() != want || tree.Below()[0] != want {
			t.Errorf("%s: %v and %v samples, want %v", name, tree.N(), tree.Below()[0], want)
		}
	}
}

// TestTree: a path has each function once, a stack that the runtime has cut off is marked, and what is charged to
// nothing is put aside.
func TestTree(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"whole": {"cpu 10s\nruntime.main;main.main;main.run;main.sum;main.leaf 7\n", []string{"entry main.run 0", "entry main.run;main.sum 0", "entry main.run;main.sum;main.leaf 7"}},
		"recursive": {recursive, []string{"entry main.run 0", "entry main.run;main.walk 0", "entry main.run;main.walk;main.visit 0", "entry main.run;main.walk;main.visit;main.leaf 7",
			"entry main.run;main.visit 0", "entry main.run;main.visit;main.walk 5", "entry main.run;main.visit;main.leaf 3", "entry main.run;main.visit;main.run 2"}},
		// The literal of an entry point is the entry point, too. Package charge charges all that it calls to it.
		"a literal": {"cpu 10s\nruntime.main;main.main;main.run;sort.Slice;main.run.func1;main.leaf 7\nruntime.main;main.main;main.run;sort.Slice;main.run.func1 2\n",
			[]string{"entry main.run 0", "entry main.run;sort.Slice 0", "entry main.run;sort.Slice;main.leaf 7", "entry main.run;sort.Slice;main.run 2"}},
		"cut off":       {cutOffText, []string{"cut 0", "cut;main.f 0", "cut;main.f;main.leaf 10"}},
		"the collector": {"cpu 10s\nruntime.goexit;runtime.gcBgMarkWorker;runtime.systemstack;runtime.gcDrain;runtime.scanobject 9\n", []string{"aside runtime.gcBgMarkWorker 9"}},
		"no samples":    {"cpu 10s\n", nil},
	} {
		if diff := cmp.Diff(tt.want, show(treeOf(t, &Counter{}, table(t, tt.text)))); diff != "" {
			t.Errorf("%s, -want +got\n%s", name, diff)
		}
	}
	if _, err := new(Counter).Tree(t.Context(), table(t, "goroutine\nmain.f 7\n")); err == nil || !strings.Contains(err.Error(), "expected a profile of CPU") {
		t.Error(err)
	}
}

// TestAdd: the sum of trees is the tree of the sum.
func TestAdd(t *testing.T) {
	one, two, both := `runtime.main;main.main;main.run;main.sum@a.go:1;main.leaf@a.go:7 7
runtime.goexit;runtime.gcBgMarkWorker 2
`, `runtime.main;main.main;main.run;main.sum@a.go:1;main.other@a.go:9 3
runtime.main;main.main;main.run;main.sum@a.go:1;main.leaf@a.go:8 8
`, new(Tree)
	both.Add(treeOf(t, &Counter{}, table(t, "cpu 10s\n"+one)))
	both.Add(new(Tree)) // which changes nothing
	both.Add(treeOf(t, &Counter{}, table(t, "cpu 10s\n"+two)))
	if diff := cmp.Diff(show(treeOf(t, &Counter{}, table(t, "cpu 10s\n"+one+two))), show(both)); diff != "" {
		t.Errorf("-tree of both +sum\n%s", diff)
	}
	for _, n := range both.Nodes() {
		if n.Name == "main.leaf" && (n.File != "a.go" || n.Line != 8 || !n.Mine) { // with more than half of the samples
			t.Errorf("%+v, want it at a.go:8", n)
		}
	}
	tree := new(Tree)
	for _, window := range recorded(t) {
		for range 3 {
			tree.Add(treeOf(t, &Counter{}, window))
		}
	}
	want := map[string]float64{}
	for _, window := range recorded(t) {
		for name, n := range sums(t, window) {
			want[name] += 3 * n
		}
	}
	if diff := cmp.Diff(want, tree.Hits()); diff != "" {
		t.Errorf("hits, -charge +sum\n%s", diff)
	}
}

// TestFold: of too many nodes the smallest leaves go. Their samples stay with their callers, but for entry points,
// which are charged with their own bodies only.
func TestFold(t *testing.T) {
	window := func(n, from int) *Tree {
		var text strings.Builder
		text.WriteString("cpu 10s\nruntime.main;main.main;main.run;main.large;main.leaf 5000\nruntime.main;main.main;main.run 30\nruntime.goexit;runtime.gcBgMarkWorker 700\n")
		for i := range n {
			fmt.Fprintf(&text, "runtime.main;main.main;main.run;main.small;main.f%d;main.g%d 1\nruntime.main;main.main;main.run;main.h%d 1\n", from+i, from+i, from+i)
		}
		return treeOf(t, &Counter{}, table(t, text.String()))
	}
	for name, tt := range map[string]struct {
		tree   *Tree
		sums   float64 // of so many windows
		small  float64
		folded bool
	}{
		"a few windows": {added(window(1000, 0), window(1000, 1000), window(1000, 2000)), 3, 3000, true},
		"one window":    {window(5000, 0), 1, 5000, true},
		"small enough":  {window(1000, 0), 1, 1000, false}, // the clean twin
	} {
		hits, n := tt.tree.Hits(), len(tt.tree.Nodes())
		if n > most || tt.folded == (n == 6+3*int(tt.small)) {
			t.Errorf("%s: %d nodes, want at most %d", name, n, most)
		}
		want := map[string]float64{"main.large": 5000 * tt.sums, "main.leaf": 5000 * tt.sums, "main.run": 30 * tt.sums, "main.small": tt.small}
		for function, n := range want {
			if hits[function] != n {
				t.Errorf("%s: %s has %v hits, want %v", name, function, hits[function], n)
			}
		}
		if total := tt.tree.N(); total != 5730*tt.sums+2*tt.small {
			t.Errorf("%s: %v samples", name, total)
		}
		for i, n := range tt.tree.Nodes() {
			if i > 0 && (int(n.Parent) >= i || tt.tree.child(n.Parent, n.Kind, n.Name) != int32(i)) {
				t.Fatalf("%s: node %d is %+v", name, i, n)
			}
		}
	}
}

func added(trees ...*Tree) *Tree {
	sum := new(Tree)
	for _, tree := range trees {
		sum.Add(tree)
	}
	return sum
}

// TestEntry: with entry points of one's own, these are found on the way in, and all others are charged in full.
func TestEntry(t *testing.T) {
	text := `cpu 10s
testing.(*B).runN;main.BenchmarkRun@x_test.go:7;main.run@x.go:3;main.leaf@x.go:9 5
testing.(*B).runN;main.BenchmarkRun@x_test.go:7;main.benchmarkSize@x_test.go:9;main.run@x.go:3 4
testing.(*B).runN;main.BenchmarkRun@x_test.go:8 2
`
	got := treeOf(t, &Counter{Entry: func(_, file string) bool { return file == "x_test.go" }}, table(t, text))
	want := []string{"entry main.BenchmarkRun 2", "entry main.BenchmarkRun;main.run 0", "entry main.BenchmarkRun;main.run;main.leaf 5", "entry main.BenchmarkRun;entry main.benchmarkSize 0", "entry main.BenchmarkRun;entry main.benchmarkSize;main.run 4"}
	if diff := cmp.Diff(want, show(got)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	hits := map[string]float64{"main.BenchmarkRun": 2, "main.run": 9, "main.leaf": 5}
	if diff := cmp.Diff(hits, got.Hits()); diff != "" {
		t.Errorf("hits, -want +got\n%s", diff)
	}
	if at := got.Nodes()[2]; at.Name != "main.run" || at.Call != 7 {
		t.Errorf("%s is called at line %d", at.Name, at.Call)
	}
}
