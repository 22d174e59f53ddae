package web

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/webtest"
)

func TestHandler(t *testing.T) {
	noLeaks(t)
	c := still(instant(packed(t, chainOf("main.main", "fmt.Println"))))
	id := withDump(t, &c, "fmt.Println")
	const html, text, data, doc = "text/html; charset=utf-8", "text/plain; charset=utf-8", "application/octet-stream", "application/json"
	tests := []struct {
		target string
		status int
		kind   string
		attach bool
		has    string
	}{
		{"/", 200, html, false, `<noscript><p>A script draws this page. Without it, read the status of the budgets <a href="status.txt">`},
		{"/?x=y", 200, html, false, "<script>"},
		{"/status.json", 200, doc, false, `"state":"running"`},
		{"/dumps.json", 200, doc, false, `"budget":{"name":"debug-print","offender":"fmt.Println"},"mark":"first"`},
		{"/budgets", 200, text, false, "goroutines below 5000\n"},
		{"/status.txt", 200, text, false, "running"},
		{"/dumps/" + id, 200, html, false, "<script>"},
		{"/dumps/status.txt", 200, text, false, "running"},
		{"/dumps/" + id + "/" + id + ".cpu.pb.gz", 200, data, true, "\x1f\x8b"},
		{"/dumps/" + id + "/" + id + ".goroutine.pb.gz", 200, data, true, "companion"},
		{"/dumps/" + id + "/" + id + ".json", 200, doc, true, `"name": "debug-print"`},
		{"/dumps/" + id + "/" + id + ".cpu.pb.gz.flame.json", 200, doc, false, `"fmt.Println"`},
		{"/dumps/" + id + "/" + id + ".goroutine.pb.gz.flame.json", 500, text, false, "cannot be drawn"},
		{"/dumps/" + id + "/" + id + ".heap.pb.gz.flame.json", 404, text, false, "no such dump"},
		{"/profile", 200, data, true, "\x1f\x8b"},
		{"/profile?seconds=60", 200, data, true, "\x1f\x8b"},
		{"/flame.json?seconds=1", 200, doc, false, `"names":["main.main","fmt.Println"]`},
		{"/nothing", 404, text, false, "there is no such page"},
		{"/status.json/", 404, text, false, ""},
		{"/dumps", 404, text, false, ""},
		{"/dumps/", 404, text, false, ""},
		{"//", 404, text, false, ""},
	}
	h := New(c)
	for _, test := range tests {
		r := webtest.Ask(h, "GET", test.target)
		got := webtest.Body(t, r)
		if r.StatusCode != test.status || r.Header.Get("Content-Type") != test.kind {
			t.Errorf("%s: %d %q, want %d %q", test.target, r.StatusCode, r.Header.Get("Content-Type"), test.status, test.kind)
		}
		if !strings.Contains(got, test.has) {
			t.Errorf("%s: %q not found in %.2000q", test.target, test.has, got)
		}
		if disposition := r.Header.Get("Content-Disposition"); strings.HasPrefix(disposition, `attachment; filename="profguard-`) != test.attach {
			t.Errorf("%s: Content-Disposition %q", test.target, disposition)
		}
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Resource-Policy": "same-origin", "Content-Security-Policy": policy(),
		} {
			if r.Header.Get(name) != want {
				t.Errorf("%s: %s %q, want %q", test.target, name, r.Header.Get(name), want)
			}
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "BREW"} {
		r := webtest.Ask(h, method, "/")
		if r.StatusCode != 405 || r.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d, Allow %q, want 405", method, r.StatusCode, r.Header.Get("Allow"))
		}
	}
}

