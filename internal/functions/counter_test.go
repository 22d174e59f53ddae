package functions

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/tree"
)

// windows counts profiles with a unit of work that was done ten times in each.
func windows(t *testing.T, c *Counter, texts ...string) {
	t.Helper()
	var d decode.Decoder
	for _, text := range texts {
		table, err := d.Profile(folded.Must(text))
		if err == nil {
			err = c.Add(Window{Tree: charged(t, table), Seconds: float64(table.DurationNanos) * 1e-9, Work: map[string]float64{"request": 10}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// charged is the tree of a table.
func charged(t *testing.T, table *decode.Table) *tree.Tree {
	t.Helper()
	counter := tree.Counter{}
	sum, err := counter.Tree(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// Functions are charged as for "no function": not the way in and the floor, and other code at its
// doors.
func TestCharge(t *testing.T) {
	c := New(10)
	const window = `cpu 10s
main.main;main.serve;main.run;example.com/lib.Do;example.com/lib.do 10
main.main;main.serve;main.run;~main.small;main.run;main.leaf 20
main.main;main.serve;runtime.mallocgc 5
`
	windows(t, c, window, window)
	want := Totals{
		Samples: 70, Seconds: 20, Work: map[string]float64{"request": 20},
		Hits: []Hits{{"example.com/lib.Do", 20}, {"main.leaf", 40}, {"main.run", 60}, {"main.serve", 10}, {"main.small", 40}},
	}
	got := c.Totals()
	got.Rest = 0
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
}

// A literal is counted as the function that holds it, and an instance as its generic; a sample
// counts once, also where both are on the stack.
func TestFolded(t *testing.T) {
	c := New(10)
	windows(t, c, "cpu 10s\nmain.main;main.serve;main.run;main.run.func2;main.sum[go.shape.int] 10\nmain.main;main.serve;main.run;main.run.func3;main.sum[go.shape.string] 5\n")
	want := []Hits{{"main.run", 15}, {"main.sum", 15}}
	if diff := cmp.Diff(want, c.Totals().Hits); diff != "" {
		t.Errorf("hits (-want +got):\n%s", diff)
	}
}

// A window whose hits cannot be related to the work is left out. Work that is not counted from the
// first window on, or not any more, is not work of all hits.
func TestWorkUnknown(t *testing.T) {
	c := New(10)
	table, err := new(decode.Decoder).Profile(folded.Must("cpu 10s\nmain.main;main.serve;main.run 10\n"))
	if err != nil {
		t.Fatal(err)
	}
	hangs := map[string]string{"request": "its counter hangs"}
	for i, w := range []Window{
		{Work: map[string]float64{"request": 3, "job": 0, "row": 5}},
		{Work: map[string]float64{"job": 1, "row": 1}, NoWork: hangs},
		{Work: map[string]float64{"request": 4, "job": math.Inf(1), "late": 7}, NoWork: map[string]string{"other": "it never counted"}},
	} {
		w.Tree = charged(t, table)
		err := c.Add(w)
		if failed := err != nil; failed != (i == 1) {
			t.Errorf("window %d: %v", i, err)
		}
	}
	if got := c.Totals(); got.Samples != 20 || fmt.Sprint(got.Work) != "map[request:7]" {
		t.Errorf("%+v, want two windows with 7 requests", got)
	}
}

// Names are no longer than a label should be, and valid, whatever a profile has in them.
func TestFault_113_HostileNames(t *testing.T) {
	c := New(10)
	windows(t, c, "cpu 10s\nmain.main;main.serve;main."+strings.Repeat("x", 10_000)+" 10\nmain.main;main.serve;main.\xff\u202e\x00 10\n")
	for _, h := range c.Totals().Hits {
		if len(h.Function) > 4*longest || !utf8.ValidString(h.Function) || strings.ContainsAny(h.Function, "\u202e\x00") || h.Count == 0 {
			t.Errorf("%+q", h.Function)
		}
	}
	if n := len(c.Totals().Hits); n != 2 {
		t.Errorf("%d functions, want two", n)
	}
}
