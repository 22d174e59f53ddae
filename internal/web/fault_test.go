package web

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/profiler"
	"github.com/profguard/profguard/internal/webtest"
)

// Fifty people ask at once: one profile is taken, the rest are told when to come
// back.
func TestFault_58_ParallelProfiles(t *testing.T) {
	noLeaks(t)
	b := newBlocked(packed(t, chainOf("main.main")))
	h := New(still(b.capture))
	first := make(chan *http.Response, 1)
	go func() { first <- webtest.Ask(h, "GET", "/profile?seconds=30") }()
	receive(t, "the first capture", b.began)
	var wg sync.WaitGroup
	for i := range 49 {
		wg.Go(func() {
			r := webtest.Ask(h, "GET", []string{"/profile", "/flame.json"}[i%2])
			if wait := r.Header.Get("Retry-After"); r.StatusCode != 429 || wait == "" || wait == "0" {
				t.Errorf("while one is taken: %d, Retry-After %q, want 429 and a time", r.StatusCode, wait)
			}
		})
	}
	wg.Wait()
	close(b.let)
	if r := receive(t, "the first answer", first); r.StatusCode != 200 {
		t.Errorf("the first: %d", r.StatusCode)
	}
	if n := len(b.began); n != 0 {
		t.Errorf("%d more captures began, want none", n)
	}
	if r := webtest.Ask(h, "GET", "/profile"); r.StatusCode != 200 {
		t.Errorf("afterwards: %d, want 200", r.StatusCode)
	}
}