// The policy allows the page's own script and style sheet, by their hashes, and
// nothing else; so nothing else may be there.
func TestPolicy(t *testing.T) {
	for _, want := range []string{"default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'"} {
		if !strings.Contains(policy(), want) {
			t.Errorf("the policy lacks %s: %s", want, policy())
		}
	}
	page := string(static())
	for _, part := range []struct{ element, text string }{{"script", script}, {"style", style}} {
		_, rest, _ := strings.Cut(page, "<"+part.element+">")
		found, _, _ := strings.Cut(rest, "</"+part.element+">")
		if found != part.text || !strings.Contains(policy(), part.element+"-src "+hash(found)) {
			t.Errorf("the page's %s is not the one that the policy allows", part.element)
		}
	}
	for _, bad := range []string{"unsafe", "http:", "https:", "*"} {
		if strings.Contains(policy(), bad) {
			t.Errorf("the policy has %s: %s", bad, policy())
		}
	}
	for _, bad := range []string{"style=", "src=", "@import", "url(", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("} {
		if strings.Contains(page, bad) {
			t.Errorf("%q in the page", bad)
		}
	}
	if m := regexp.MustCompile(`<[^>]* on[a-z]+=`).FindString(markup); m != "" {
		t.Errorf("inline event handler: %s", m)
	}
	if strings.Count(page, "<script") != 1 || strings.Count(page, "</script") != 1 {
		t.Error("the page has more than one script, or its script ends early")
	}
}

// Mounted as the documentation says, with other patterns, and by other routers.
func TestMounts(t *testing.T) {
	c := still(instant(nil))
	id := withDump(t, &c, "main.work")
	h := New(c)
	plain := http.NewServeMux()
	plain.Handle("/debug/profguard/", h)
	method := http.NewServeMux()
	method.Handle("GET /debug/profguard/", h)
	stripped := http.NewServeMux()
	stripped.Handle("/debug/profguard/", http.StripPrefix("/debug/profguard", h))
	inner := http.NewServeMux()
	inner.Handle("/profguard/", h)
	nested := http.NewServeMux()
	nested.Handle("/debug/", http.StripPrefix("/debug", inner))
	for name, mux := range map[string]http.Handler{"plain": plain, "method": method, "stripped": stripped, "nested": nested} {
		for target, status := range map[string]int{
			"/debug/profguard/": 200, "/debug/profguard/status.json": 200, "/debug/profguard/dumps/" + id: 200,
			"/debug/profguard/dumps/" + id + "/" + id + ".json": 200, "/debug/profguard/x": 404,
		} {
			if r := webtest.Ask(mux, "GET", target); r.StatusCode != status {
				t.Errorf("%s: %s: %d, want %d", name, target, r.StatusCode, status)
			}
		}
	}
	// Without the slash, relative links would lead elsewhere.
	bare := http.StripPrefix("/debug/profguard", h)
	r := webtest.Ask(bare, "GET", "/debug/profguard")
	if r.StatusCode != 301 || r.Header.Get("Location") != "profguard/" {
		t.Errorf("without a slash: %d to %q, want 301 to profguard/", r.StatusCode, r.Header.Get("Location"))
	}
	if r := webtest.Ask(bare, "HEAD", "/debug/profguard/"); r.StatusCode != 200 {
		t.Errorf("HEAD: %d, want 200", r.StatusCode)
	}
}

// Why there are no dumps is a sentence in dumps.json.
func TestDumpList(t *testing.T) {
	closed, err := dumps.Open(t.TempDir(), dumps.Keep{}, func(dumps.Outcome) {})
	if err != nil {
		t.Fatal(err)
	}
	closed.Close(t.Context())
	tests := []struct {
		name  string
		store *dumps.Store
		note  string
	}{
		{"not configured, or off", nil, "Config.DumpDir is empty, or the guard's state says why"},
		{"stopped", closed, "closed"},
	}
	for _, test := range tests {
		c := still(nil)
		c.Dumps = func() *dumps.Store { return test.store }
		var list dumpList
		if err := json.Unmarshal([]byte(webtest.Body(t, webtest.Ask(New(c), "GET", "/dumps.json"))), &list); err != nil || !strings.Contains(list.Note, test.note) || list.Dumps != nil {
			t.Errorf("%s: %+v, %v", test.name, list, err)
		}
	}
	c := still(nil)
	id := withDump(t, &c, "main.work")
	var list dumpList
	if err := json.Unmarshal([]byte(webtest.Body(t, webtest.Ask(New(c), "GET", "/dumps.json"))), &list); err != nil || len(list.Dumps) != 1 || list.Note != "1 of 1 dumps in "+c.Dir {
		t.Fatalf("%+v, %v", list, err)
	}
	if d := list.Dumps[0]; string(d.ID) != id || !strings.Contains(string(d.Sidecar), "debug-print") || d.Bytes == 0 || d.End.IsZero() {
		t.Errorf("the dump is %+v", d)
	}
}

// A panic of ours is ours, in a page and in a document.
func TestPanics(t *testing.T) {
	c := still(nil) // a capture that is nil
	panics := 0
	c.Panicked = func() { panics++ }
	c.Status = func() any { panic("status") }
	h := New(c)
	for i, target := range []string{"/profile?seconds=1", "/status.json", "/profile?seconds=1"} {
		if r := webtest.Ask(h, "GET", target); r.StatusCode != 500 || panics != i+1 {
			t.Errorf("%s: %d, %d panics, want 500 and %d", target, r.StatusCode, panics, i+1)
		}
	}
	if n := len(h.answers); n != 0 {
		t.Errorf("%d slots were not given back", n)
	}
}
