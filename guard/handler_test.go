package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/golden"
	"github.com/profguard/profguard/internal/loop"
	"github.com/profguard/profguard/internal/profiler"
	"github.com/profguard/profguard/internal/webtest"
)

func TestHandlerOfNoGuard(t *testing.T) {
	for name, g := range map[string]*Guard{"nil": nil, "zero": {}} {
		h := g.Handler()
		for target, status := range map[string]int{"/": 200, "/status.json": 200, "/status.txt": 200, "/budgets": 200, "/profile": 503, "/flame.json": 503, "/dumps/x": 404, "/dumps/x/y": 404} {
			r := webtest.Ask(h, "GET", target)
			if got := webtest.Body(t, r); r.StatusCode != status || target == "/status.json" && !strings.Contains(got, "stopped") {
				t.Errorf("%s guard: %s: %d %s", name, target, r.StatusCode, got)
			}
		}
	}
}

func TestHandlerOfStoppedGuard(t *testing.T) {
	noLeaks(t)
	g, err := Start(newWorld().quiet(Config{DumpDir: t.TempDir()}))
	if err != nil {
		t.Fatal(err)
	}
	h := g.Handler()
	if r := webtest.Ask(h, "GET", "/dumps.json"); !strings.Contains(webtest.Body(t, r), "0 of 0 dumps in ") {
		t.Errorf("a running guard's dumps: %d", r.StatusCode)
	}
	const gone = "/dumps/profguard-20261121T115500.000Z-x-00000000-00000000"
	for _, target := range []string{gone, gone + gone[len("/dumps"):] + ".json"} {
		if r := webtest.Ask(h, "GET", target); r.StatusCode != 404 || !strings.Contains(webtest.Body(t, r), "no such dump") {
			t.Errorf("a dump that is not there: %d, want 404", r.StatusCode)
		}
	}
	stopWhole(t, g)
	if r := webtest.Ask(h, "GET", "/status.json"); r.StatusCode != 200 || !strings.Contains(webtest.Body(t, r), "stopped") {
		t.Errorf("the status: %d", r.StatusCode)
	}
	if r := webtest.Ask(h, "GET", "/profile?seconds=1"); r.StatusCode != 503 {
		t.Errorf("a live profile: %d, want 503", r.StatusCode)
	}
	for _, target := range []string{gone, gone + gone[len("/dumps"):] + ".json"} {
		r := webtest.Ask(h, "GET", target)
		if text := webtest.Body(t, r); r.StatusCode != 404 || !strings.Contains(text, "closed") {
			t.Errorf("a dump of a guard that has stopped: %d, %s", r.StatusCode, text)
		}
	}
}

// The names in status.json are a promise; the golden file shows them.
func TestStatusJSON(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	fires := offendedBy("fmt.Println")
	broken := standingOf("debug-print: no function above 20% cumulative", alert.Firing, fires)
	k := &broken.known
	k.Offender, k.Since, k.Samples, k.Hits = &fires.Offenders[0], at, 2700, 1890
	k.Proven, k.Evidence, k.History = budget.Fail, 1.5, []loop.Past{{Value: 0.7, Verdict: budget.Fail}}
	strange := standingOf("portlist absent", alert.NoData, budget.Result{})
	strange.known.Since, strange.warning = at, "no function"
	g := stillGuard(t, nil, broken, strange)
	broken.dump, broken.dumped = "profguard-x", at
	shows(g, Status{
		State: ActivityPaused, PausedUntil: at.Add(time.Minute), Started: at, Good: at,
		Window:  WindowStatus{Start: at, Elapsed: 10 * time.Second, Outcome: "ok", Samples: 900, Cores: 0.9, GC: 0.1, RSS: 1 << 20, Heap: 1 << 19, Goroutines: 12},
		Next:    at.Add(time.Minute),
		Windows: map[string]int{"ok": 3, "busy": 1}, CPU: 1500 * time.Millisecond, CostShare: 0.001, Dumps: map[string]int64{"saved": 1},
		Panics: map[string]int64{"loop": 0, "metrics": 0, "page": 0},
	}, time.Minute, nil)
	r := webtest.Ask(g.Handler(), "GET", "/status.json")
	if r.StatusCode != 200 {
		t.Fatalf("%d: %s", r.StatusCode, webtest.Body(t, r))
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, []byte(webtest.Body(t, r)), "", "  "); err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`"program": .*`).ReplaceAllString(indented.String(), `"program": "on this machine",`)
	golden.Compare(t, "status.json", text+"\n")
}

