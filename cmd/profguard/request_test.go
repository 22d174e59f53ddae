package main

import (
	"bytes"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/profguard/profguard/internal/waiting"
)

// guarded is a service that wants the header, and repeats what it refuses.
func guarded(t *testing.T, want *atomic.Value) http.Handler {
	inner := working(t, true).Config.Handler
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != want.Load() {
			http.Error(w, "refused: "+got, http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	})
}

// secretFile is the name of a file with a text.
func secretFile(t *testing.T, text string) string {
	name := filepath.Join(t.TempDir(), "secret")
	put(t, name, text)
	return name
}

func TestCredentials(t *testing.T) {
	for text, want := range map[string]string{
		"abc\n": "Bearer abc", "Bearer abc": "Bearer abc", "authorization:  Bearer  abc\r\n": "Bearer abc", "Bearer a:b": "Bearer a:b",
		"shop:pass word": "Basic c2hvcDpwYXNzIHdvcmQ=", "shop: pass": "Basic c2hvcDogcGFzcw==", "shop:": "Basic c2hvcDo=", "Basic c2hvcDo=": "Basic c2hvcDo=",
		"": "", "abc\ndef": "", "Authorization:": "",
	} {
		c := credentials{file: secretFile(t, text)}
		if err := c.load(); c.header != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", text, c.header, err, want)
		}
	}
	c := credentials{file: "Bearer abc"} // in place of a file
	if err := c.load(); err == nil || strings.Contains(err.Error(), "abc") {
		t.Errorf("%v", err)
	}
}

// Credentials go to the service that is named, and nowhere else.
func TestCheckWithCredentials(t *testing.T) {
	var want atomic.Value
	want.Store("Basic c2hvcDpoaWRkZW4=")
	target := httptest.NewServer(guarded(t, &want))
	defer target.Close()
	redirects := httptest.NewServer(http.RedirectHandler(target.URL+"/debug/pprof/goroutine", http.StatusFound))
	defer redirects.Close()
	for _, tt := range []struct{ name, secret, at, says string }{
		{"right", "shop:hidden", target.URL, "1 kept"},
		{"none", "", target.URL, `answered 401 Unauthorized: "refused:"; -authorization FILE sends the token`},
		{"wrong", "shop:other", target.URL, `answered 401 Unauthorized: "refused: Basic xxxxx"; it rejects the token or password in the -authorization file`},
		{"another port of the host", "shop:hidden", redirects.URL, "answered 302 Found: "},
		{"a redirection without any", "", redirects.URL, "answered 401 Unauthorized: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := []string{"check", "-budget", "goroutines below 100000", tt.at}
			if tt.secret != "" {
				args = append(args, "-authorization", secretFile(t, tt.secret))
			}
			var out bytes.Buffer
			run(t.Context(), args, nil, &out, &out)
			if !strings.Contains(out.String(), tt.says) || strings.Contains(out.String(), "hidden") {
				t.Errorf("want %q and no password in:\n%s", tt.says, &out)
			}
		})
	}
}

// The probe reads the file for each probe, as tokens are renewed, and does not show it.
func TestProbeWithCredentials(t *testing.T) {
	var want atomic.Value
	want.Store("Bearer first")
	target := httptest.NewServer(guarded(t, &want))
	defer target.Close()
	file := secretFile(t, "first")
	p := startProbe(t, "-budget", "goroutines below 100000", "-functions", "0", "-allow", "127.0.0.0/8", "-authorization", file)
	until := func(series string) {
		t.Helper()
		waiting.Until(t, series, func() bool {
			_, body := p.get(t, "/probe?target="+host(target))
			return value(body, series) == 1
		})
	}
	until("profguard_probe_success")
	want.Store("Bearer second")
	until(`profguard_probe_failure_info{reason="answer"}`)
	put(t, file, "second")
	until("profguard_probe_success")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	until(`profguard_probe_failure_info{reason="authorization"}`)
	waiting.Until(t, "the log to have both", func() bool { return strings.Count(p.said(), "the probe has failed") == 2 })
	if text := p.said(); strings.Contains(text, "first") || !strings.Contains(text, `"refused: Bearer xxxxx"`) {
		t.Errorf("it says %s", text)
	}
}

// An authority of one's own is named as for other programs. It is read once in a process, so each has its own.
func TestOwnAuthority(t *testing.T) {
	target := httptest.NewTLSServer(working(t, true).Config.Handler)
	defer target.Close()
	authority := filepath.Join(t.TempDir(), "ca.pem")
	put(t, authority, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: target.Certificate().Raw})))
	check := []string{"check", "-budget", "goroutines below 100000", target.URL}
	rollout := []string{"rollout", "-job", "shop", "-prometheus", target.URL}
	for _, tt := range []struct {
		file string
		args []string
		want string
	}{
		{authority, check, "1 kept"},
		{"/dev/null", check, "SSL_CERT_FILE names a file"},
		{authority, rollout, "no JSON"},
		{"/dev/null", rollout, "SSL_CERT_FILE names a file"},
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], tt.args...)
		cmd.Env = append(os.Environ(), asCommand+"=1", "SSL_CERT_FILE="+tt.file)
		if out, _ := cmd.CombinedOutput(); !strings.Contains(string(out), tt.want) {
			t.Errorf("%q, SSL_CERT_FILE=%s: want %q in\n%s", tt.args, tt.file, tt.want, out)
		}
	}
}
