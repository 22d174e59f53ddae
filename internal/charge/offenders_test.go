package charge_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/pattern"
)

// offenders counts the text and selects offenders among the functions over the limit.
func offenders(t *testing.T, text, module string, limit float64) (explain func() []charge.Explanation, names []string) {
	t.Helper()
	table, err := new(decode.Decoder).Profile(folded.Must(text))
	if err != nil {
		t.Fatal(err)
	}
	counter := &charge.Counter{Names: charge.NewNames(pattern.NewIndex(nil))}
	counter.Names.Module = module
	if err := counter.Names.Learn(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	q := counter.Ask(charge.Query{Value: 1, Weight: charge.Weight{Count: 0}, In: -1, Where: -1, Except: -1, Charge: charge.Inner})
	counter.Open(table)
	sums := counter.Sums(q)
	least := int64(limit * float64(sums.Total))
	over := slices.DeleteFunc(counter.Ranked(q, least), func(key int32) bool { return sums.By(key) <= least })
	keys := counter.Offenders(q, over, 8, least, least)
	for _, key := range keys {
		names = append(names, counter.Name(q, key))
	}
	return func() (out []charge.Explanation) {
		for _, key := range keys {
			out = append(out, counter.Explain(q, key))
		}
		return out
	}, names
}

func TestOffenders(t *testing.T) {
	tests := []struct {
		name, text string
		limit      float64
		want       []string
	}{
		{"nothing is over", "cpu\nmain.main;main.run;main.a 10\n", 1, nil},
		{"a chain is its deepest function", "cpu\nmain.main;main.run;main.a;main.b;main.c 60\nmain.main;main.run;main.d 40\n", 0.5, []string{"main.c"}},
		{"a caller has only what its callees leave", "cpu\nmain.main;main.run;main.a;main.b 40\nmain.main;main.run;main.a;main.c 40\nmain.main;main.run;main.d 20\n", 0.3, []string{"main.b", "main.c"}},
		{"the worst chain first", "cpu\nmain.main;main.run;main.a;main.b 30\nmain.main;main.run;main.c;main.d 50\nmain.main;main.run;main.e 20\n", 0.25, []string{"main.d", "main.b"}},
		{"of a way into the kernel, the door above the floor", "cpu\nmain.main;main.run;main.log;fmt.Println;fmt.Fprintln;os.(*File).Write;internal/poll.(*FD).Write;syscall.Write;syscall.write;syscall.Syscall 60\nmain.main;main.run;main.d 40\n", 0.5, []string{"fmt.Println"}},
		{"recursion", "cpu\nmain.main;main.run;main.walk;main.walk;main.walk;main.leaf 60\nmain.main;main.run;main.walk;main.walk;main.leaf 40\n", 0.5, []string{"main.leaf"}},
		{"mutual recursion, half of it each way", "cpu\nmain.main;main.run;main.a;main.b;main.a;main.b 50\nmain.main;main.run;main.b;main.a 50\n", 0.5, []string{"main.a"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, got := offenders(t, test.text, "", test.limit)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestExplain(t *testing.T) {
	const text = `cpu
main.main@main.go:1;main.run@run.go:2;example.com/app/store.Get@store.go:33;example.com/lib.Do@do.go:7;example.com/lib.do@do.go:9 50
main.main@main.go:1;main.run@run.go:2;example.com/app/store.Get@store.go:34;example.com/lib.Do@do.go:7;example.com/lib.do@do.go:10 10
main.main@main.go:1;main.run@run.go:3;example.com/lib.Do@do.go:7;example.com/lib.do@do.go:11 5
`
	for module, own := range map[string]string{
		"example.com/app":       "example.com/app/store.Get",
		"example.com":           "",                   // each of its functions is charged
		"":                      "example.com/lib.Do", // whatever is not Go's is the user's
		"example.com/ap":        "main.run",
		"example.com/somewhere": "main.run",
	} {
		explain, list := offenders(t, text, module, 0.9)
		if module == "example.com" {
			if diff := cmp.Diff([]string{"example.com/lib.do"}, list); diff != "" {
				t.Fatalf("-want +got:\n%s", diff)
			}
			continue
		}
		if diff := cmp.Diff([]string{"example.com/lib.Do"}, list); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
		e := explain()[0]
		if e.Own.Function != own {
			t.Errorf("module %q: blame %s, want %s", module, e.Own.Function, own)
		}
		if diff := cmp.Diff(charge.Frame{Function: "example.com/lib.Do", File: "do.go", Line: 7, Value: 65e7}, e.Here); diff != "" {
			t.Errorf("here (-want +got):\n%s", diff)
		}
		if own == "example.com/app/store.Get" {
			if diff := cmp.Diff(charge.Frame{Function: own, File: "store.go", Line: 33, Value: 60e7, Own: true}, e.Own); diff != "" {
				t.Errorf("own (-want +got):\n%s", diff)
			}
		}
		var from []string
		for _, f := range e.Callers {
			from = append(from, f.Function)
		}
		if got := strings.Join(from, " "); got != "example.com/app/store.Get main.run main.main" {
			t.Errorf("way in: %s", got)
		}
	}
}

// TestExplainMany: more stacks than are kept give the same numbers, near enough.
func TestExplainMany(t *testing.T) {
	var b strings.Builder
	b.WriteString("cpu\n")
	for i := range 10_000 {
		b.WriteString("main.main;main.run;main.a" + strings.Repeat(";main.x", i%3) + ";main.work@w.go:" + string(rune('1'+i%9)) + " 1\n")
	}
	explain, _ := offenders(t, b.String(), "", 0.9)
	e := explain()
	if len(e) != 1 || math.Abs(float64(e[0].Here.Value)/(10_000*1e7)-1) > 1e-6 {
		t.Errorf("%+v, want all of 10,000 samples", e)
	}
}

// The stacks that Explain keeps stand for all stacks.
func TestExplainManyStacks(t *testing.T) {
	const stacks = 8100 // 4,096 are kept
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "goroutine", Unit: "count"}}, PeriodType: &profile.ValueType{Type: "goroutine", Unit: "count"}, Period: 1}
	id := uint64(0)
	location := func(name string) *profile.Location {
		id++
		f := &profile.Function{ID: id, Name: name}
		l := &profile.Location{ID: id, Line: []profile.Line{{Function: f, Line: 1}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		return l
	}
	main, wait := location("main.serve"), location("example.com/lib.Wait")
	for i := range stacks {
		p.Sample = append(p.Sample, &profile.Sample{Value: []int64{1}, Location: []*profile.Location{location(fmt.Sprintf("runtime.park%d", i)), wait, main}})
	}
	table, err := new(decode.Decoder).Profile(p)
	if err != nil {
		t.Fatal(err)
	}
	c := &charge.Counter{Names: charge.NewNames(pattern.NewIndex(nil))}
	if err := c.Names.Learn(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	query := c.Ask(charge.Query{Unit: charge.Function, Charge: charge.Cumulative, In: -1, Where: -1, Except: -1, Weight: charge.Weight{Count: -1}})
	c.Open(table)
	key, _ := table.Symbols.Find("example.com/lib.Wait")
	e := c.Explain(query, int32(key))
	if e.Here.Value != stacks || len(e.Callers) != 1 || e.Callers[0].Value != stacks {
		t.Errorf("%+v, want %d of %s, all from main.serve", e, stacks, e.Here.Function)
	}
}
