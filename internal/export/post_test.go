package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestPost(t *testing.T) {
	for name, tt := range map[string]struct {
		answer  func(w http.ResponseWriter, r *http.Request)
		err     string // in it; "": none
		refused bool
		after   time.Duration
	}{
		"success":      {func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "ok") }, "", false, 0},
		"accepted":     {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(202); fmt.Fprint(w, "ok") }, "", false, 0},
		"bad":          {func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no such field\nmore", 400) }, `400 Bad Request: "no such field"`, true, 0},
		"too large":    {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(413) }, "413", true, 0},
		"unauthorized": {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(401) }, "401 Unauthorized", false, 0},
		"later": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(429)
		}, "429", false, 7 * time.Second},
		"later, never": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "-7")
			w.WriteHeader(503)
		}, "503", false, 0},
		"redirect": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }, "302", false, 0},
		"binary":   {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500); w.Write([]byte{1, 2, 3}) }, "500 Internal Server Error", false, 0},
		"half an answer": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "ok")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, "read the answer", false, 0},
		"endless": {func(w http.ResponseWriter, r *http.Request) {
			for range 100 {
				w.Write(make([]byte, 10<<10))
			}
		}, "", false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(tt.answer))
			defer server.Close()
			answer, err := Post(t.Context(), server.Client(), server.URL, http.Header{"X-A": {"b"}}, []byte("body"))
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) || errors.Is(err, ErrPermanent) != tt.refused {
				t.Errorf("%v, want %q, refused %t", err, tt.err, tt.refused)
			}
			var s *StatusError
			if errors.As(err, &s); s != nil && s.RetryAfter() != tt.after {
				t.Errorf("retry after %v", s.RetryAfter())
			}
			if len(answer) > maxAnswer {
				t.Errorf("an answer of %d bytes", len(answer))
			}
		})
	}
	if _, err := Post(t.Context(), nil, "http://127.0.0.1:1", nil, nil); err == nil || errors.Is(err, ErrPermanent) {
		t.Errorf("no server: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.ReadAll(r.Body); cancel(); <-r.Context().Done() }))
	defer slow.Close()
	if _, err := Post(ctx, slow.Client(), slow.URL, nil, []byte("body")); !errors.Is(err, context.Canceled) {
		t.Errorf("slow server: %v", err)
	}
}

func TestRetryAfterHeader(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for v, want := range map[string]time.Duration{
		"": 0, "12": 12 * time.Second, "soon": 0, "1.5": 0,
		"Fri, 27 Nov 2026 12:01:00 GMT": time.Minute,
		"Fri, 27 Nov 2026 11:01:00 GMT": 0,
	} {
		if got := retryAfter(v, now); got != want {
			t.Errorf("%q: %v, want %v", v, got, want)
		}
	}
}

func TestAddress(t *testing.T) {
	for v, want := range map[string]string{
		"http://collector:4318": "",
		"https://x/y":           "",
		"":                      "Endpoint: expected an address such as http://c:1: found none",
		"collector:4318":        "without http://",
		"http://":               "without a host",
		"http://%zz":            "invalid URL escape",
		"https://x/y/push/":     "with /push at its end: leave that out",
		"https://x/push/y":      "",
	} {
		err := Address("Endpoint", v, "http://c:1", "/push")
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", v, err, want)
		}
	}
}
