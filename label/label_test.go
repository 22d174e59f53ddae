package label_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/profguard/profguard/label"
)

// labels are those of a context, sorted by key.
func labels(ctx context.Context) string {
	var list []string
	pprof.ForLabels(ctx, func(key, value string) bool {
		list = append(list, key+"="+value)
		return true
	})
	return strings.Join(list, ", ")
}

// running are the labels of this goroutine, as its profile shows them.
func running(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		t.Fatal(err)
	}
	for stack := range strings.SplitSeq(b.String(), "\n\n") {
		if strings.Contains(stack, "label_test.running") {
			_, after, _ := strings.Cut(stack, "# labels: ")
			of, _, _ := strings.Cut(after, "\n")
			return of
		}
	}
	t.Fatal("this goroutine is not in the profile")
	return ""
}

func TestHandlerSetsPattern(t *testing.T) {
	var got, ran, pattern, id string
	var hostKey = struct{ name string }{"host"}
	mux := http.NewServeMux()
	seen := func(w http.ResponseWriter, r *http.Request) {
		got, ran, pattern, id = labels(r.Context()), running(t), r.Pattern, r.PathValue("id")
		if r.Context().Value(hostKey) != "value" {
			t.Error("a value of the request's context is missing")
		}
	}
	mux.HandleFunc("GET /users/{id}", seen)
	mux.HandleFunc("/files/", seen)
	h := label.Handler(mux)
	for _, c := range []struct{ method, path, want, id string }{
		{"GET", "/users/4711", "GET /users/{id}", "4711"},
		{"GET", "/files/a/b", "/files/", ""},
		{"POST", "/files/a/b", "/files/", ""},
	} {
		r := httptest.NewRequest(c.method, c.path, nil)
		r = r.WithContext(context.WithValue(r.Context(), hostKey, "value"))
		h.ServeHTTP(httptest.NewRecorder(), r)
		if got != "endpoint="+c.want || pattern != c.want || id != c.id {
			t.Errorf("%s %s: labels %q, pattern %q, id %q", c.method, c.path, got, pattern, id)
		}
		if want := fmt.Sprintf("{%q:%q}", "endpoint", c.want); ran != want {
			t.Errorf("%s %s: the goroutine had the labels %s, want %s", c.method, c.path, ran, want)
		}
		if r.Pattern != c.want {
			t.Errorf("%s %s: the caller sees the pattern %q", c.method, c.path, r.Pattern)
		}
		if now := running(t); now != "" {
			t.Errorf("%s %s: the goroutine keeps the labels %s", c.method, c.path, now)
		}
	}
}

// TestHandlerWithinWildcards: a handler sees no values of wildcards of a mux around its own.
func TestHandlerWithinWildcards(t *testing.T) {
	for _, of := range []func(*http.ServeMux) http.Handler{label.Handler, func(mux *http.ServeMux) http.Handler { return mux }} {
		var id, got string
		inner, outer := http.NewServeMux(), http.NewServeMux()
		inner.HandleFunc("/list", func(_ http.ResponseWriter, r *http.Request) { id, got = r.PathValue("id"), r.Pattern })
		outer.Handle("/shops/{id}/", http.StripPrefix("/shops/7", of(inner)))
		if of(outer).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/shops/7/list", nil)); id != "" || got != "/list" {
			t.Errorf("id %q, pattern %q", id, got)
		}
	}
}

// TestRoute has the patterns of other routers.
func TestRoute(t *testing.T) {
	for _, c := range []struct{ method, pattern, want string }{
		{"GET", "/users/:id", "GET /users/:id"}, {"MADE-UP", "/users/:id", "/users/:id"}, {"GET", "", ""},
	} {
		if got := label.Route(c.method, c.pattern); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.method, c.pattern, got, c.want)
		}
	}
}

// TestHandlerNeverSetsPath asks for what has no pattern, or one that the client could choose.
func TestHandlerNeverSetsPath(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/users/{id}/", func(http.ResponseWriter, *http.Request) {})
	h := label.Handler(mux)
	for _, c := range []struct {
		method, path string
		code         int
	}{
		{"GET", "/nothing", http.StatusNotFound}, {"CONNECT", "/users/4711", http.StatusTemporaryRedirect},
		{"GET", "/users/4711", http.StatusTemporaryRedirect}, {"GET", "//users//4711/", http.StatusTemporaryRedirect},
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(c.method, c.path, nil)
		if h.ServeHTTP(w, r); w.Code != c.code {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, w.Code, c.code)
		}
		if strings.Contains(r.Pattern, "4711") && c.method != "CONNECT" {
			t.Errorf("%s %s: the pattern is %q", c.method, c.path, r.Pattern)
		}
	}
}

// TestOthersStay has labels of another library, and of an outer handler.
func TestOthersStay(t *testing.T) {
	var got string
	inner, outer := http.NewServeMux(), http.NewServeMux()
	inner.HandleFunc("/api/list", func(_ http.ResponseWriter, r *http.Request) { got = labels(r.Context()) })
	outer.Handle("/api/", label.Handler(inner))
	r := httptest.NewRequest("GET", "/api/list", nil)
	pprof.Do(r.Context(), pprof.Labels("trace", "abc", "endpoint", "old"), func(ctx context.Context) {
		label.Handler(outer).ServeHTTP(httptest.NewRecorder(), r.WithContext(ctx))
		if now := running(t); now != `{"endpoint":"old", "trace":"abc"}` {
			t.Errorf("after the request the labels are %s", now)
		}
	})
	if want := "endpoint=/api/list, trace=abc"; got != want {
		t.Errorf("labels %q, want %q", got, want)
	}
}

