package service

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Credentials go to the service that is named, and nowhere else.
func TestOpenWithCredentials(t *testing.T) {
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // it repeats what it refuses
		if got := r.Header.Get("Authorization"); got != "Basic c2hvcDpoaWRkZW4=" {
			http.Error(w, "refused: "+got, http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, "a profile")
	}))
	defer target.Close()
	redirects := httptest.NewServer(http.RedirectHandler(target.URL+"/debug/pprof/goroutine", http.StatusFound))
	defer redirects.Close()
	for _, tt := range []struct {
		name, secret, at string
		stays            bool
		says             string
	}{
		{"right", "shop:hidden", target.URL, false, "a profile"},
		{"none", "", target.URL, false, `answered 401 Unauthorized: "refused:"; -authorization FILE sends the token`},
		{"wrong", "shop:other", target.URL, false, `answered 401 Unauthorized: "refused: Basic xxxxx"; it rejects the token or password in the -authorization file`},
		{"another port of the host", "shop:hidden", redirects.URL, false, "answered 302 Found: "},
		{"a redirection without any", "", redirects.URL, false, "answered 401 Unauthorized: "},
		{"a redirection for a probe", "", redirects.URL, true, "answered 302 Found: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Client{Stays: tt.stays}
			if tt.secret != "" {
				var err error
				if c.Credentials, err = ReadCredentials(secretFile(t, tt.secret)); err != nil {
					t.Fatal(err)
				}
			}
			at, lasts, err := ProfileAt(tt.at, 10)
			if err != nil {
				t.Fatal(err)
			}
			said := ""
			if body, err := c.Open(t.Context(), at, lasts); err != nil {
				said = err.Error()
			} else {
				data, _ := io.ReadAll(body)
				body.Close()
				said = string(data)
			}
			if !strings.Contains(said, tt.says) || strings.Contains(said, "hidden") {
				t.Errorf("want %q and no password in: %s", tt.says, said)
			}
		})
	}
}

// secretFile is the name of a file with a text.
func secretFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestCredentials(t *testing.T) {
	for text, want := range map[string]string{
		"abc\n": "Bearer abc", "Bearer abc": "Bearer abc", "authorization:  Bearer  abc\r\n": "Bearer abc", "Bearer a:b": "Bearer a:b",
		"shop:pass word": "Basic c2hvcDpwYXNzIHdvcmQ=", "shop: pass": "Basic c2hvcDogcGFzcw==", "shop:": "Basic c2hvcDo=", "Basic c2hvcDo=": "Basic c2hvcDo=",
		"": "", "abc\ndef": "", "Authorization:": "",
	} {
		if c, err := ReadCredentials(secretFile(t, text)); c.header != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", text, c.header, err, want)
		}
	}
	if _, err := ReadCredentials("Bearer abc"); err == nil || strings.Contains(err.Error(), "abc") { // in place of a file
		t.Errorf("%v", err)
	}
}
