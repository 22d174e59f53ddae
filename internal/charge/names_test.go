package charge

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/pattern"
)

// window is a table of functions first, first+1, ... of package app.
func window(symbols *decode.Symbols, first, count int) *decode.Table {
	t := &decode.Table{Symbols: symbols}
	for i := range count {
		t.Funcs = append(t.Funcs, decode.Func{Name: symbols.Intern(fmt.Appendf(nil, "example.com/app.F%d", first+i))})
	}
	return t
}

// newNames is a memory for patterns.
func newNames(t *testing.T, texts ...string) *Names {
	t.Helper()
	var patterns []*pattern.Pattern
	for _, text := range texts {
		p, err := pattern.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		patterns = append(patterns, p)
	}
	return NewNames(pattern.NewIndex(patterns))
}

var endings = []string{`/[13579]$/`, `/[02468]$/`, `/[0-4]$/`, "example.com/app.F7"}

func matches(n *Names, t *decode.Table) [][]int32 {
	var all [][]int32
	for _, f := range t.Funcs {
		all = append(all, append([]int32{}, n.Matches(f.Name)...))
	}
	return all
}

// TestNamesForget feeds names that change with every profile.
func TestNamesForget(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds, on one goroutine")
	}
	var symbols decode.Symbols
	texts := []string{}
	for i := range 64 { // patterns that match a name or not by its number, so that the sets differ
		texts = append(texts, fmt.Sprintf("/F.*[%d%d%d]/", i%10, i/10, i%7))
	}
	n := newNames(t, texts...)
	n.most = 32_000 // two profiles' worth, or so
	most := 0
	for i := range 50 {
		table := window(&symbols, 1000*i, 40)
		if err := n.Learn(t.Context(), table); err != nil {
			t.Fatal(err)
		}
		most = max(most, n.cost)
		want := newNames(t, texts...)
		if err := want.Learn(t.Context(), table); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(matches(want, table), matches(n, table)); diff != "" {
			t.Fatalf("profile %d: matches (-of a new memory +of the old one):\n%s", i, diff)
		}
	}
	if most < 16_000 || most > 32_000 {
		t.Errorf("what was remembered cost %d at most, want up to 32000", most)
	}
}

func TestNamesCostTooMuch(t *testing.T) {
	var symbols decode.Symbols
	n := newNames(t, endings...)
	n.most = 100
	if err := n.Learn(t.Context(), window(&symbols, 0, 5)); err != nil {
		t.Errorf("few functions: %v", err)
	}
	texts := []string{}
	for i := range 50 {
		texts = append(texts, fmt.Sprintf("example.com/app.F%d", i), fmt.Sprintf("/F%d/", i))
	}
	n = newNames(t, texts...)
	n.most = 500
	for range 2 { // the second profile is refused like the first
		if err := n.Learn(t.Context(), window(&symbols, 0, 50)); !errors.Is(err, errCost) {
			t.Errorf("many functions: %v, want %v", err, errCost)
		}
	}
	if err := n.Learn(t.Context(), window(&symbols, 0, 5)); err != nil {
		t.Errorf("few functions after many: %v", err)
	}
}

func TestNamesCanceled(t *testing.T) {
	var symbols decode.Symbols
	n := newNames(t, endings...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	table := window(&symbols, 0, 640)
	if err := n.Learn(ctx, table); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v, want %v", err, context.Canceled)
	}
	if err := n.Learn(t.Context(), table); err != nil || len(n.Matches(table.Funcs[639].Name)) == 0 {
		t.Errorf("the same table again: %v", err)
	}
}

// TestNamesTwoFiles: a name that the runtime and another package both define is of the
// floor, whichever file comes first.
func TestNamesTwoFiles(t *testing.T) {
	for _, files := range [][]string{
		{"/go/src/runtime/mbarrier.go", "/go/src/reflect/value.go"},
		{"/go/src/reflect/value.go", "/go/src/runtime/mbarrier.go"},
		{"reflect/value.go", "runtime/mbarrier.go"}, // -trimpath
	} {
		var symbols decode.Symbols
		table := &decode.Table{Symbols: &symbols}
		name := symbols.Intern([]byte("reflect.typedmemmove"))
		for _, file := range files {
			table.Funcs = append(table.Funcs, decode.Func{Name: name, File: symbols.Intern([]byte(file))})
		}
		n := newNames(t)
		if err := n.Learn(t.Context(), table); err != nil {
			t.Fatal(err)
		}
		if n.parts[name]&floor == 0 {
			t.Errorf("files %v: %b is not of the floor", files, n.parts[name])
		}
	}
}
