package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/profiler"
	"github.com/profguard/profguard/internal/webtest"
)

func TestFault_61_Origins(t *testing.T) {
	c := still(instant(packed(t, chainOf("main.main"))))
	id := withDump(t, &c, "main.work")
	h := New(c)
	navigation := []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}
	tests := []struct {
		name   string
		method string
		target string
		header []string
		status int
	}{
		{"curl", "GET", "/", nil, 200},
		{"typed", "GET", "/profile", []string{"Sec-Fetch-Site", "none"}, 200},
		{"own page", "GET", "/profile", []string{"Sec-Fetch-Site", "same-origin"}, 200},
		{"own script", "GET", "/status.json", []string{"Origin", "http://127.0.0.1:8080"}, 200},
		{"cross-origin POST", "POST", "/", []string{"Origin", "https://evil.example"}, 403},
		{"cross-site POST", "POST", "/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 403},
		{"own POST", "POST", "/", []string{"Origin", "http://127.0.0.1:8080", "Sec-Fetch-Site", "same-origin"}, 405},
		{"opaque origin", "GET", "/", []string{"Origin", "null"}, 403},
		{"another port", "GET", "/", []string{"Origin", "http://127.0.0.1:9090"}, 403},
		{"no origin", "GET", "/", []string{"Origin", "://"}, 403},
		{"fetch by another site", "GET", "/status.json", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "empty"}, 403},
		{"sibling site", "GET", "/status.json", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"link in a dashboard", "GET", "/", navigation, 200},
		{"link to a dump", "GET", "/dumps/" + id, navigation, 200},
		{"link that starts a profile", "GET", "/profile", navigation, 403},
		{"link that starts a flame graph", "GET", "/flame.json", navigation, 403},
		{"link to the dumps", "GET", "/dumps.json", navigation, 403},
		{"link to a file", "GET", "/dumps/" + id + "/" + id + ".json", navigation, 403},
		{"frame", "GET", "/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, 403},
		{"unknown site", "GET", "/", []string{"Sec-Fetch-Site", "future"}, 403},
	}
	for _, host := range []string{"evil.example", "evil.example:8080", "web-1.example.com.evil.example", "127.0.0.1.evil.example",
		"localhost.evil.example", "1.2.3", "xsvc.example", "local.example", "a.b@127.0.0.1", "web-2.example.com"} {
		tests = append(tests, struct {
			name   string
			method string
			target string
			header []string
			status int
		}{"rebound " + host, "GET", "/", []string{"Host", host}, 403})
	}
	for _, host := range []string{"127.0.0.1", "10.0.0.7:80", "[::1]:8080", "[fe80::1]", "::1", "localhost", "LOCALHOST:80", "localhost.", "web-1",
		"web-1.example.com", "WEB-1.example.com:8080", "shop.default.svc:80", "shop.default.svc.cluster.local", "box.internal", "nas.home.arpa", "a.localhost", ""} {
		tests = append(tests, struct {
			name   string
			method string
			target string
			header []string
			status int
		}{"own " + host, "GET", "/", []string{"Host", host}, 200})
	}
	for _, test := range tests {
		r := webtest.Ask(h, test.method, test.target, test.header...)
		if got := webtest.Body(t, r); r.StatusCode != test.status {
			t.Errorf("%s: %d, want %d: %.200s", test.name, r.StatusCode, test.status, got)
		}
	}
	// A certificate proves the name.
	server := httptest.NewTLSServer(h)
	defer server.Close()
	request, _ := http.NewRequest("GET", server.URL, nil)
	request.Host = "shop.example.com"
	r, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != 200 {
		t.Errorf("over TLS: %d, want 200", r.StatusCode)
	}
}