func TestDo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	label.Do(ctx, "tenant", "acme", func(ctx context.Context) {
		label.Do(ctx, "job", "report", func(ctx context.Context) {
			if got := labels(ctx); got != "job=report, tenant=acme" {
				t.Errorf("labels %q", got)
			}
		})
		started := make(chan string)
		go func() { started <- running(t) }()
		if got := <-started; got != `{"tenant":"acme"}` {
			t.Errorf("a goroutine that was started has the labels %s", got)
		}
		child, end := context.WithTimeout(ctx, 1<<62)
		defer end()
		cancel()
		if <-child.Done(); context.Cause(child) != context.Canceled {
			t.Errorf("the context ended by %v", context.Cause(child))
		}
	})
	if now := running(t); now != "" {
		t.Errorf("the goroutine keeps the labels %s", now)
	}
}

// TestPanics sees to it that a panic goes on to the server, and leaves no label.
func TestPanics(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	func() {
		defer func() {
			if p := recover(); p != http.ErrAbortHandler {
				t.Errorf("recovered %v", p)
			}
		}()
		label.Handler(mux).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	}()
	if now := running(t); now != "" {
		t.Errorf("the goroutine keeps the labels %s", now)
	}
}

// TestUpload: the server removes the files of an upload, which it finds in the request that it has made.
func TestUpload(t *testing.T) {
	dir, files := t.TempDir(), 0
	t.Setenv("TMPDIR", dir)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /files", func(_ http.ResponseWriter, r *http.Request) {
		if err := r.ParseMultipartForm(1); err != nil {
			t.Error(err)
		}
		list, _ := os.ReadDir(dir)
		files = len(list)
	})
	for name, h := range map[string]http.Handler{"mux": mux, "labelled": label.Handler(mux), "by tenant": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		label.Request(r, "tenant", "acme", func(r *http.Request) { mux.ServeHTTP(w, r) })
	})} {
		var body bytes.Buffer
		m := multipart.NewWriter(&body)
		w, err := m.CreateFormFile("file", "name")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write(make([]byte, 11<<20))
		m.Close()
		s := httptest.NewServer(h)
		resp, err := http.Post(s.URL+"/files", m.FormDataContentType(), &body)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		s.Close()
		if left, _ := os.ReadDir(dir); len(left) > 0 || files != 1 {
			t.Errorf("%s: %d files in the handler, and %d after it", name, files, len(left))
		}
	}
}

// TestHijack upgrades a connection, and answers on it.
func TestHijack(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /socket", func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n%s\n", labels(r.Context()))
		_ = rw.Flush()
	})
	s := httptest.NewServer(label.Handler(mux))
	defer s.Close()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /socket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
	text, err := io.ReadAll(bufio.NewReader(conn))
	if err != nil || !strings.HasSuffix(string(text), "\r\n\r\nendpoint=GET /socket\n") {
		t.Errorf("answer %q, %v", text, err)
	}
}

// TestBounded gives each request a value of its own.
func TestBounded(t *testing.T) {
	for i := range 5000 {
		value := fmt.Sprint("user-", i)
		label.Do(t.Context(), "user", value, func(ctx context.Context) {
			if got := labels(ctx); got != "user="+value {
				t.Fatalf("labels %q, want those of %s", got, value)
			}
		})
	}
	if n := label.Kept(); n > 1000 {
		t.Errorf("%d labels are kept", n)
	}
}

// TestAllocations compares with the mux alone.
func TestAllocations(t *testing.T) {
	label.Forget()
	mux := benchmarkMux()
	h := label.Handler(mux)
	for path, most := range map[string]float64{"/static": 2, "/users/4711": 3} { // the mux makes one to find values of wildcards
		r := httptest.NewRequest("GET", path, nil)
		bare := testing.AllocsPerRun(100, func() { mux.ServeHTTP(nil, r) })
		labelled := testing.AllocsPerRun(100, func() { h.ServeHTTP(nil, r) })
		if labelled-bare > most {
			t.Errorf("%s: %v allocations more than the %v of the mux, want at most %v", path, labelled-bare, bare, most)
		}
	}
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() { label.Do(ctx, "tenant", "acme", func(context.Context) {}) }); n > 1 {
		t.Errorf("Do: %v allocations, want 1", n)
	}
}

func benchmarkMux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, pattern := range []string{"/static", "GET /users/{id}"} {
		mux.HandleFunc(pattern, func(http.ResponseWriter, *http.Request) {})
	}
	return mux
}

func BenchmarkHandler(b *testing.B) {
	mux := benchmarkMux()
	for name, h := range map[string]http.Handler{"mux": mux, "labelled": label.Handler(mux)} {
		for _, path := range []string{"/static", "/users/4711"} {
			b.Run(name+path, func(b *testing.B) {
				r := httptest.NewRequest("GET", path, nil)
				b.ReportAllocs()
				for b.Loop() {
					h.ServeHTTP(nil, r)
				}
			})
		}
	}
}

func BenchmarkDo(b *testing.B) {
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		label.Do(ctx, "tenant", "acme", func(context.Context) {})
	}
}
