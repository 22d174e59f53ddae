package page

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
)

const stacks = `cpu 10s
main.main;main.serve;fmt.Println@print.go:1;~fmt.Fprintln@print.go:2 50
main.main;main.serve;fmt.Println@print.go:1;~fmt.Fprintln@print.go:2;os.(*File).Write 30
main.main;main.serve 10 {endpoint=/a}
main.main;main.serve 5 {endpoint=/b}
runtime.gcBgMarkWorker 5
`

func TestFlameTree(t *testing.T) {
	got := outline(NewFlame(table(t, stacks), "", nil))
	want := ` 1.00 self 0.00 at 0.00
  main.main 0.95 self 0.00 at 0.00
    main.serve 0.95 self 0.15 at 0.00
      fmt.Println 0.80 self 0.00 at 0.00
        fmt.Fprintln 0.80 self 0.50 at 0.00
          os.(*File).Write 0.30 self 0.30 at 0.00
  runtime.gcBgMarkWorker 0.05 self 0.05 at 0.95
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
}

func TestFlameFromAFrameOn(t *testing.T) {
	f := NewFlame(table(t, stacks), "", Path{0, 0, 0})
	want := `fmt.Println 0.80 self 0.00 at 0.00
  fmt.Fprintln 0.80 self 0.50 at 0.00
    os.(*File).Write 0.30 self 0.30 at 0.00
`
	if diff := cmp.Diff(want, outline(f)); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
	var above []string
	for _, a := range f.Above {
		above = append(above, fmt.Sprintf("%s %s %.2f", a.Path, a.Name, a.Value))
	}
	if diff := cmp.Diff([]string{"0 main.main 0.95", "0.0 main.serve 0.95", "0.0.0 fmt.Println 0.80"}, above); diff != "" {
		t.Errorf("frames above (-want +got):\n%s", diff)
	}
	if math.Abs(f.Total-1) > 1e-9 {
		t.Errorf("Total = %v, want that of the whole profile, 1", f.Total)
	}
	for _, nowhere := range []Path{{7}, {0, 0, 0, 0, 0, 0}, {1, 0}} {
		if f := NewFlame(table(t, stacks), "", nowhere); len(f.nodes) != 0 || f.SVG(true) != "" {
			t.Errorf("path %v: found %d frames, want none", nowhere, len(f.nodes))
		}
	}
}

func TestFlameUnits(t *testing.T) {
	tests := []struct{ text, unit, total string }{
		{"cpu 10s\nmain.f 200\n", "seconds", "2.00s"},
		{"heap\nmain.f 10 1048576\n", "bytes", ""},
		{"goroutine\nmain.f 7\n", "count", "7"},
		{"mutex 10s\nmain.f 3 30ms\n", "seconds", "30ms"},
	}
	for _, test := range tests {
		f := NewFlame(table(t, test.text), "", nil)
		if f.Unit != test.unit {
			t.Errorf("%q: unit %q, want %q", test.text, f.Unit, test.unit)
		}
		if got := Amount(f.Total, f.Unit); test.total != "" && got != test.total {
			t.Errorf("%q: total %s, want %s", test.text, got, test.total)
		}
	}
}

func TestFlameOfNothing(t *testing.T) {
	for _, p := range []*profile.Profile{
		{PeriodType: &profile.ValueType{}},
		{PeriodType: &profile.ValueType{}, SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}},
	} {
		f := NewFlame(tableOf(t, p), "", nil)
		if f.SVG(true) != "" || len(Top(tableOf(t, p), 10)) != 0 {
			t.Errorf("an empty profile draws %q", f.SVG(true))
		}
	}
}

// Negative values are differences, and MaxInt64 is somebody's joke.
func TestFlameStrangeValues(t *testing.T) {
	p := chainOf("main.main", "main.f")
	loc := p.Sample[0].Location
	for _, v := range []int64{math.MaxInt64, math.MaxInt64, -5, 0, math.MinInt64} {
		p.Sample = append(p.Sample, &profile.Sample{Location: loc, Value: []int64{v}})
	}
	// A sample without a stack belongs to the whole.
	p.Sample = append(p.Sample, &profile.Sample{Value: []int64{math.MaxInt64}})
	svg := string(NewFlame(tableOf(t, p), "", nil).SVG(true))
	for _, bad := range []string{"NaN", "Inf", `"-`} {
		if strings.Contains(svg, bad) {
			t.Errorf("found %s in the drawing", bad)
		}
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
		for level := range 6 {
			fmt.Fprintf(many, ";p%d.f%d", i, level)
		}
		many.WriteString(" 1\n")
	}
	tests := []struct {
		name string
		flat *Flame
		cut  bool
	}{
		{"wide", NewFlame(table(t, wide.String()), "", nil), false}, // narrow frames are not worth a word
		{"deep", NewFlame(tableOf(t, chainOf(deep...)), "", nil), true},
		{"many", NewFlame(table(t, many.String()), "", nil), true},
		{"few", NewFlame(table(t, stacks), "", nil), false},
	}
	for _, test := range tests {
		f := test.flat
		if len(f.nodes) > maxNodes || f.depth > maxDepth {
			t.Errorf("%s: %d frames in %d levels, want at most %d and %d", test.name, len(f.nodes), f.depth, maxNodes, maxDepth)
		}
		if f.Cut != test.cut {
			t.Errorf("%s: Cut = %v, want %v", test.name, f.Cut, test.cut)
		}
		if n := len(f.SVG(true)); n > 2<<20 {
			t.Errorf("%s: %d bytes of SVG", test.name, n)
		}
	}
}

