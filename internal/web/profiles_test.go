package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/webtest"
)

// TestReleasePages: the two builds as they are, the last window as it is and drawn, and where there are none.
func TestReleasePages(t *testing.T) {
	with, without := still(nil), still(nil)
	with.Window = func() decode.Source { return decode.Source{Data: packed(t, chainOf("main.main", "main.serve"))} }
	with.Release = func(before bool) []byte { return []byte(fmt.Sprint("before: ", before)) }
	ask := func(c Config, path string) (int, string) {
		r := webtest.Ask(New(c), "GET", path)
		return r.StatusCode, webtest.Body(t, r)
	}
	for path, want := range map[string]string{"/before.pb.gz": "before: true", "/now.pb.gz": "before: false", "/window.flame.json": `"main.serve"`, "/window.pb.gz": "\x1f\x8b"} {
		if status, body := ask(with, path); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d %.200q, want %q", path, status, body, want)
		}
		status, body := ask(without, path)
		if strings.HasSuffix(path, ".json") {
			var f flame
			if err := json.Unmarshal([]byte(body), &f); err != nil || status != http.StatusOK || f.Warning == "" || len(f.Parent) != 0 {
				t.Errorf("%s without profiles: %d %q, want a warning", path, status, body)
			}
		} else if status != http.StatusNotFound {
			t.Errorf("%s without profiles: %d %q", path, status, body)
		}
	}
}