// The sentence that accepts an offender is the budget with one more "except", and
// stands in the status, in the log line and nowhere where there is nothing to accept.
func TestAccept(t *testing.T) {
	tests := []struct{ sentence, offender, want string }{
		{"no function above 20% cumulative", "fmt.Println", "no function above 20% cumulative except fmt.Println"},
		{"x: no function above 20% flat except runtime/... for 3 windows", "main.(*T).f", "x: no function above 20% flat except runtime/..., main.(*T).f for 3 windows"},
		{"no function above 20% cumulative", "main.Map[go.shape.struct { A int; B string }]", "no function above 20% cumulative except main.Map"},
		{"no function above 20% cumulative", "operator new(unsigned long)", `no function above 20% cumulative except "operator new(unsigned long)"`},
		{"no package above 20% cumulative", "encoding/json", "no package above 20% cumulative except encoding/json"},
		{"no function above 20% cumulative except none", "fmt.Println", ""},
		{"fmt.Println below 20% cumulative", "fmt.Println", ""},
		{"goroutines below 5000", "main.leak", ""},
		{"no function above 20% cumulative", "", ""},
	}
	for _, test := range tests {
		r := offendedBy(test.offender)
		if test.offender == "" {
			r.Offenders = nil
		}
		e := standingOf(test.sentence, alert.Firing, r)
		s := stillGuard(t, nil, e).Status().Budgets[0]
		if s.Accept != test.want {
			t.Errorf("%s, offender %q: accepted by %q, want %q", test.sentence, test.offender, s.Accept, test.want)
		}
		var log strings.Builder
		slogSink(slog.New(slog.NewTextHandler(&log, nil)), "")(Event{Name: EventFiring, Budget: e.Name, Result: e.known.Last})
		_, accept, ok := strings.Cut(log.String(), " accept=") // the last of the line
		except, err := strconv.Unquote(strings.TrimSpace(accept))
		if ok != (test.want != "") || ok && (err != nil || !strings.Contains(test.want, strings.TrimPrefix(except, "except "))) {
			t.Errorf("%s: the log line is %s", test.sentence, log.String())
		}
		if test.want == "" {
			continue
		}
		if set, err := budget.Parse(s.Accept); err != nil || set[0].String() != s.Accept {
			t.Errorf("%q does not parse back: %v", s.Accept, err)
		}
		if got := s.Result.Budget.Except; slices.Contains(got, test.offender) {
			t.Errorf("%s: the budget in force has become %v", test.sentence, s.Result.Budget)
		}
	}
}

// status.txt has what a reader of the page without its script wants to know.
func TestStatusText(t *testing.T) {
	e := standingOf("x: no function above 20% cumulative", alert.Firing, offendedBy("fmt.Println"))
	e.warning = "of something"
	got := webtest.Body(t, webtest.Ask(stillGuard(t, nil, e).Handler(), "GET", "/status.txt"))
	at := 0
	for _, want := range []string{"guard: running\n", "\nfiring (last window: fail): x: no function above 20% cumulative\n", "\n  1. fmt.Println ", "\n  warning: of something\n", "\n  to accept the first offender: x: no function above 20% cumulative except fmt.Println (only for a while"} {
		next := strings.Index(got[at:], want)
		if next < 0 {
			t.Fatalf("%q is not behind what comes before it:\n%s", want, got)
		}
		at += next
	}
}

