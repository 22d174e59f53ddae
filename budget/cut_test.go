package budget_test

import (
	"bytes"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	. "github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
)

// deepStacks is a program of which three tenths of the samples stand at the end of a
// recursion: the runtime keeps 64 frames, and main.serve is not among them.
func deepStacks(depth int) string {
	deep := strings.Repeat("main.walk;", depth)
	text := "cpu 10s\n"
	if depth >= 64 {
		text += strings.TrimSuffix(deep[:64*len("main.walk;")], ";main.walk;") + ";fmt.Sprintf 300\n"
	} else {
		text += "net/http.(*conn).serve;main.serve;" + deep + "fmt.Sprintf 300\n"
	}
	return text + "net/http.(*conn).serve;main.serve;main.other 350\nnet/http.(*conn).serve;main.serve;main.rest 350\n"
}

// TestFault_65_CutStacks: samples whose root's side the runtime has dropped are unknown
// to questions about it. "no function" counts what was dropped
// as way in. A reason tells of them where the verdict or the blame may be another for them, and
// "{none}" stands for a reason that does not.
func TestFault_65_CutStacks(t *testing.T) {
	for _, test := range []struct {
		sentence   string
		whole, cut Verdict
		say        string
	}{
		{"fmt.Sprintf below 5% in main.serve", Fail, Inconclusive, "the runtime has cut off the stacks of 300 samples"},
		{"fmt.Sprintf absent in main.serve", Fail, Inconclusive, "of 300 samples"},
		{"fmt.Sprintf below 5%", Fail, Fail, ""},
		{"fmt.Sprintf below 5% flat", Fail, Fail, ""},
		{"main.other below 40%", Pass, Inconclusive, "of 300 samples"},
		{"main.other below 90%", Pass, Pass, ""},
		{"main.other below 40% flat", Pass, Pass, ""},
		{"no function above 60%", Pass, Pass, ""},
		{"no function above 36%", Pass, Pass, "of 300 samples"},
		{"no package above 36% except main", Pass, Pass, ""},
		{"no function above 36% in main.serve", Pass, Inconclusive, "of 300 samples"},
		{"no function above 36% flat", Pass, Pass, ""},
		{"no function above 36% flat in main.serve", Pass, Inconclusive, "of 300 samples"},
		{"no function above 80% except none", Fail, Inconclusive, "of 300 samples"},
		{"no function above 20% except main.*", Fail, Fail, ""},
		{"no function above 20%", Fail, Fail, ""},
		{"portlist absent", Pass, Inconclusive, "of 300 samples"},
		{"fmt.Sprintf absent", Fail, Fail, "{none}"},
		{"process below 2 cores", Pass, Pass, ""},
		{"process below 0.05 cores", Fail, Fail, "{none}"},
	} {
		for depth, want := range map[int]Verdict{30: test.whole, 100: test.cut} {
			r := judged(t, Must(test.sentence), folded.Must(deepStacks(depth)))[0]
			if r.Verdict != want {
				t.Errorf("depth %d: %v, want %v:\n%s", depth, r.Verdict, want, r)
			}
			none := test.say == "{none}"
			if depth == 100 && !none && !strings.Contains(r.Reason, test.say) {
				t.Errorf("the reason does not say %q: %s", test.say, r.Reason)
			}
			if doubtful := depth == 100 && test.say != ""; (none || r.Verdict == Pass && !doubtful) && strings.Contains(r.Reason, "cut off") {
				t.Errorf("it tells of a doubt that the verdict does not have: %s", r)
			}
		}
	}
}