// A profile at the limits of the decoder: the number of steps bounds the work.
func TestFlameSteps(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a large profile")
	}
	p := chainOf(make([]string, 0)...)
	fn := &profile.Function{ID: 1, Name: "main.recurse"}
	loc := &profile.Location{ID: 1, Line: []profile.Line{{Function: fn}}}
	p.Function, p.Location = []*profile.Function{fn}, []*profile.Location{loc}
	stack := make([]*profile.Location, 100)
	for i := range stack {
		stack[i] = loc
	}
	for range 100_000 {
		p.Sample = append(p.Sample, &profile.Sample{Location: stack, Value: []int64{1e7}})
	}
	tab := tableOf(t, p)
	start := time.Now()
	f := NewFlame(tab, "", nil)
	t.Logf("10 million frames: %d drawn in %v", len(f.nodes), time.Since(start))
	start = time.Now()
	top := Top(tab, 10)
	t.Logf("given up after %v", time.Since(start))
	if !f.Cut {
		t.Errorf("Cut = false for 10 million frames, want true: at most %d are followed", maxSteps)
	}
	if top != nil {
		t.Error("Top lists functions of a profile that it has not seen to its end")
	}
}

func TestTop(t *testing.T) {
	got := Top(table(t, stacks+"main.main;main.serve;main.main;main.serve 5\n"), 3)
	want := []Function{{"fmt.Fprintln", 0.5, 0.8}, {"os.(*File).Write", 0.3, 0.3}, {"main.serve", 0.2, 1}}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Errorf("top (-want +got):\n%s", diff)
	}
}

func TestPath(t *testing.T) {
	for _, text := range []string{"", "0", "0.2.1", "500000"} {
		p, err := ParsePath(text)
		if err != nil || p.String() != text {
			t.Errorf("ParsePath(%q) = %v, %v", text, p, err)
		}
	}
	for _, text := range []string{".", "0.", "-1", "a", "1e3", "99999999", "0x1", strings.Repeat("0.", 200) + "0", "0 ", "\x00"} {
		if p, err := ParsePath(text); err == nil {
			t.Errorf("ParsePath(%q) = %v, want an error", text, p)
		}
	}
}

func TestFlameColours(t *testing.T) {
	f := Flame{own: "example.com/shop"}
	for name, want := range map[string]string{
		"main.main": "own", "example.com/shop.New": "own", "example.com/shop/cart.(*Cart).Add": "own",
		"example.com/shopping.Buy": "k", "runtime.mallocgc": "rt", "internal/runtime/maps.(*Map).Get": "rt", "runtime/pprof.Do": "rt",
		"encoding/json.Marshal": "k", "": "k",
	} {
		if got := f.class(name); !strings.HasPrefix(got, want) {
			t.Errorf("class(%q) = %q, want %q", name, got, want)
		}
	}
	if f.class("encoding/json.Marshal") != f.class("encoding/json.(*encodeState).reflectValue") {
		t.Error("functions of one package have different colours")
	}
}
