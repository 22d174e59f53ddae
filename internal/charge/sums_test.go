package charge_test

import (
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/pattern"
)

// Numbers of the patterns and conditions that the tests ask for.
const (
	patternRun = iota
	patternLib
)

const everything = -1

func counter(t *testing.T, text string) (*charge.Counter, *decode.Table) {
	t.Helper()
	return counterOf(t, text, "main.run", "example.com/lib")
}

// counterOf is a counter with patterns of its own.
func counterOf(t *testing.T, text string, texts ...string) (*charge.Counter, *decode.Table) {
	t.Helper()
	table, err := new(decode.Decoder).Profile(folded.Must(text))
	if err != nil {
		t.Fatal(err)
	}
	var patterns []*pattern.Pattern
	for _, s := range texts {
		p, err := pattern.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		patterns = append(patterns, p)
	}
	names := charge.NewNames(pattern.NewIndex(patterns))
	if err := names.Learn(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	return &charge.Counter{
		Names: names, Patterns: len(patterns),
		Where: [][]charge.Label{{{Key: "a", Value: "1"}}, {{Key: "a", Value: "1"}, {Key: "b", Value: "2"}}},
	}, table
}

// answer counts one query and names its keys.
func answer(t *testing.T, text string, q charge.Query) (map[string]int64, *charge.Sums) {
	t.Helper()
	c, table := counter(t, text)
	n := c.Ask(q)
	c.Open(table)
	sums := c.Sums(n)
	got := map[string]int64{}
	for _, key := range sums.Keys {
		if q.Unit == charge.Pattern {
			got[[]string{"run", "lib"}[key]] = sums.By(key)
		} else {
			got[c.Name(n, key)] = sums.By(key)
		}
	}
	return got, sums
}

const stacks = `cpu 10s
main.main;main.serve;main.run;example.com/lib.Do;example.com/lib.do 10 {a=1}
main.main;main.serve;main.run;~main.small;main.run;main.leaf 20 {a=1, b=2}
main.main;main.serve;main.other 30
main.main;main.serve 5
`

func TestCharges(t *testing.T) {
	tests := []struct {
		name  string
		query charge.Query
		total int64
		want  map[string]int64
	}{
		{"flat", charge.Query{Charge: charge.Flat, In: everything, Where: everything, Except: everything}, 65,
			map[string]int64{"example.com/lib.do": 10, "main.leaf": 20, "main.other": 30, "main.serve": 5}},
		{"cumulative, each sample once however often a function recurs", charge.Query{Charge: charge.Cumulative, In: everything, Where: everything, Except: everything}, 65,
			map[string]int64{"main.main": 65, "main.serve": 65, "main.run": 30, "example.com/lib.Do": 10, "example.com/lib.do": 10, "main.small": 20, "main.leaf": 20, "main.other": 30}},
		{"inner: entry points with their own bodies only, and foreign code at its door", charge.Query{Charge: charge.Inner, In: everything, Where: everything, Except: everything}, 65,
			map[string]int64{"main.serve": 5, "main.run": 30, "example.com/lib.Do": 10, "main.small": 20, "main.leaf": 20, "main.other": 30}},
		{"in: what the outermost match calls", charge.Query{Charge: charge.Cumulative, In: patternRun, Where: everything, Except: everything}, 30,
			map[string]int64{"main.run": 20, "example.com/lib.Do": 10, "example.com/lib.do": 10, "main.small": 20, "main.leaf": 20}},
		{"packages", charge.Query{Unit: charge.Package, Charge: charge.Cumulative, In: everything, Where: everything, Except: everything}, 65,
			map[string]int64{"main": 65, "example.com/lib": 10}},
		{"patterns", charge.Query{Unit: charge.Pattern, Charge: charge.Cumulative, In: everything, Where: everything, Except: everything}, 65,
			map[string]int64{"run": 30, "lib": 10}},
		{"patterns, flat", charge.Query{Unit: charge.Pattern, Charge: charge.Flat, In: everything, Where: everything, Except: everything}, 65,
			map[string]int64{"lib": 10}},
		{"a label", charge.Query{Charge: charge.Flat, In: everything, Where: 0, Except: everything}, 30,
			map[string]int64{"example.com/lib.do": 10, "main.leaf": 20}},
		{"two labels", charge.Query{Charge: charge.Flat, In: everything, Where: 1, Except: everything}, 20,
			map[string]int64{"main.leaf": 20}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.query.Weight.Count = -1
			got, sums := answer(t, stacks, test.query)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if sums.Total != test.total {
				t.Errorf("total %d, want %d", sums.Total, test.total)
			}
		})
	}
}