// TestFault_78_80_81_82_CutAnywhere: a stack may have been cut off wherever it is so deep, however
// its bottom function looks, and does not pass then. Its clean twin is known to be whole.
func TestFault_78_80_81_82_CutAnywhere(t *testing.T) {
	deep := func(frames int) string { return strings.Repeat("main.walk;", frames-1) + "fmt.Sprintf 300" }
	period := func(kind string) func(*profile.Profile) {
		return func(p *profile.Profile) { p.PeriodType = &profile.ValueType{Type: kind} }
	}
	for name, test := range map[string]struct {
		limit, cut, whole string
		change            func(*profile.Profile)
	}{
		"CPU":                         {"5% of cpu", deep(64), deep(63), nil},
		"the first of a goroutine":    {"5% of cpu", deep(64) + "\nmain.walk;main.idle 1", deep(63) + "\nmain.walk;main.idle 1", nil},
		"at a panic":                  {"5% of cpu", "runtime.gopanic;" + deep(63), "runtime.main;" + deep(63), nil},
		"at a panic of the runtime":   {"5% of cpu", "runtime.sigpanic;" + deep(63), "runtime.corostart;" + deep(63), nil},
		"of another period":           {"5% of cpu", deep(64), deep(63), period("wall")},
		"without a period":            {"5% of cpu", deep(64), deep(63), period("")},
		"an outer match may be lost":  {"5% of cpu", strings.TrimSuffix(deep(64), "fmt.Sprintf 300") + "main.serve 300", "main.walk;main.serve 300", nil},
		"goroutines":                  {"5% of goroutine", deep(128), deep(111), nil},
		"memory without its leaves":   {"5% of allocs", deep(116) + " 300000000", deep(111) + " 300000000", nil},
		"memory, with the period CPU": {"5% of allocs", deep(116) + " 300000000", deep(111) + " 300000000", period("cpu")},
		"waiting for locks":           {"10 cores of mutex", deep(128) + " 300s", deep(111) + " 300s", nil},
	} {
		kind := test.limit[strings.LastIndexByte(test.limit, ' ')+1:]
		budgets := Must("fmt.Sprintf below " + test.limit + " in main.serve")
		for stacks, want := range map[string]Verdict{test.cut: Inconclusive, test.whole: Pass} {
			p := folded.Must(kind + " 10s\n" + stacks + "\nruntime.main;main.serve;main.rest 700" + map[string]string{"allocs": " 700000000", "mutex": " 700s"}[kind] + "\n")
			if test.change != nil {
				test.change(p)
			}
			if r := judged(t, budgets, p)[0]; r.Verdict != want || strings.Contains(r.Reason, "cut off") != (want == Inconclusive) {
				t.Errorf("%s: want %v:\n%s", name, want, r)
			}
		}
	}
}

//go:noinline
func recurse(n int) int {
	if n == 0 {
		return len(fmt.Sprintf("%d %v %s", n, time.Second, strings.Repeat("x", 100)))
	}
	return recurse(n-1) + 1
}

//go:noinline
func serveDeep(until time.Time) (n int) {
	for time.Now().Before(until) {
		for range 100 {
			n += recurse(100)
		}
	}
	return n
}

// TestCutByRuntime: what the runtime does with a recursion of a hundred frames.
func TestCutByRuntime(t *testing.T) {
	if testing.Short() {
		t.Skip("profiles a program for half a second")
	}
	var b bytes.Buffer
	if err := pprof.StartCPUProfile(&b); err != nil {
		missing(t, "the CPU profiler is taken", err)
	}
	n := serveDeep(time.Now().Add(time.Second / 2))
	pprof.StopCPUProfile()
	results, err := Must("fmt.Sprintf below 5% in budget.serveDeep", "fmt.Sprintf below 99%").JudgeReader(&b, Facts{Module: module})
	if err != nil {
		t.Fatal(err)
	}
	if r := results[0]; r.Verdict == Pass || n == 0 {
		t.Errorf("it passes:\n%s", r)
	}
	for _, r := range results {
		if r.Verdict != Pass && !strings.Contains(r.Reason, "the runtime has cut off") {
			t.Errorf("it does not say what was cut off: %s", r)
		}
	}
}

//go:noinline
func allocate(n int) int {
	if n > 0 {
		return allocate(n-1) + 1
	}
	squares := map[int]int{}
	for i := range 1000 {
		squares[i] = i * i
	}
	return len(squares) + len(fmt.Sprint(make([]byte, 100_000)[:1]))
}

//go:noinline
func serveMemory(depth int) (n int) {
	for range 1000 {
		n += allocate(depth)
	}
	return n
}