// A client does not read: the slot is free again, other clients get theirs, and
// the number of answers in memory is bounded.
func TestFault_59_ClientDoesNotRead(t *testing.T) {
	noLeaks(t)
	// More than what sockets buffer.
	large := instant(make([]byte, 15<<20))
	h := New(still(large))
	server := httptest.NewServer(h)
	defer server.Close()
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	for i := range maxAnswers {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
		fmt.Fprintf(conn, "GET /profile?seconds=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
		if _, err := io.ReadFull(conn, make([]byte, 12)); err != nil { // "HTTP/1.1 200"
			t.Fatalf("client %d: %v", i, err)
		}
		if len(h.live) > 0 {
			t.Fatalf("client %d: the profiler's slot is taken while the answer is written", i)
		}
	}
	if r := webtest.Ask(h, "GET", "/profile"); r.StatusCode != 429 || r.Header.Get("Retry-After") == "" {
		t.Errorf("with %d answers stuck: %d, want 429", maxAnswers, r.StatusCode)
	}
	if r := webtest.Ask(h, "GET", "/"); r.StatusCode != 200 {
		t.Errorf("with %d answers stuck, the page: %d", maxAnswers, r.StatusCode)
	}
	conns[0].Close()
	eventually(t, "a client that left makes room", func() bool { return len(h.answers) < maxAnswers })
}

// The deadline is set on the connection, and is the server's own where it has
// one.
func TestFault_59_WriteDeadline(t *testing.T) {
	tests := []struct {
		name    string
		timeout time.Duration
		from    time.Duration // seconds from now, for a profile of 10 s
	}{
		{"none", 0, 52 * time.Second},
		{"short", 5 * time.Second, 27 * time.Second},
	}
	for _, test := range tests {
		w := &deadlines{ResponseWriter: httptest.NewRecorder()}
		r := httptest.NewRequest("GET", "/profile?seconds=10", nil)
		r.Host = "localhost"
		r = r.WithContext(context.WithValue(r.Context(), http.ServerContextKey, &http.Server{WriteTimeout: test.timeout}))
		began := time.Now()
		New(still(instant(packed(t, chainOf("main.main"))))).ServeHTTP(w, r)
		if len(w.set) != 3 {
			t.Fatalf("%s: %d deadlines, want 3: for the answer, for the capture, for writing", test.name, len(w.set))
		}
		if got := w.set[1].Sub(began); got < test.from || got > test.from+patience {
			t.Errorf("%s: the deadline of the capture is in %v, want %v", test.name, got, test.from)
		}
		if !w.set[2].Before(w.set[1]) {
			t.Errorf("%s: the deadline for writing is %v after that of the capture, want it before", test.name, w.set[2].Sub(w.set[1]))
		}
	}
	// Where no deadline can be set, a profile that cannot be delivered is not taken.
	r := httptest.NewRequest("GET", "/profile?seconds=10", nil)
	r.Host = "localhost"
	r = r.WithContext(context.WithValue(r.Context(), http.ServerContextKey, &http.Server{WriteTimeout: 5 * time.Second}))
	w := httptest.NewRecorder()
	New(still(instant(nil))).ServeHTTP(w, r)
	if w.Code != 400 || !strings.Contains(w.Body.String(), "WriteTimeout") {
		t.Errorf("%d %s, want 400 and the reason", w.Code, w.Body)
	}
}

// deadlines notes the write deadlines that are set.
type deadlines struct {
	http.ResponseWriter
	set []time.Time
}

func (d *deadlines) SetWriteDeadline(at time.Time) error {
	d.set = append(d.set, at)
	return nil
}

// The client leaves in the middle of a capture.
func TestFault_60_ClientLeaves(t *testing.T) {
	noLeaks(t)
	b := newBlocked(nil)
	h := New(still(b.capture))
	server := httptest.NewServer(h)
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "GET /profile?seconds=60 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
	receive(t, "the capture", b.began)
	conn.Close()
	receive(t, "its end", b.canceled)
	eventually(t, "the slots are free", func() bool { return len(h.live)+len(h.answers) == 0 })
}

// So does the guard's end.
func TestFault_60_GuardStops(t *testing.T) {
	noLeaks(t)
	b := newBlocked(nil)
	c := still(b.capture)
	running, stop := context.WithCancel(t.Context())
	c.Running = running
	h := New(c)
	answer := make(chan *http.Response, 1)
	go func() { answer <- webtest.Ask(h, "GET", "/profile") }()
	receive(t, "the capture", b.began)
	stop()
	receive(t, "its end", b.canceled)
	if r := receive(t, "the answer", answer); r.StatusCode != 503 {
		t.Errorf("%d, want 503", r.StatusCode)
	}
}

// The real profiler through the real hub: the profile is whole, and the guard's
// own use of the profiler is not in its way.
func TestFault_60_RealProfile(t *testing.T) {
	noLeaks(t)
	if profiler.HeldByTest() {
		t.Skip("go test -cpuprofile holds the profiler")
	}
	server := httptest.NewServer(New(still(profiler.Process().Capture)))
	defer server.Close()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(stop)
	wg.Go(func() {
		for { // a little, so that its samples cannot fall short of its CPU time on a busy machine
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
			for x := range 1_000_000 {
				_ = x
			}
		}
	})
	r, err := server.Client().Get(server.URL + "/profile?seconds=2")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != 200 {
		t.Fatalf("%d %s", r.StatusCode, webtest.Body(t, r))
	}
	p, err := profile.Parse(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if d := time.Duration(p.DurationNanos); d < 900*time.Millisecond {
		t.Errorf("the profile covers %v, want 1s", d)
	}
	ctx, cancel := context.WithCancel(context.Background())
	request, _ := http.NewRequestWithContext(ctx, "GET", server.URL+"/profile?seconds=60", nil)
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := server.Client().Do(request); err == nil {
		t.Error("a request that was given up was answered")
	}
	// The profiler is released long before the sixty seconds are over.
	eventually(t, "another profile", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		w, err := profiler.Process().Capture(ctx, 100*time.Millisecond)
		return err == nil && w.Elapsed < 10*time.Second
	})
}

// Why there is no profile, in words.
func TestHandlerLostProfile(t *testing.T) {
	for _, outcome := range []profiler.Outcome{profiler.Busy, profiler.Hung, profiler.Stolen, profiler.TooLarge} {
		h := New(still(func(context.Context, time.Duration) (profiler.Window, error) {
			w := profiler.Window{Outcome: outcome, Reason: "somebody <else>"}
			return w, w.Err()
		}))
		r := webtest.Ask(h, "GET", "/profile")
		if got := webtest.Body(t, r); r.StatusCode != 503 || !strings.Contains(got, "somebody <else>") || r.Header.Get("Retry-After") == "" {
			t.Errorf("%v: %d %s, want 503, the reason and a time", outcome, r.StatusCode, got)
		}
	}
	// A profile that breaks the rules is drawn, with a warning.
	h := New(still(instant([]byte("no profile"))))
	if r := webtest.Ask(h, "GET", "/flame.json"); r.StatusCode != 200 || !strings.Contains(webtest.Body(t, r), `"warning":"`) {
		t.Errorf("the flame graph has no warning: %d", r.StatusCode)
	}
}

// Two hundred clients ask for the status of 1,000 budgets and read nothing. Only few get it, so
// the memory depends on the budgets and not on the clients. The others are told when to come
// back.
func TestFault_68_ManyReaders(t *testing.T) {
	noLeaks(t)
	const clients, size = 200, 4 << 20
	for _, path := range []string{"/status.json", "/budgets", "/"} {
		c := still(nil)
		var made atomic.Int64
		document := func() string {
			made.Add(1)
			return strings.Repeat("x", size)
		}
		c.Status, c.Budgets = func() any { return document() }, document
		h := New(c)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		release := make(chan struct{})
		var stuck, done sync.WaitGroup
		for range clients {
			stuck.Add(1)
			done.Go(func() { h.ServeHTTP(&hung{header: http.Header{}, stuck: stuck.Done, release: release}, request(path)) })
		}
		stuck.Wait()
		for range 3 {
			runtime.GC() // package json keeps a buffer over two collections
		}
		runtime.ReadMemStats(&after)
		held := int64(after.HeapAlloc) - int64(before.HeapAlloc)
		// Each client has a piece of 32 KiB besides, 6 MiB in all, and its goroutine.
		if limit := int64(maxAnswers*size + 16<<20); held > limit {
			t.Errorf("%s: %d clients hold %d MiB, want at most %d", path, clients, held>>20, limit>>20)
		}
		if n := made.Load(); n > maxAnswers {
			t.Errorf("%s: made %d times, want at most %d", path, n, maxAnswers)
		}
		if r := webtest.Ask(h, "GET", path); path != "/" && (r.StatusCode != 429 || r.Header.Get("Retry-After") == "") {
			t.Errorf("%s: another client: %d, want 429 and a time", path, r.StatusCode)
		}
		close(release)
		done.Wait()
		if r := webtest.Ask(h, "GET", path); r.StatusCode != 200 || len(h.answers) != 0 {
			t.Errorf("%s: afterwards %d and %d slots that were not given back, want 200 and none", path, r.StatusCode, len(h.answers))
		}
	}
}

// hung is a ResponseWriter of a client that does not read: Write hangs.
type hung struct {
	header  http.Header
	stuck   func() // called when it does
	release chan struct{}
	once    sync.Once
}

func (w *hung) Header() http.Header { return w.header }
func (w *hung) WriteHeader(int)     {}
func (w *hung) Write(p []byte) (int, error) {
	w.once.Do(w.stuck)
	<-w.release
	return 0, io.ErrClosedPipe
}

func request(target string) *http.Request {
	r := httptest.NewRequest("GET", target, nil)
	r.Host = "localhost"
	return r
}

// At most six answers are under way, whatever they are asked as: that is 96 MiB. A seventh client is told
// when to come back.
func TestFault_69_SixAnswers(t *testing.T) {
	noLeaks(t)
	c := still(instant(packed(t, chainOf("main.main"))))
	id := withDump(t, &c, "main.work")
	h := New(c)
	file := "/dumps/" + id + "/" + id + ".cpu.pb.gz"
	paths := []string{"/profile?seconds=1", "/flame.json?seconds=1", file, file + ".flame.json", "/status.json", "/dumps.json"}
	release := make(chan struct{})
	var done sync.WaitGroup
	for _, path := range paths {
		if r := webtest.Ask(h, "GET", path); r.StatusCode != 200 {
			t.Errorf("clean twin: %s: %d with no other client, want 200", path, r.StatusCode)
		}
		stuck := make(chan struct{})
		w := &hung{header: http.Header{}, stuck: sync.OnceFunc(func() { close(stuck) }), release: release}
		done.Go(func() { h.ServeHTTP(w, request(path)) })
		receive(t, path+": the client that does not read", stuck)
	}
	for _, path := range paths {
		if r := webtest.Ask(h, "GET", path); r.StatusCode != 429 || r.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d with six clients that do not read, want 429 and a time", path, r.StatusCode)
		}
	}
	if r := webtest.Ask(h, "GET", "/"); r.StatusCode != 200 {
		t.Errorf("the page: %d with six clients that do not read, want 200", r.StatusCode)
	}
	close(release)
	done.Wait()
	if r := webtest.Ask(h, "GET", file); r.StatusCode != 200 {
		t.Errorf("afterwards: %d, want 200", r.StatusCode)
	}
}