// TestInterrupts: what the runtime put on top of a function is that function's.
func TestInterrupts(t *testing.T) {
	const text = `cpu 10s
main.main;main.run;main.work;runtime.asyncPreempt 3
main.main;main.run;runtime.asyncPreempt 4
`
	for frames, want := range map[charge.Charge]map[string]int64{
		charge.Inner: {"main.work": 3, "main.run": 4},
		charge.Flat:  {"main.work": 3, "main.run": 4},
	} {
		got, _ := answer(t, text, charge.Query{Charge: frames, In: everything, Where: everything, Except: everything, Weight: charge.Weight{Count: -1}})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

// TestInLeaf: "in" keeps to what a function calls, so its own body is none of it.
func TestInLeaf(t *testing.T) {
	got, sums := answer(t, "cpu 10s\nmain.main;main.run 7\n", charge.Query{Charge: charge.Cumulative, In: patternRun, Where: everything, Except: everything, Weight: charge.Weight{Count: -1}})
	if len(got) > 0 || sums.Total != 7 {
		t.Errorf("charged %v of %d, want nothing of 7", got, sums.Total)
	}
}

func TestLiving(t *testing.T) {
	got, _ := answer(t, `goroutine
main.worker;sync.(*WaitGroup).Wait;sync.runtime_SemacquireWaitGroup;runtime.gopark 3
main.worker;runtime.chanrecv1;runtime.gopark 4
sync.(*WaitGroup).Go.func1;main.open.func2;runtime.chanrecv1;runtime.gopark 5
runtime.bgsweep;runtime.gopark 1
`, charge.Query{Charge: charge.Living, In: everything, Where: everything, Except: everything, Weight: charge.Weight{Count: -1}})
	if diff := cmp.Diff(map[string]int64{"main.worker": 7, "main.open.func2": 5}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestNegativeValuesAreLeftOut(t *testing.T) {
	got, sums := answer(t, "cpu 10s\nmain.a 5\nmain.a -9\nmain.b -3\n", charge.Query{Charge: charge.Flat, In: everything, Where: everything, Except: everything, Weight: charge.Weight{Count: -1}})
	if diff := cmp.Diff(map[string]int64{"main.a": 5}, got); diff != "" || sums.Total != 5 {
		t.Errorf("total %d, want 5; -want +got:\n%s", sums.Total, diff)
	}
}

// TestObservations: how many observations values are worth.
func TestObservations(t *testing.T) {
	count := charge.Weight{Count: 0}
	heap := charge.Weight{Count: 2, Bytes: 3, Rate: 512 << 10}
	tests := []struct {
		name, text string
		query      charge.Query
		want       float64
	}{
		{"cpu samples weigh the same", "cpu 10s\na 300\nb 700\n", charge.Query{Value: 1, Weight: count}, 1000},
		{"one delay that outweighs a hundred", "mutex\na 1 100s\nb 100 100ms\n", charge.Query{Value: 1, Weight: count}, 1.002},
		{"equal delays", "mutex\na 10 10ms\nb 30 30ms\n", charge.Query{Value: 1, Weight: count}, 40},
		{"goroutines are each one", "goroutine\na 10\nb 30\n", charge.Query{Weight: charge.Weight{Count: -1}}, 40},
		// 100 MiB at one observation in 512 KiB are 200 of them, whether they are in
		// few objects or in many.
		{"large objects", "heap\na 100 104857600\n", charge.Query{Value: 3, Weight: heap}, 200},
		{"a huge object", "heap\na 1 104857600\n", charge.Query{Value: 3, Weight: heap}, 200},
		// As a count, the 100 objects are those 86.5 that 1-exp(-2) of them show.
		{"number of large objects", "heap\na 100 104857600\n", charge.Query{Value: 2, Weight: heap}, 100 * (1 - math.Exp(-2))},
		// Of a million bytes in objects of 16, about two have been seen.
		{"small objects", "heap\na 65536 1048576\n", charge.Query{Value: 3, Weight: heap}, 2},
		{"every object", "heap rate=1\na 65536 1048576\n", charge.Query{Value: 3, Weight: charge.Weight{Count: 2, Bytes: 3}}, 65536},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.query.In, test.query.Where, test.query.Except = everything, everything, everything
			if _, sums := answer(t, test.text, test.query); math.Abs(sums.N-test.want) > 1e-3*test.want {
				t.Errorf("worth %g observations, want %g", sums.N, test.want)
			}
		})
	}
}

func TestFault_38_SumsSaturate(t *testing.T) {
	got, sums := answer(t, "goroutine\na 9223372036854775807\na 9223372036854775807\nb 1\n", charge.Query{In: everything, Where: everything, Except: everything, Weight: charge.Weight{Count: -1}})
	_, one := answer(t, "goroutine\na 9223372036854775807\n", charge.Query{In: everything, Where: everything, Except: everything, Weight: charge.Weight{Count: -1}})
	for _, sums := range []*charge.Sums{sums, one} {
		if sums.Total != math.MaxInt64 || sums.N != 1e15 { // a result has it as an int64
			t.Errorf("total %d, worth %g", sums.Total, sums.N)
		}
	}
	if got["a"] != math.MaxInt64 {
		t.Errorf("a has %d, want %d", got["a"], int64(math.MaxInt64))
	}
	for _, test := range []struct{ a, b, want int64 }{
		{1, 2, 3},
		{math.MaxInt64, 1, math.MaxInt64},
		{math.MinInt64, -1, math.MinInt64},
		{math.MaxInt64, math.MinInt64, -1},
	} {
		if got := decode.AddSaturating(test.a, test.b); got != test.want {
			t.Errorf("%d + %d = %d, want %d", test.a, test.b, got, test.want)
		}
	}
}

// TestCutRecursion: a function that calls itself has each sample once also where the runtime
// has cut the stack off. Of those that it has, nothing is unknown of it.
func TestCutRecursion(t *testing.T) {
	c, table := counter(t, "cpu 10s\n"+strings.Repeat("main.f;", 70)+"main.leaf 10\n")
	q := c.Ask(charge.Query{Charge: charge.Inner, In: everything, Where: everything, Except: everything, Weight: charge.Weight{Count: -1}})
	c.Open(table)
	sums := c.Sums(q)
	if sums.Cut != 10 {
		t.Fatalf("%d samples are of stacks that were cut off, want 10", sums.Cut)
	}
	for _, key := range sums.Keys {
		if n := sums.Unknown(key); n != 0 {
			t.Errorf("%s: %d samples are unknown, want 0", c.Name(q, key), n)
		}
	}
}

// TestFault_87_WhereKey: the same value of another label is another label.
func TestFault_87_WhereKey(t *testing.T) {
	c, table := counter(t, "cpu 10s\nmain.f 7 {tenant=a}\nmain.f 20 {owner=a}\nmain.f 40 {tenant=b}\n")
	c.Where = [][]charge.Label{{{Key: "tenant", Value: "a"}}}
	q := c.Ask(charge.Query{Charge: charge.Cumulative, In: everything, Where: 0, Except: everything, Weight: charge.Weight{Count: -1}})
	c.Open(table)
	if got := c.Sums(q).Total; got != 7 {
		t.Errorf("%d samples are of tenant a, want 7", got)
	}
}

// TestReuse counts profile after profile with one counter: it must not remember
// anything of the one before, nor allocate.
func TestReuse(t *testing.T) {
	c, table := counter(t, stacks)
	q := c.Ask(charge.Query{Charge: charge.Cumulative, In: everything, Where: everything, Except: everything, Weight: charge.Weight{Count: -1}})
	c.Open(table)
	charged := func() map[int32]int64 {
		by := map[int32]int64{}
		for _, key := range c.Sums(q).Keys {
			by[key] = c.Sums(q).By(key)
		}
		return by
	}
	first := charged()
	allocs := testing.AllocsPerRun(10, func() {
		c.Open(table)
		c.Sums(q)
	})
	if diff := cmp.Diff(first, charged()); diff != "" {
		t.Errorf("the second count differs (-first +second):\n%s", diff)
	}
	if allocs > 0 {
		t.Errorf("counting again allocates %.0f times", allocs)
	}
}

// TestFault_70_PatternsOfDeepStacks: where many patterns match each frame of a deep stack,
// counting takes no memory for each frame and pattern, which would be 16 MiB or more.
func TestFault_70_PatternsOfDeepStacks(t *testing.T) {
	const pairs, most = 2000, 2 << 20
	stack := "runtime.main;main.main;main.begin" + strings.Repeat(";main.begin;main.work", pairs)
	texts := slices.Repeat([]string{"main.work"}, 1000)
	begin := int32(len(texts))
	c, table := counterOf(t, "cpu 10s\n"+stack+" 7\n", append(texts, "main.begin")...)
	q := charge.Query{Unit: charge.Pattern, Charge: charge.Cumulative, In: everything, Where: everything, Except: everything, Weight: charge.Weight{Count: -1}}
	all := c.Ask(q)
	q.Charge = charge.Inner // the entry point, begin, is not charged, also where it calls itself
	inner := c.Ask(q)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c.Open(table)
	c.Sums(all)
	c.Sums(inner)
	runtime.ReadMemStats(&after)
	if spent := after.TotalAlloc - before.TotalAlloc; spent > most {
		t.Errorf("counting allocated %d KiB, want at most %d", spent>>10, most>>10)
	}
	for key := range begin + 1 {
		if got := c.Sums(all).By(key); got != c.Sums(all).Total || got == 0 {
			t.Fatalf("pattern %d: charged %d of %d, want all", key, got, c.Sums(all).Total)
		}
		want := c.Sums(inner).Total
		if key == begin {
			want = 0
		}
		if got := c.Sums(inner).By(key); got != want {
			t.Fatalf("pattern %d: inner charged %d, want %d", key, got, want)
		}
	}
}
