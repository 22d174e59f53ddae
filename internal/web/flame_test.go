package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/decode"
)

const stacks = `cpu 10s
main.main;main.serve;fmt.Println@print.go:1;~fmt.Fprintln@print.go:2 50
main.main;main.serve;fmt.Println@print.go:1;~fmt.Fprintln@print.go:2;os.(*File).Write 30
main.main;main.serve 10 {endpoint=/a}
main.main;main.serve 5 {endpoint=/b}
runtime.gcBgMarkWorker 5
`

// outline writes a flame graph as indented text, in seconds.
func outline(f flame) string {
	var b strings.Builder
	var write func(i, depth int)
	write = func(i, depth int) {
		name := "all"
		if i > 0 {
			name = f.Names[f.Name[i]]
		}
		fmt.Fprintf(&b, "%s%s %.2f self %.2f\n", strings.Repeat("  ", depth), name, f.Value[i]/1e9, f.Self[i]/1e9)
		var callees []int
		for c := i + 1; c < len(f.Parent); c++ {
			if f.Parent[c] == i {
				callees = append(callees, c)
			}
		}
		slices.SortFunc(callees, func(a, b int) int { return cmp.Compare(f.Value[b], f.Value[a]) })
		for _, c := range callees {
			write(c, depth+1)
		}
	}
	if len(f.Parent) > 0 {
		write(0, 0)
	}
	return b.String()
}

func TestFlameTree(t *testing.T) {
	f := newFlame(table(t, stacks), "main")
	want := `all 1.00 self 0.00
  main.main 0.95 self 0.00
    main.serve 0.95 self 0.15
      fmt.Println 0.80 self 0.00
        fmt.Fprintln 0.80 self 0.50
          os.(*File).Write 0.30 self 0.30
  runtime.gcBgMarkWorker 0.05 self 0.05
`
	if diff := gocmp.Diff(want, outline(f)); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
	if f.Unit != "nanoseconds" || f.Total != 1e9 || f.Module != "main" || f.Cut {
		t.Errorf("unit %q, total %v, module %q, cut %v", f.Unit, f.Total, f.Module, f.Cut)
	}
}

func TestFlameUnits(t *testing.T) {
	tests := []struct {
		text, unit string
		total      float64
	}{
		{"cpu 10s\nmain.f 200\n", "nanoseconds", 2e9},
		{"heap rate=1\nmain.f 10 1048576\n", "bytes", 1 << 20},
		{"goroutine\nmain.f 7\n", "count", 7},
		{"mutex 10s\nmain.f 3 30ms\n", "nanoseconds", 3e7},
	}
	for _, test := range tests {
		f := newFlame(table(t, test.text), "")
		if f.Unit != test.unit || f.Total != test.total {
			t.Errorf("%q: %v %s, want %v %s", test.text, f.Total, f.Unit, test.total, test.unit)
		}
	}
}

func TestFlameOfNothing(t *testing.T) {
	for _, p := range []*profile.Profile{
		{PeriodType: &profile.ValueType{}},
		{PeriodType: &profile.ValueType{}, SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}},
	} {
		if f := newFlame(tableOf(t, p), ""); len(f.Parent) != 0 {
			t.Errorf("an empty profile is %+v", f)
		}
	}
}

// Negative values are differences, and sums may be beyond an int64.
func TestFlameStrangeValues(t *testing.T) {
	p := chainOf("main.main", "main.f")
	loc := p.Sample[0].Location
	for _, v := range []int64{math.MaxInt64, math.MaxInt64, -5, 0, math.MinInt64} {
		p.Sample = append(p.Sample, &profile.Sample{Location: loc, Value: []int64{1, v}})
	}
	// A sample without a stack belongs to the whole.
	p.Sample = append(p.Sample, &profile.Sample{Value: []int64{1, math.MaxInt64}})
	f := newFlame(tableOf(t, p), "")
	if data, err := json.Marshal(f); err != nil || f.Total < 2e19 || f.Value[1] > f.Total {
		t.Errorf("%v: %s", err, data)
	}
}

func TestFlameIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("builds large profiles")
	}
	wide := &strings.Builder{}
	wide.WriteString("cpu 10s\n")
	for i := range 30_000 {
		fmt.Fprintf(wide, "main.main;a%d.f;b%d.f;c%d.f 1\n", i%900, i%900, i)
	}
	deep := make([]string, 4000)
	for i := range deep {
		deep[i] = "main.recurse"
	}
	many := &strings.Builder{}
	many.WriteString("cpu 10s\n")
	for i := range 900 {
		many.WriteString("main.main")
		for level := range 20 {
			fmt.Fprintf(many, ";p%d.f%d", i, level)
		}
		many.WriteString(" 1\n")
	}
	tests := []struct {
		name string
		flame
		cut bool
	}{
		{"wide", newFlame(table(t, wide.String()), ""), false}, // small frames are left out
		{"deep", newFlame(tableOf(t, chainOf(deep...)), ""), true},
		{"many", newFlame(table(t, many.String()), ""), false},
		{"few", newFlame(table(t, stacks), ""), false},
	}
	for _, test := range tests {
		depth := make([]int, len(test.Parent))
		deepest := 0
		for i, parent := range test.Parent {
			if i > 0 {
				depth[i] = depth[parent] + 1
				deepest = max(deepest, depth[i])
			}
		}
		data, err := json.Marshal(test.flame)
		if err != nil || deepest > maxDepth || len(data) > 1<<20 {
			t.Errorf("%s: %d frames in %d levels, %d bytes, %v", test.name, len(test.Parent), deepest, len(data), err)
		}
		if test.Cut != test.cut {
			t.Errorf("%s: cut %v, want %v", test.name, test.Cut, test.cut)
		}
	}
}

// BenchmarkFlame draws a profile with 20,000 different stacks of 40 frames.
func BenchmarkFlame(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	text.WriteString("cpu 10s\n")
	for range 20_000 {
		text.WriteString("main.main")
		for level := range 39 {
			// Few functions at the root, many at the leaf.
			fmt.Fprintf(&text, ";p%d.f%d", level, r.IntN(1+level/4))
		}
		text.WriteString(" 1\n")
	}
	t := table(b, text.String())
	b.ReportAllocs()
	for b.Loop() {
		newFlame(t, "")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/800_000, "ns/frame")
}

// A profile that the handler fails to draw keeps nobody from drawing the next.
func TestFlamePanics(t *testing.T) {
	h := New(still(nil))
	data := packed(t, chainOf("main.main"))
	if failed := recovered(func() { h.draw(func(*decode.Decoder) (*decode.Table, error) { panic("a bug of ours") }) }); failed == nil {
		t.Error("no panic")
	}
	if f, err := h.draw(func(d *decode.Decoder) (*decode.Table, error) { return d.Bytes(data) }); err != nil || f.Total == 0 {
		t.Errorf("the next: %+v, %v", f, err)
	}
}
