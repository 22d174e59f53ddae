package profiler

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	hpprof "net/http/pprof"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"
)

// narrow is a listener whose connections buffer next to nothing.
type narrow struct{ net.Listener }

func (l narrow) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		err = c.(*net.TCPConn).SetWriteBuffer(4096)
	}
	return c, err
}

// A start hangs for real: net/http/pprof writes a profile to a client that does
// not read, and runtime/pprof holds its mutex for as long as that takes.
func TestFault_04_StartHangs(t *testing.T) {
	t.Parallel() // with tests that wait for other processes, and do not have this one's profiler
	h, s := realHub(t)

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(hpprof.Profile)}
	var wg sync.WaitGroup
	wg.Go(func() { server.Serve(narrow{listener}) })
	defer wg.Wait()
	defer server.Close()

	// A profile much larger than all the buffers on the way, even if it has but
	// five samples: each under a label of its own that does not compress.
	done := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			secret := make([]byte, 128<<10)
			rand.Read(secret)
			labels := pprof.Labels("secret", string(secret))
			pprof.Do(context.Background(), labels, func(context.Context) { burn(5 * ms) })
			time.Sleep(15 * ms) // a quarter of a core makes 25 samples in the second
		}
	})
	defer close(done)

	// When the request has the profiler, the hub finds it taken; when the server writes, the hub's start hangs.
	// If a busy machine has left too few samples for that, another request may have more.
	var client net.Conn
	var w Window
	deadline := time.Now().Add(time.Minute)
	for w.Outcome != Hung && time.Now().Before(deadline) {
		if client, err = net.Dial("tcp", listener.Addr().String()); err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		if err := client.(*net.TCPConn).SetReadBuffer(4096); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(client, "GET /debug/pprof/profile?seconds=1 HTTP/1.1\r\nHost: x\r\n\r\n")
		for time.Now().Before(deadline) {
			if yes, known := ticking(); yes || !known {
				break
			}
			time.Sleep(ms)
		}
		w = Window{Outcome: Busy}
		for w.Outcome == Busy && time.Now().Before(deadline) {
			w, _ = h.Capture(t.Context(), ms)
		}
	}
	if w.Outcome != Hung || !strings.Contains(w.Reason, remedyHung) {
		t.Fatalf("%v: %s", w.Outcome, w.Reason)
	}
	starts, _ := s.count()
	// What the next one gets is tested with a simulated clock, in two seconds of which nothing happens.
	soon, cancel := context.WithTimeout(t.Context(), 200*ms)
	defer cancel()
	if w, err := h.Capture(soon, ms); err == nil {
		t.Errorf("while it hangs: %v: %s", w.Outcome, w.Reason)
	}
	if n, _ := s.count(); n != starts {
		t.Errorf("%d more starts while one hangs", n-starts)
	}

	client.Close() // the server gives up, the late start succeeds and is undone
	for w.Outcome == Hung && time.Now().Before(deadline) {
		time.Sleep(ms)
		w, _ = h.Capture(t.Context(), ms)
	}
	if w.Outcome != OK && w.Outcome != Overrun {
		t.Errorf("afterwards: %v: %s", w.Outcome, w.Reason)
	}
	if starts, stops := s.count(); stops > starts {
		t.Errorf("%d starts, %d stops", starts, stops)
	}
	wantFree(t)
}
