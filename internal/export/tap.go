package export

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"runtime/pprof"

	"github.com/profguard/profguard/internal/foreign"
)

// maxPassing is the size of the largest body that a [Tap] copies. Those that agents send have the
// profiles of a minute.
const maxPassing = 32 << 20

// A Tap is the transport of another program's client. It shows the bodies of requests, and sends
// each unchanged, without a delay but for a copy in memory.
type Tap struct {
	Next http.RoundTripper
	// Wants picks requests by what stands before their body.
	Wants func(*http.Request) bool
	// Seen gets a copy of the body, on a goroutine of its own, one at a time. What comes while two
	// wait is not shown. The request is for its header and address.
	Seen func(r *http.Request, body []byte)

	turn    chan struct{}
	waiting chan struct{}
}

// NewTap returns a tap before a transport; nil means the default one.
func NewTap(next http.RoundTripper, wants func(*http.Request) bool, seen func(*http.Request, []byte)) *Tap {
	if next == nil {
		next = http.DefaultTransport
	}
	return &Tap{Next: next, Wants: wants, Seen: seen, turn: make(chan struct{}, 1), waiting: make(chan struct{}, 3)}
}

// RoundTrip implements [http.RoundTripper].
func (t *Tap) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil || r.Body == http.NoBody || !t.wants(r) {
		return t.Next.RoundTrip(r)
	}
	head := &http.Request{Method: r.Method, URL: r.URL, Header: r.Header.Clone()}
	if r.GetBody != nil { // then the request itself stays as it is, and is seen if nobody is there to take it
		if body, err := r.GetBody(); err == nil {
			copied, err := io.ReadAll(io.LimitReader(body, maxPassing+1))
			body.Close()
			if err == nil && len(copied) <= maxPassing {
				t.show(head, copied)
			}
		}
		return t.Next.RoundTrip(r)
	}
	with := *r
	with.Body = &copying{ReadCloser: r.Body, whole: func(b []byte) { t.show(head, b) }}
	return t.Next.RoundTrip(&with)
}

func (t *Tap) wants(r *http.Request) (yes bool) {
	_ = foreign.Recovered(func() error { yes = t.Wants(r); return nil })
	return yes
}

// show has Seen look at a body, unless others wait for that.
func (t *Tap) show(head *http.Request, body []byte) {
	select {
	case t.waiting <- struct{}{}:
	default:
		return
	}
	go func() {
		defer func() { <-t.waiting }()
		pprof.SetGoroutineLabels(context.Background()) // not those of the agent
		t.turn <- struct{}{}
		defer func() { <-t.turn }()
		_ = foreign.Recovered(func() error { t.Seen(head, body); return nil })
	}()
}

// copying is a body that copies what is read of it, and shows it at its end.
type copying struct {
	io.ReadCloser
	copied bytes.Buffer
	over   bool
	whole  func([]byte)
}

func (c *copying) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if c.over = c.over || c.copied.Len()+n > maxPassing; c.over {
		c.copied = bytes.Buffer{}
	} else {
		c.copied.Write(p[:n])
	}
	if err == io.EOF && c.whole != nil && !c.over {
		c.whole(c.copied.Bytes())
		c.whole = nil
	}
	return n, err
}
