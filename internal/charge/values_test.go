package charge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/pattern"
)

// chargedValues are the sums of a query about the label tenant, by value.
func chargedValues(t *testing.T, text string, q Query, except ...string) (*Counter, int, map[string]int64) {
	t.Helper()
	in, err := pattern.Parse("main.serve")
	if err != nil {
		t.Fatal(err)
	}
	table, err := new(decode.Decoder).Profile(folded.Must(text))
	if err != nil {
		t.Fatal(err)
	}
	c := &Counter{Names: NewNames(pattern.NewIndex([]*pattern.Pattern{in})), Patterns: 1, Labels: []LabelValues{{"tenant", except}}}
	if err := c.Names.Learn(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	c.Open(table)
	q.Unit, q.Charge, q.Where, q.Except = Labelled, Cumulative, -1, -1
	query := c.Ask(q)
	sums, by := c.Sums(query), map[string]int64{}
	for i, key := range sums.Keys {
		by[c.Name(query, key)] = sums.Values[i]
		if c.Key(query, c.Name(query, key)) != key {
			t.Errorf("the key of %s is not %d", c.Name(query, key), key)
		}
	}
	return c, query, by
}

// TestIsPart: what is shown of another value is told from a value like it.
func TestIsPart(t *testing.T) {
	for value, want := range map[string]bool{
		"acme": false, "acme#12345678": false, strings.Repeat("x", 100): false, strings.Repeat("x", 101): true, "a\nb": true, "a\xff": true, strings.Repeat("x", 99) + "\xe2\x82": true,
	} {
		if got := IsPart(Shown(value)); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

// TestValues: a sample counts for the value that it has, or for none, and always for the whole.
func TestValues(t *testing.T) {
	const text = "cpu 10s\nmain.main;main.serve;main.report 40 {tenant=acme}\nmain.main;main.serve 20 {tenant=acme}\n" +
		"main.main;main.serve;main.list 10 {tenant=blue}\nmain.main;main.other 5 {tenant=blue}\nmain.main;main.serve 7 {job=x}\nmain.main;main.idle 3\n"
	for _, tt := range []struct {
		name   string
		in     int32
		except []string
		want   map[string]int64
		total  int64
		none   int64
	}{
		{"all", -1, nil, map[string]int64{"acme": 60, "blue": 15}, 85, 10},
		{"in", 0, nil, map[string]int64{"acme": 60, "blue": 10}, 77, 7},
		{"accepted", -1, []string{"acme"}, map[string]int64{"blue": 15}, 85, 10},
	} {
		c, query, got := chargedValues(t, text, Query{Value: 0, Weight: Weight{Count: 0}, In: tt.in}, tt.except...)
		s := c.Sums(query)
		if fmt.Sprint(got) != fmt.Sprint(tt.want) || s.Total != tt.total || s.Without != tt.none || s.Crowded || s.Cut != 0 {
			t.Errorf("%s: %v of %d, %d without, want %v of %d, %d", tt.name, got, s.Total, s.Without, tt.want, tt.total, tt.none)
		}
	}
	c, query, _ := chargedValues(t, text, Query{Value: 0, Weight: Weight{Count: 0}, In: -1})
	detail := c.Ask(Query{Unit: Function, Charge: Cumulative, Value: 0, Weight: Weight{Count: 0}, In: -1, Where: -1, Except: -1})
	c.Within(detail, 0, c.Key(query, "acme"), func(within int) {
		if s := c.Sums(within); s.Total != 60 || s.By(c.Key(within, "main.report")) != 40 || s.By(c.Key(within, "main.list")) != 0 {
			t.Errorf("within acme: %d in all, %v", s.Total, s.Values)
		}
	})
	if s := c.Sums(detail); s.Total != 85 {
		t.Errorf("after that %d in all", s.Total)
	}
}

// TestValuesOfCutStacks: where "in" may match a frame that was cut off, the sample may be of its value, and is not
// charged to it.
func TestValuesOfCutStacks(t *testing.T) {
	text := "cpu 10s\nmain.serve;main.report 40 {tenant=acme}\n" + strings.Repeat("main.deep;", CPUDepth-1) + "main.deep 10 {tenant=acme}\n"
	c, query, got := chargedValues(t, text, Query{Value: 0, Weight: Weight{Count: 0}, In: 0})
	if s := c.Sums(query); got["acme"] != 40 || s.Cut != 10 || s.Unknown(c.Key(query, "acme")) != 10 {
		t.Errorf("%v, %d of %d were cut", got, s.Cut, s.Total)
	}
	if c, query, got := chargedValues(t, text, Query{Value: 0, Weight: Weight{Count: 0}, In: -1}); got["acme"] != 50 || c.Sums(query).Cut != 0 {
		t.Errorf("without in: %v", got)
	}
}

// TestCrowdedValues keeps those with the most samples, wherever they are in the profile.
func TestCrowdedValues(t *testing.T) {
	text := "cpu 10s\n"
	for i := range 3 * MostValues {
		text += fmt.Sprintf("main.main 1 {tenant=t%d}\n", i)
	}
	c, query, got := chargedValues(t, text+"main.main 500 {tenant=last}\n", Query{Value: 0, Weight: Weight{Count: 0}, In: -1})
	if s := c.Sums(query); !s.Crowded || len(got) != MostValues || got["last"] != 500 || s.Total != 3*MostValues+500 {
		t.Errorf("%d values, the last with %d of %d, crowded %t", len(got), got["last"], s.Total, s.Crowded)
	}
}

// TestShownValues are bounded, in one line, and differ where values do.
func TestShownValues(t *testing.T) {
	long := strings.Repeat("ä", 500)
	values := []string{"acme", "GET /users/{id}", long, long + "b", "a\nb", "a\rb", "\xff", "\xfe", ""}
	shownAs := map[string]bool{}
	for _, v := range values {
		text := Shown(v)
		if len(text) > 3*longestValue || !utf8.ValidString(text) || strings.ContainsAny(text, "\n\r") || shownAs[text] {
			t.Errorf("%q is shown as %q", v, text)
		}
		shownAs[text] = true
	}
	if !slices.Contains([]string{Shown("acme")}, "acme") {
		t.Error("a plain value is changed")
	}
}
