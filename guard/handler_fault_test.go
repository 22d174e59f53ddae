package guard

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/hub"
)

// Fifty people ask at once: one profile is taken, the rest are told when to come
// back.
func TestFault_58_ParallelProfiles(t *testing.T) {
	noLeaks(t)
	b := newBlocked(cpuWindow(fullCore).Data)
	g := stillGuard(t, b.capture)
	h := g.Handler()
	first := make(chan *http.Response, 1)
	go func() { first <- ask(h, "GET", "/profile?seconds=30") }()
	receive(t, "the first capture", b.began)
	var wg sync.WaitGroup
	for i := range 49 {
		wg.Go(func() {
			r := ask(h, "GET", []string{"/profile", "/flame"}[i%2])
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
	if r := ask(h, "GET", "/profile"); r.StatusCode != 200 {
		t.Errorf("afterwards: %d, want 200", r.StatusCode)
	}
}

// Each of 50 requests has a handler of its own, which is no way around the limits
// of the guard. Another guard has its own.
func TestFault_58_ManyHandlers(t *testing.T) {
	noLeaks(t)
	b := newBlocked(cpuWindow(fullCore).Data)
	g := stillGuard(t, b.capture)
	first := make(chan *http.Response, 1)
	go func() { first <- ask(g.Handler(), "GET", "/flame?seconds=2") }()
	receive(t, "the first capture", b.began)
	var wg sync.WaitGroup
	for range 49 {
		wg.Go(func() {
			if r := ask(g.Handler(), "GET", "/flame?seconds=2"); r.StatusCode != 429 {
				t.Errorf("another handler: %d, want 429", r.StatusCode)
			}
		})
	}
	wg.Wait()
	other := stillGuard(t, instant(cpuWindow(fullCore).Data))
	if r := ask(other.Handler(), "GET", "/flame?seconds=2"); r.StatusCode != 200 {
		t.Errorf("another guard: %d, want 200", r.StatusCode)
	}
	close(b.let)
	if r := receive(t, "the first answer", first); r.StatusCode != 200 {
		t.Errorf("the first: %d", r.StatusCode)
	}
	if n := len(b.began); n != 0 {
		t.Errorf("%d more captures began, want none", n)
	}
	if r := ask(g.Handler(), "GET", "/flame?seconds=2"); r.StatusCode != 200 {
		t.Errorf("afterwards: %d, want 200", r.StatusCode)
	}
}

// A client does not read: the slot is free again, other clients get theirs, and
// the number of answers in memory is bounded.
func TestFault_59_ClientDoesNotRead(t *testing.T) {
	noLeaks(t)
	// More than what sockets buffer.
	large := instant(make([]byte, 15<<20))
	h := newHandler(stillGuard(t, large), "")
	server := httptest.NewServer(h)
	defer server.Close()
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	for i := range maxHeavy {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
		fmt.Fprintf(conn, "GET /profile?seconds=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
		if _, err := io.ReadFull(conn, make([]byte, 12)); err != nil { // "HTTP/1.1 200"
			t.Fatalf("client %d: %v", i, err)
		}
		if _, ok := h.live.begin(0); !ok {
			t.Fatalf("client %d: the profiler's slot is taken while the answer is written", i)
		}
		h.live.end()
	}
	if r := ask(h, "GET", "/profile"); r.StatusCode != 429 || r.Header.Get("Retry-After") == "" {
		t.Errorf("with %d answers stuck: %d, want 429", maxHeavy, r.StatusCode)
	}
	if r := ask(h, "GET", "/status.json"); r.StatusCode != 200 {
		t.Errorf("with %d answers stuck, status.json: %d", maxHeavy, r.StatusCode)
	}
	conns[0].Close()
	eventually(t, "a client that left makes room", func() bool { return len(h.heavy) < maxHeavy })
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
		stillGuard(t, instant(cpuWindow(fullCore).Data)).Handler().ServeHTTP(w, r)
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
	stillGuard(t, instant(nil)).Handler().ServeHTTP(w, r)
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
	h := newHandler(stillGuard(t, b.capture), "")
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
	eventually(t, "the slot is free", func() bool {
		_, ok := h.live.begin(0)
		return ok
	})
}

// So does the guard's end.
func TestFault_60_GuardStops(t *testing.T) {
	noLeaks(t)
	b := newBlocked(nil)
	g := stillGuard(t, b.capture)
	h := g.Handler()
	answer := make(chan *http.Response, 1)
	go func() { answer <- ask(h, "GET", "/profile") }()
	receive(t, "the capture", b.began)
	close(g.done)
	receive(t, "its end", b.canceled)
	if r := receive(t, "the answer", answer); r.StatusCode != 503 {
		t.Errorf("%d, want 503", r.StatusCode)
	}
}

// The real profiler through the real hub: the profile is whole, and the guard's
// own use of the profiler is not in its way.
func TestFault_60_RealProfile(t *testing.T) {
	noLeaks(t)
	if hub.HeldByTest() {
		t.Skip("go test -cpuprofile holds the profiler")
	}
	server := httptest.NewServer(stillGuard(t, hub.Process().Capture).Handler())
	defer server.Close()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(stop)
	wg.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	r, err := server.Client().Get(server.URL + "/profile?seconds=1")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != 200 {
		t.Fatalf("%d %s", r.StatusCode, body(t, r))
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
		w, err := hub.Process().Capture(ctx, 100*time.Millisecond)
		return err == nil && w.Elapsed < 10*time.Second
	})
}

// What a profile was lost to, in words and with a status that fits.
func TestHandlerLostProfile(t *testing.T) {
	tests := []struct {
		outcome hub.Outcome
		status  int
	}{{hub.Busy, 503}, {hub.Hung, 503}, {hub.Stolen, 500}, {hub.TooLarge, 500}}
	for _, test := range tests {
		g := stillGuard(t, func(context.Context, time.Duration) (hub.Window, error) {
			w := hub.Window{Outcome: test.outcome, Reason: "somebody <else>"}
			return w, w.Err()
		})
		r := ask(g.Handler(), "GET", "/profile")
		if got := body(t, r); r.StatusCode != test.status || !strings.Contains(got, "somebody <else>") {
			t.Errorf("%v: %d %s, want %d and the reason", test.outcome, r.StatusCode, got, test.status)
		}
		if retry := r.Header.Get("Retry-After"); (retry != "") != (test.status == 503) {
			t.Errorf("%v: Retry-After %q", test.outcome, retry)
		}
	}
	// A profile that breaks the rules is delivered, with a warning.
	g := stillGuard(t, instant([]byte("no profile")))
	if r := ask(g.Handler(), "GET", "/profile"); r.StatusCode != 200 || r.Header.Get("Profguard-Warning") == "" {
		t.Errorf("%d, warning %q", r.StatusCode, r.Header.Get("Profguard-Warning"))
	}
	if r := ask(g.Handler(), "GET", "/flame"); r.StatusCode != 200 || !strings.Contains(body(t, r), `class="warning"`) {
		t.Errorf("the page has no warning: %d", r.StatusCode)
	}
}