// A Guard that was not started serves its pages, too.
func TestHandlerOfZeroGuard(t *testing.T) {
	g := new(Guard)
	if r := webtest.Ask(g.Handler(), "GET", "/status.json"); r.StatusCode != 200 {
		t.Errorf("status.json: %d", r.StatusCode)
	}
	g.notePanic("page")
	if n := panicsOf(g, "page"); n != 1 {
		t.Errorf("%d panics, want one", n)
	}
}

// Every handler of a guard is the same one, so its limits hold for all.
func TestHandlerIsShared(t *testing.T) {
	g := stillGuard(t, nil)
	if g.Handler() != g.Handler() {
		t.Error("two handlers of one guard are not the same")
	}
}

// A profile at /debug/pprof/profile, served by the two lines of the documentation,
// shares the profiler with a window of the guard.
func TestProfileDuringWindow(t *testing.T) {
	if profiler.HeldByTest() {
		t.Skip("go test -cpuprofile holds the profiler")
	}
	g := stillGuard(t, profiler.Process().Capture)
	ctx, cancel := context.WithCancel(t.Context())
	window := make(chan struct{})
	go func() {
		defer close(window)
		for ctx.Err() == nil { // again when the test itself has the profiler just then
			profiler.Process().Capture(ctx, time.Minute)
		}
	}()
	defer func() { cancel(); <-window }()
	other := http.NewServeMux()
	other.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux := http.NewServeMux()
	mux.Handle("/debug/pprof/", other) // in the documentation http.DefaultServeMux
	eventually(t, "the window takes the profiler", func() bool {
		time.Sleep(100 * time.Millisecond) // its turn, should it have come second
		return webtest.Ask(mux, "GET", "/debug/pprof/profile?seconds=1").StatusCode == 500
	})
	mux.Handle("/debug/pprof/profile", http.StripPrefix("/debug/pprof", g.Handler()))
	if r := webtest.Ask(mux, "GET", "/debug/pprof/profile?seconds=1"); r.StatusCode != 200 {
		t.Errorf("in a window: %d %s, want 200", r.StatusCode, webtest.Body(t, r))
	}
}

func TestBudgetsPageParsesBack(t *testing.T) {
	set := budget.Default()
	var entries []*entry
	for _, b := range set {
		entries = append(entries, standingOf(b.String(), alert.NoData, budget.Result{}))
	}
	g := stillGuard(t, nil, entries...)
	shows(g, Status{State: ActivityRunning}, time.Minute, set)
	text := webtest.Body(t, webtest.Ask(g.Handler(), "GET", "/budgets"))
	got, err := budget.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(text, "\n") {
		t.Error("the last line does not end, so nothing can be appended to it")
	}
	if diff := cmp.Diff(set, got); diff != "" {
		t.Errorf("budgets (-want +got):\n%s", diff)
	}
}

// What the page says to write does accept the offender: the same profile passes then.
func TestAcceptAccepts(t *testing.T) {
	for _, sentence := range []string{"no function above 20% cumulative", "no function above 20% flat", "no package above 20% cumulative"} {
		p := folded.Must(`cpu 10s
runtime.main;main.main;main.serve;encoding/json.Marshal[go.shape.struct { A int }];encoding/json.encode 600
runtime.main;main.main;main.serve;main.other 10
` + manyFunctions(390))
		r := judgedAlone(t, sentence, p)
		accept := r.Accept(1)
		if r.Verdict != budget.Fail || accept == "" {
			t.Errorf("%s: %v", sentence, r)
			continue
		}
		if again := judgedAlone(t, accept, p); again.Verdict != budget.Pass {
			t.Errorf("%s: %v", accept, again)
		}
	}
}

// manyFunctions is so many samples, each in a function and a package of its own.
func manyFunctions(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "runtime.main;main.main;main.serve;example.com/p%d.f 1\n", i)
	}
	return b.String()
}

// judgedAlone is the result of one sentence.
func judgedAlone(t *testing.T, sentence string, p *profile.Profile) budget.Result {
	t.Helper()
	results, err := budget.Must(sentence).Judge(p, budget.Facts{})
	if err != nil {
		t.Fatal(err)
	}
	return results[0]
}
