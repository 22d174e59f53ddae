package guard

import (
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/golden"
)

func TestHandler(t *testing.T) {
	noLeaks(t)
	profile := cpuWindow(fullCore).Data
	g := stillGuard(t, instant(profile),
		standingOf("debug-print: no function above 20% cumulative", alert.Firing, offendedBy("fmt.Println")),
		standingOf("goroutines below 5000", alert.Inactive, budget.Result{Verdict: budget.Pass, Share: 12, Limit: 5000, Unit: "count", Reason: "12 goroutines"}))
	id := withDump(t, g, "fmt.Println")
	const html, text, data = "text/html; charset=utf-8", "text/plain; charset=utf-8", "application/octet-stream"
	tests := []struct {
		target string
		status int
		kind   string
		attach bool
		has    string
	}{
		{"/", 200, html, false, "fmt.Println is at 70%"},
		{"/?x=y", 200, html, false, id},
		{"/status.json", 200, "application/json", false, `"sentence": "debug-print: no function above 20% cumulative"`},
		{"/budgets", 200, text, false, "debug-print: no function above 20% cumulative\ngoroutines below 5000\n"},
		{"/dumps/" + id, 200, html, false, `<svg class="flame"`},
		{"/dumps/" + id + "?at=0.0", 200, html, false, "main.serve"},
		{"/dumps/" + id + "?at=9.9", 200, html, false, "debug-print"},
		{"/dumps/" + id + "?at=x", 400, text, false, "expected numbers"},
		{"/dumps/" + id + "/" + id + ".cpu.pb.gz", 200, data, true, "\x1f\x8b"},
		{"/dumps/" + id + "/" + id + ".goroutine.pb.gz", 200, data, true, "companion"},
		{"/dumps/" + id + "/" + id + ".json", 200, "application/json", true, `"budget": "debug-print"`},
		{"/profile", 200, data, true, "\x1f\x8b"},
		{"/profile?seconds=60", 200, data, true, "\x1f\x8b"},
		{"/flame?seconds=1", 200, html, false, `<svg class="flame"`},
		{"/nothing", 404, text, false, "there is no such page"},
		{"/status.json/", 404, text, false, ""},
		{"/dumps", 404, text, false, ""},
		{"/dumps/", 404, text, false, ""},
		{"//", 404, text, false, ""},
	}
	h := g.Handler()
	for _, test := range tests {
		for _, method := range []string{"GET", "HEAD"} {
			r := ask(h, method, test.target)
			got := body(t, r)
			if r.StatusCode != test.status || r.Header.Get("Content-Type") != test.kind {
				t.Errorf("%s %s: %d %q, want %d %q", method, test.target, r.StatusCode, r.Header.Get("Content-Type"), test.status, test.kind)
			}
			if method == "GET" && !strings.Contains(got, test.has) {
				t.Errorf("%s: %q not found in %.2000q", test.target, test.has, got)
			}
			if disposition := r.Header.Get("Content-Disposition"); strings.HasPrefix(disposition, `attachment; filename="profguard-`) != test.attach && (method == "GET" || !test.attach) {
				t.Errorf("%s %s: Content-Disposition %q", method, test.target, disposition)
			}
			for name, want := range map[string]string{
				"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
				"Cross-Origin-Resource-Policy": "same-origin",
			} {
				if r.Header.Get(name) != want {
					t.Errorf("%s %s: %s %q, want %q", method, test.target, name, r.Header.Get(name), want)
				}
			}
			if csp := r.Header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'; ") || !strings.Contains(csp, "frame-ancestors 'none'") {
				t.Errorf("%s %s: policy %q", method, test.target, csp)
			}
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "BREW"} {
		r := ask(h, method, "/")
		if r.StatusCode != 405 || r.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d, Allow %q, want 405", method, r.StatusCode, r.Header.Get("Allow"))
		}
	}
}

// Mounted as the documentation says, with other patterns, and by other routers.
func TestHandlerMounts(t *testing.T) {
	g := stillGuard(t, instant(nil))
	id := withDump(t, g, "main.work")
	plain := http.NewServeMux()
	plain.Handle("/debug/profguard/", g.Handler())
	method := http.NewServeMux()
	method.Handle("GET /debug/profguard/", g.Handler())
	stripped := http.NewServeMux()
	stripped.Handle("/debug/profguard/", http.StripPrefix("/debug/profguard", g.Handler()))
	nested := http.NewServeMux()
	nested.Handle("/debug/", http.StripPrefix("/debug", stripDebug(g)))
	for name, mux := range map[string]http.Handler{"plain": plain, "method": method, "stripped": stripped, "nested": nested} {
		for target, status := range map[string]int{
			"/debug/profguard/": 200, "/debug/profguard/status.json": 200, "/debug/profguard/dumps/" + id: 200,
			"/debug/profguard/dumps/" + id + "/" + id + ".json": 200, "/debug/profguard/x": 404,
		} {
			if r := ask(mux, "GET", target); r.StatusCode != status {
				t.Errorf("%s: %s: %d, want %d", name, target, r.StatusCode, status)
			}
		}
	}
	if r := ask(g.Handler(), "GET", "/budgets"); r.StatusCode != 200 {
		t.Errorf("at the root: %d", r.StatusCode)
	}
	// Without the slash, relative links would lead elsewhere.
	bare := http.StripPrefix("/debug/profguard", g.Handler())
	r := ask(bare, "GET", "/debug/profguard")
	if r.StatusCode != 301 || r.Header.Get("Location") != "profguard/" {
		t.Errorf("without a slash: %d to %q, want 301 to profguard/", r.StatusCode, r.Header.Get("Location"))
	}
}

