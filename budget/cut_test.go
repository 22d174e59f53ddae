package budget

import (
	"bytes"
	"fmt"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

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
// to questions about it. A reason tells of them where the verdict or the blame may be
// another for them, and "{none}" stands for a reason that does not.
func TestFault_65_CutStacks(t *testing.T) {
	for _, test := range []struct {
		sentence   string
		whole, cut Verdict
		say        string
	}{
		{"fmt.Sprintf below 5% in main.serve", Fail, Inconclusive, "of 300 samples the runtime has cut off the stack"},
		{"fmt.Sprintf absent in main.serve", Fail, Inconclusive, "of 300 samples"},
		{"fmt.Sprintf below 5%", Fail, Fail, ""},
		{"fmt.Sprintf below 5% flat", Fail, Fail, ""},
		{"main.other below 40%", Pass, Inconclusive, "of 300 samples"},
		{"main.other below 90%", Pass, Pass, ""},
		{"main.other below 40% flat", Pass, Pass, ""},
		{"no function above 60%", Pass, Pass, ""},
		{"no function above 36%", Pass, Inconclusive, "of 300 samples"},
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
			if (none || r.Verdict == Pass) && strings.Contains(r.Reason, "cut off") {
				t.Errorf("it tells of a doubt that the verdict does not have: %s", r)
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
	r := judged(t, Must("main.lost grows below 5 points"), folded.Must(cut), Facts{Baseline: folded.Must(strings.ReplaceAll(over, "500", "5000"))})[0]
	if r.Verdict != Inconclusive || !strings.Contains(r.Reason, "; of 900 samples, those of the baseline included, the runtime has cut off") {
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
		if r := judged(t, set, p, Facts{Module: module, Baseline: p})[0]; r.Verdict == Fail {
			t.Errorf("module %q: it grows against itself: %s", module, r)
		}
	}
}