// TestFault_80_MemoryOfRuntime: the runtime hides its own frames at the leaf of a stack of memory,
// so that those that it has cut off have different depths.
func TestFault_80_MemoryOfRuntime(t *testing.T) {
	for depth, want := range map[int]Verdict{50: Fail, 200: Inconclusive} {
		taken := func() *profile.Profile {
			runtime.GC() // publishes
			runtime.GC()
			var b bytes.Buffer
			if err := pprof.Lookup("allocs").WriteTo(&b, 0); err != nil {
				t.Fatal(err)
			}
			p, err := profile.ParseData(b.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		before := taken()
		serveMemory(depth)
		before.Scale(-1)
		p, err := profile.Merge([]*profile.Profile{taken(), before})
		if err != nil {
			t.Fatal(err)
		}
		if r := judged(t, Must("budget_test.serveMemory below 5% of allocs"), p)[0]; r.Verdict != want || r.Samples < 100 {
			t.Errorf("depth %d: want %v:\n%s", depth, want, r)
		}
	}
}

// TestCutIsNoEvidence: a window of stacks that were cut off does not end an alarm, and
// shows no growth to be absent.
func TestCutIsNoEvidence(t *testing.T) {
	cut := "cpu 10s\n" + strings.Repeat("main.walk;", 63) + "main.walk 900\nmain.main;main.run;main.rest 100\n"
	over := "cpu 10s\nmain.main;main.run;main.lost 500\nmain.main;main.run;main.rest 500\n"
	for _, sentence := range []string{"main.lost below 5%", "main.lost absent", "fmt absent in main.lost", "fmt below 5% in main.lost"} {
		w, err := newWatch(Must(sentence), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(over, "main.lost 500", "main.lost;fmt.Sprint 500")
		for i := range 60 {
			if i == 10 {
				text = cut
			}
			results, err := w.Profile(folded.Must(text), time.Duration(i)*time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			if r := results[0]; i >= 10 && (r.Verdict == Pass || r.Proven == Pass) {
				t.Fatalf("window %d: %v, alarm %v: %s", i, r.Verdict, r.Proven, r)
			}
		}
	}
	r := judged(t, Must("main.lost grows below 5 points"), folded.Must(cut), Facts{Baseline: Baseline{Profile: folded.Must(strings.ReplaceAll(over, "500", "5000"))}})[0]
	if r.Verdict != Inconclusive || !strings.Contains(r.Reason, "; the runtime has cut off the stacks of 900 samples, including those of the baseline") {
		t.Errorf("growth: %s", r)
	}
}

// TestBaselineOfModule: window and baseline are charged by the same module.
func TestBaselineOfModule(t *testing.T) {
	p := folded.Must(`cpu 10s
example.com/shop.serve;net/http.HandlerFunc.ServeHTTP;example.com/shop.handle;example.com/shop.work 500
example.com/shop.serve;example.com/shop.read;example.com/shop.parse 500
`)
	set := Must("no function grows above 5 points")
	for _, module := range []string{"example.com/shop", "", "example.com/shop"} {
		if r := judged(t, set, p, Facts{Module: module, Baseline: Baseline{Profile: p}})[0]; r.Verdict == Fail {
			t.Errorf("module %q: it grows against itself: %s", module, r)
		}
	}
}

// TestCutBlame: where stacks were cut off, it is not said that no own function has the offender.
func TestCutBlame(t *testing.T) {
	deep := strings.Repeat("example.com/lib.walk;", 63) + "strings.Repeat 600\nmain.main;main.rest 400\n"
	for text, want := range map[string]string{
		"cpu 10s\n" + deep: "the call in your module is unknown: the stacks were cut off",
		"cpu 10s\nexample.com/lib.Run;strings.Repeat 600\n": "no function in your module accounts for most of it",
		"cpu 10s\nruntime.main;main.main;main.run;" + deep:  "called from main.run (100% of it)",
	} {
		results, err := Must("no function above 20%").Judge(folded.Must(text), Facts{Module: "example.com/shop"})
		if err != nil {
			t.Fatal(err)
		}
		if got := results[0].String(); !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
}

// An outer main.walk may have been cut off, and then the one at the leaf is in it.
func TestCutOffFlatInScope(t *testing.T) {
	for frames, want := range map[int]Verdict{62: Pass, 63: Inconclusive} {
		text := "cpu 10s\n" + strings.Repeat("main.other;", frames) + "main.walk 5000\n"
		for _, leaf := range strings.Fields("main.a main.b main.c main.d main.e main.f main.g main.h main.i main.j") {
			text += "main.walk;" + leaf + " 500\n"
		}
		if r := judged(t, Must("no function above 20% flat in main.walk"), folded.Must(text))[0]; r.Verdict != want {
			t.Errorf("%d frames above it:\n%s", frames, r)
		}
	}
}