func stripDebug(g *Guard) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/profguard/", g.Handler())
	return mux
}

func TestHandlerOfNoGuard(t *testing.T) {
	for name, g := range map[string]*Guard{"nil": nil, "zero": {}} {
		h := g.Handler()
		for target, status := range map[string]int{"/": 200, "/status.json": 200, "/budgets": 200, "/profile": 503, "/flame": 503, "/dumps/x": 404, "/dumps/x/y": 404} {
			r := ask(h, "GET", target)
			if got := body(t, r); r.StatusCode != status || target == "/" && !strings.Contains(got, "stopped") {
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
	if r := ask(h, "GET", "/"); !strings.Contains(body(t, r), "none yet") {
		t.Errorf("a running guard's page: %d", r.StatusCode)
	}
	const gone = "/dumps/profguard-20261121T115500.000Z-x-00000000-00000000"
	for _, target := range []string{gone, gone + gone[len("/dumps"):] + ".json"} {
		if r := ask(h, "GET", target); r.StatusCode != 404 || !strings.Contains(body(t, r), "no such dump") {
			t.Errorf("a dump that is not there: %d, want 404", r.StatusCode)
		}
	}
	g.Stop()
	if r := ask(h, "GET", "/"); r.StatusCode != 200 || !strings.Contains(body(t, r), "stopped") {
		t.Errorf("the page: %d", r.StatusCode)
	}
	if r := ask(h, "GET", "/profile?seconds=1"); r.StatusCode != 503 {
		t.Errorf("a live profile: %d, want 503", r.StatusCode)
	}
	for _, target := range []string{gone, gone + gone[len("/dumps"):] + ".json"} {
		r := ask(h, "GET", target)
		if text := body(t, r); r.StatusCode != 404 || !strings.Contains(text, "the guard has stopped") {
			t.Errorf("a dump of a guard that has stopped: %d, %s", r.StatusCode, text)
		}
	}
}

// The document's fields are a promise; its golden file shows them.
func TestStatusJSON(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	fires := offendedBy("fmt.Println")
	fires.Budget = budget.Must("debug-print: no function above 20% cumulative")[0]
	fires.Alarm, fires.Evidence = budget.Fail, 1.5
	s := Status{
		State: statePaused, Reason: "own cost", PausedUntil: at.Add(time.Minute), Started: at, Good: at,
		Window:  WindowStatus{Start: at, Elapsed: 10 * time.Second, Outcome: "ok", Samples: 900, Cores: 0.9, GC: math.NaN(), RSS: 1 << 20, Heap: 1 << 19, Goroutines: 12},
		Windows: map[string]int{"ok": 3, "busy": 1},
		Budgets: []BudgetStatus{
			{Name: "debug-print", Budget: fires.Budget, State: "firing", Since: at, Result: fires, Verdicts: map[string]int64{"fail": 3}, Samples: 2700, Hits: 1890, Dump: "profguard-x", Dumped: at},
			{Name: "portlist absent", Budget: budget.Must("portlist absent")[0], State: "inactive", Since: at, Warning: "no function", Verdicts: map[string]int64{}, Result: budget.Result{High: math.Inf(1)}},
		},
		CPU: 1500 * time.Millisecond, CostShare: 0.001,
		Dumps: map[string]int64{"saved": 1}, Dropped: map[string]int64{"log": 0}, Panics: map[string]int64{},
	}
	data, err := json.MarshalIndent(newStatusDocument(s), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, *update, "status.json", string(data)+"\n")
}

func TestBudgetsPageParsesBack(t *testing.T) {
	set := budget.Default()
	var entries []*entry
	for _, b := range set {
		entries = append(entries, standingOf(b.String(), alert.Inactive, budget.Result{}))
	}
	got, err := budget.Parse(body(t, ask(stillGuard(t, nil, entries...).Handler(), "GET", "/budgets")))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(set, got); diff != "" {
		t.Errorf("budgets (-want +got):\n%s", diff)
	}
}

// What is broken stands first, and a page has an end.
func TestOverviewOrderAndBound(t *testing.T) {
	var entries []*entry
	for range 990 {
		entries = append(entries, standingOf("goroutines below 5000", alert.Inactive, budget.Result{}))
	}
	entries = append(entries,
		standingOf("quiet: goroutines below 5000", alert.Resolved, budget.Result{}),
		standingOf("rising: goroutines below 5000", alert.Pending, budget.Result{}),
		standingOf("broken: goroutines below 5000", alert.Firing, budget.Result{}))
	text := body(t, ask(stillGuard(t, nil, entries...).Handler(), "GET", "/"))
	at := -1
	for _, name := range []string{"broken", "rising", "quiet", "goroutines below 5000</code>", "893 more budgets"} {
		i := strings.LastIndex(text, name)
		if name == "goroutines below 5000</code>" {
			i = strings.Index(text[max(at, 0):], `inactive</span> <code>goroutines`) + max(at, 0)
		}
		if i <= at {
			t.Errorf("%q is at %d, want it after %d", name, i, at)
		}
		at = i
	}
	if len(text) > 200<<10 {
		t.Errorf("the page has %d bytes", len(text))
	}
}

// A panic of ours is ours.
func TestHandlerPanics(t *testing.T) {
	g := stillGuard(t, nil) // a capture that is nil
	r := ask(g.Handler(), "GET", "/profile?seconds=1")
	if r.StatusCode != 500 || g.Status().Panics["page"] != 1 {
		t.Errorf("%d, panics %v, want 500 and one panic of the page", r.StatusCode, g.Status().Panics)
	}
}
