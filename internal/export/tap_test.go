package export

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// A request goes on as it is, however its body comes and whatever the one that looks does.
func TestTap(t *testing.T) {
	var mu sync.Mutex
	var arrived []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		arrived = append(arrived, r.Header.Get("X-A")+" "+string(body[:min(len(body), 20)]))
		mu.Unlock()
		w.WriteHeader(http.StatusTeapot)
	}))
	defer server.Close()
	large := strings.Repeat("x", maxPassing+1)
	for name, tt := range map[string]struct {
		body io.Reader
		seen func(*http.Request, []byte)
		want bool
		sees string
	}{
		"again":       {bytes.NewReader([]byte("body")), nil, true, "body"},
		"a stream":    {io.MultiReader(strings.NewReader("bo"), strings.NewReader("dy")), nil, true, "body"},
		"not wanted":  {strings.NewReader("body"), nil, false, ""},
		"too large":   {strings.NewReader(large), nil, true, ""},
		"long stream": {io.MultiReader(strings.NewReader(large)), nil, true, ""},
		"panics":      {strings.NewReader("body"), func(*http.Request, []byte) { panic("planted") }, true, ""},
		"nothing":     {nil, nil, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			seen := make(chan string, 1)
			tap := NewTap(server.Client().Transport, func(r *http.Request) bool { return tt.want }, func(r *http.Request, b []byte) {
				if tt.seen != nil {
					tt.seen(r, b)
				}
				seen <- string(b)
			})
			r, err := http.NewRequest("POST", server.URL, tt.body)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("X-A", name)
			resp, err := (&http.Client{Transport: tap}).Do(r)
			if err != nil || resp.StatusCode != http.StatusTeapot {
				t.Fatalf("%v, %v", resp, err)
			}
			resp.Body.Close()
			mu.Lock()
			got := arrived[len(arrived)-1]
			mu.Unlock()
			if want := name + " body"; got != want && !strings.HasPrefix(got, name+" xxxx") && tt.body != nil {
				t.Errorf("arrived %q", got)
			}
			if tt.sees != "" {
				if found := <-seen; found != tt.sees {
					t.Errorf("seen %q", found)
				}
			} else if len(seen) > 0 {
				t.Errorf("seen %q", <-seen)
			}
		})
	}
}

// One that hangs holds up nothing and keeps a few goroutines. What nobody takes is seen, too.
func TestTapHangs(t *testing.T) {
	release, calls := make(chan struct{}), make(chan string, 100)
	var done sync.WaitGroup
	tap := NewTap(nil, func(*http.Request) bool { return true }, func(r *http.Request, b []byte) {
		done.Add(1)
		defer done.Done()
		calls <- string(b)
		<-release
	})
	began := time.Now()
	for range 20 {
		r, _ := http.NewRequest("POST", "http://127.0.0.1:1/", strings.NewReader("body"))
		if _, err := tap.RoundTrip(r); err == nil {
			t.Error("somebody is there")
		}
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	if got := <-calls; got != "body" || len(calls) > 0 || len(tap.waiting) > 3 {
		t.Errorf("%q, %d more calls, %d wait", got, len(calls), len(tap.waiting))
	}
	close(release)
	for len(tap.waiting) > 0 {
		time.Sleep(time.Millisecond)
	}
	done.Wait()
}
