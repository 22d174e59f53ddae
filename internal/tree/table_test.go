package tree

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/decode"
)

// written is a tree that was written to a file and read again.
func written(t testing.TB, tree *Tree, module string) *Tree {
	t.Helper()
	table, err := new(decode.Decoder).Bytes(tree.Table().Encode())
	if err != nil {
		t.Fatal(err)
	}
	return Of(table, module)
}

// paths are the nodes of a tree by the path to them: their order may change.
func paths(tree *Tree) map[string]Node {
	by, path := map[string]Node{}, make([]string, len(tree.Nodes()))
	for i, n := range tree.Nodes() {
		if i > 0 {
			path[i] = path[n.Parent] + ";" + string(rune('0'+n.Kind)) + n.Name
		}
		n.Parent = 0
		by[path[i]] = n
	}
	return by
}

// TestTable: what is written is read as it was: hits, kinds, and the places of functions.
func TestTable(t *testing.T) {
	tables := recorded(t)
	tables["recursive"], tables["cut off"] = table(t, recursive), table(t, cutOffText)
	tables["places"] = table(t, `cpu 10s
runtime.main;main.main;main.serve@main.go:3;main.run@a.go:1;main.leaf@a.go:7 7
runtime.main;main.main;main.serve@main.go:3;main.run@a.go:2;main.leaf@a.go:8 9
runtime.main;main.main;main.serve@main.go:3;main.other@b.go:5;main.leaf@a.go:9 9
runtime.main;main.main;main.serve@main.go:4 30
runtime.goexit;runtime.gcBgMarkWorker@mgc.go:1;runtime.gcDrain 2
`)
	for name, table := range tables {
		module := "main"
		want := treeOf(t, &Counter{Module: module}, table)
		got := written(t, want, module)
		ignore := cmp.Options{cmpopts.IgnoreFields(Node{}, "lines", "calls"), cmp.AllowUnexported(Node{})}
		if diff := cmp.Diff(paths(want), paths(got), ignore); diff != "" {
			t.Errorf("%s, -written +read\n%s", name, diff)
		}
		if diff := cmp.Diff(want.Hits(), got.Hits()); diff != "" || want.N() != got.N() {
			t.Errorf("%s: %v samples were written, %v are read; hits, -written +read\n%s", name, want.N(), got.N(), diff)
		}
	}
}

// TestTableOdd: of nodes that a window hardly ever has, nothing is lost either.
func TestTableOdd(t *testing.T) {
	odd := new(Tree)
	odd.init()
	odd.nodes[0].Own = 5 // folded into the root
	odd.nodes[odd.child(0, Cut, "")].Own = 3
	odd.nodes[odd.child(odd.child(0, Cut, ""), Aside, "runtime.mcall")].Own = 2
	excepted := odd.child(0, Aside, "main.accepted")
	odd.nodes[odd.child(excepted, Function, "main.below")].Own = 6
	if diff := cmp.Diff(paths(odd), paths(written(t, odd, "")), cmpopts.IgnoreFields(Node{}, "Mine", "lines", "calls"), cmp.AllowUnexported(Node{})); diff != "" {
		t.Errorf("-written +read\n%s", diff)
	}
	// A sum of absurd size stays above zero.
	odd.nodes[excepted].Own = 1e18
	if cpu := slices.Max(odd.Table().Values); cpu < 9e18 {
		t.Errorf("%d ns", cpu)
	}
}

// TestTableIsProfile: pprof reads the table of a tree.
func TestTableIsProfile(t *testing.T) {
	p, err := profile.Parse(bytes.NewReader(treeOf(t, &Counter{}, table(t, recursive)).Table().Encode()))
	if err != nil {
		t.Fatal(err)
	}
	var samples, cpu int64
	for _, s := range p.Sample {
		samples, cpu = samples+s.Value[0], cpu+s.Value[1]
	}
	if err := p.CheckValid(); err != nil || samples != 17 || cpu != 17*period {
		t.Errorf("%d samples, %d ns, %v", samples, cpu, err)
	}
}

// TestOfForeign: any profile is a tree, whatever it is, and nothing breaks.
func TestOfForeign(t *testing.T) {
	location := &profile.Location{ID: 1, Address: 4096} // without lines
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}},
		Sample:     []*profile.Sample{{Location: []*profile.Location{location}, Value: []int64{7}}, {Location: []*profile.Location{location}, Value: []int64{-7}}},
		Location:   []*profile.Location{location},
	}
	table, err := new(decode.Decoder).Profile(p)
	if err != nil {
		t.Fatal(err)
	}
	if tree := Of(table, ""); tree.N() != 7 {
		t.Errorf("%v", show(tree))
	}
}