func TestFault_62_PathsThatLeaveTheStore(t *testing.T) {
	c := still(nil)
	id := withDump(t, &c, "main.work")
	h := New(c)
	mux := http.NewServeMux()
	mux.Handle("/debug/profguard/", http.StripPrefix("/debug/profguard", h))
	for _, path := range []string{
		"dumps/../../etc/passwd", "dumps/..%2f..%2fetc%2fpasswd", "dumps/%2e%2e/%2e%2e/etc/passwd", "dumps//etc/passwd", "dumps/%2fetc%2fpasswd",
		"dumps/" + id + "/../../etc/passwd", "dumps/" + id + "/..%2fprofguard-lock", "dumps/" + id + "/%2fetc%2fpasswd",
		"dumps/" + id + "/profguard-lock", "dumps/" + id + "/" + id + ".json%00", "dumps/" + id + "%00", "dumps/" + id + "%00/" + id + ".json",
		"dumps/" + id + "/" + id + ".json.bak", "dumps/" + id + "/" + id + ".json/", "dumps/" + id + "/", "dumps/" + id + ".json",
		"dumps/..", "dumps/.", "dumps/%2e%2e", "dumps/" + id + `/..\` + id + ".json", "dumps/" + id + "/C:" + id + ".json",
		"dumps/" + strings.ToUpper(id), "dumps/" + id + "x", "dumps/" + id[:len(id)-1] + "z/" + id + ".json",
		"dumps/" + strings.Repeat("a", 100_000), "dumps/" + id + "/" + id + ".trace.out", "../status.json", "dumps/" + id + "/" + id + "%252ejson",
	} {
		// As a path that the mux has cleaned or has let through, and straight to the
		// handler, which other routers may not have cleaned.
		for name, h := range map[string]http.Handler{"mux": mux, "bare": http.StripPrefix("/debug/profguard", h)} {
			r := webtest.Ask(h, "GET", "/debug/profguard/"+path)
			got := webtest.Body(t, r)
			redirected := name == "mux" && r.StatusCode/100 == 3 // the mux's own cleaning
			if r.StatusCode != 404 && !redirected || strings.Contains(got, "root:") {
				t.Errorf("%s: %.200s: %d, want 404: %.200s", name, path, r.StatusCode, got)
			}
		}
	}
	for _, path := range []string{"dumps/" + id, "dumps/" + id + "/" + id + ".json"} {
		if r := webtest.Ask(mux, "GET", "/debug/profguard/"+path); r.StatusCode != 200 {
			t.Errorf("clean twin %s: %d, want 200", path, r.StatusCode)
		}
	}
}

// hostile are names that somebody chose to break a page.
var hostile = []string{
	`</script><script>alert(1)</script>`, `</title></svg><img src=x onerror=alert(1)>`, `"><img src=x onerror=alert(1)>`,
	`" onmouseover="alert(1)`, `' onload='x`, "`", `javascript:alert(1)`, `<!--`, `&lt;b&gt;`, `{{.}}`, `</style><b>`,
	"a\u2028b\u2029c", "a\x00b", "\x1b[31m", "a\nb\r\tc", "\u202egnp.exe", "\ufeff", "bad\xffutf8", "\ud7ff\uffff", strings.Repeat("x", 5000),
}

// Names reach the browser as JSON, in which nothing ends a script or a line, and never
// as a part of the page. What the script makes of them is tested in a browser.
func TestFault_63_HostileNames(t *testing.T) {
	tame := webtest.Body(t, webtest.Ask(New(still(nil)), "GET", "/"))
	for _, name := range hostile {
		c := still(instant(packed(t, chainOf("main.main", name))))
		c.Status = func() any { return map[string]string{"program": name, "reason": name} }
		c.Module, c.Hostname = name, name
		id := withDump(t, &c, name)
		h := New(c)
		for _, target := range []string{"/", "/dumps/" + id} {
			if got := webtest.Body(t, webtest.Ask(h, "GET", target)); got != tame {
				t.Errorf("%s with %.60q is another page", target, name)
			}
		}
		for _, target := range []string{"/status.json", "/dumps.json", "/flame.json?seconds=1", "/dumps/" + id + "/" + id + ".json", "/dumps/" + id + "/" + id + ".cpu.pb.gz.flame.json"} {
			r := webtest.Ask(h, "GET", target)
			got := webtest.Body(t, r)
			if r.StatusCode != 200 || r.Header.Get("Content-Type") != "application/json" || !json.Valid([]byte(got)) {
				t.Errorf("%s with %.60q: %d %s", target, name, r.StatusCode, r.Header.Get("Content-Type"))
			}
			for _, bad := range []string{"<", "\u2028", "\u2029", "\x00"} {
				if strings.Contains(got, bad) {
					t.Errorf("%s with %.60q: found %q", target, name, bad)
				}
			}
		}
		// Errors and headers are one line of what is printable.
		r := webtest.Ask(h, "GET", "/profile?seconds="+url.QueryEscape(name))
		if got := webtest.Body(t, r); r.StatusCode != 400 || r.Header.Get("Content-Type") != "text/plain; charset=utf-8" || pattern.Visible(strings.TrimSuffix(got, "\n")) != strings.TrimSuffix(got, "\n") {
			t.Errorf("the error is %d %q", r.StatusCode, got)
		}
	}
}

func TestFault_64_Seconds(t *testing.T) {
	asked := make(chan time.Duration, 1)
	h := New(still(func(_ context.Context, d time.Duration) (profiler.Window, error) {
		asked <- d
		return profiler.Window{}, errors.New("enough")
	}))
	for _, seconds := range []string{"1e9", "-1", "0", "61", "1.5", "NaN", "inf", "0x10", "9999999999999999999", "ten", "1%00", "%31%30%20", "+"} {
		for _, page := range []string{"/profile", "/flame.json"} {
			r := webtest.Ask(h, "GET", page+"?seconds="+seconds)
			if got := webtest.Body(t, r); r.StatusCode != 400 || !strings.Contains(got, "from 1 to 60") {
				t.Errorf("%s?seconds=%s: %d %s, want 400 and what is allowed", page, seconds, r.StatusCode, got)
			}
		}
	}
	for seconds, want := range map[string]time.Duration{"?seconds=1": time.Second, "?seconds=60": time.Minute, "": 10 * time.Second, "?seconds=": 10 * time.Second} {
		webtest.Ask(h, "GET", "/profile"+seconds)
		if got := receive(t, "the capture", asked); got != want {
			t.Errorf("%q: a capture of %v, want %v", seconds, got, want)
		}
	}
}
