package page

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/folded"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// table is the profile that folded stacks describe.
func table(t testing.TB, text string) *decode.Table {
	t.Helper()
	p, err := folded.Profile(text)
	if err != nil {
		t.Fatal(err)
	}
	return tableOf(t, p)
}

func tableOf(t testing.TB, p *profile.Profile) *decode.Table {
	t.Helper()
	table, err := decode.FromProfile(p, &decode.Symbols{})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// chainOf is a CPU profile of one stack, root first.
func chainOf(names ...string) *profile.Profile {
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{},
	}
	s := &profile.Sample{Value: []int64{1e9}}
	for i, name := range names {
		fn := &profile.Function{ID: uint64(i + 1), Name: name}
		loc := &profile.Location{ID: uint64(i + 1), Line: []profile.Line{{Function: fn}}}
		p.Function, p.Location = append(p.Function, fn), append(p.Location, loc)
		s.Location = append([]*profile.Location{loc}, s.Location...)
	}
	p.Sample = []*profile.Sample{s}
	return p
}

// outline writes a flame graph as indented text.
func outline(f *Flame) string {
	var b strings.Builder
	var write func(depth int, path string)
	at := map[string]node{}
	children := map[string][]string{}
	for i, n := range f.nodes {
		at[n.path.String()] = n
		if i > 0 {
			parent := n.path[:len(n.path)-1].String()
			children[parent] = append(children[parent], n.path.String())
		}
	}
	write = func(depth int, path string) {
		n := at[path]
		fmt.Fprintf(&b, "%s%s %.2f self %.2f at %.2f\n", strings.Repeat("  ", depth), n.name, n.value, n.self, n.left)
		for _, c := range children[path] {
			write(depth+1, c)
		}
	}
	if len(f.nodes) > 0 {
		write(0, f.nodes[0].path.String())
	}
	return b.String()
}
