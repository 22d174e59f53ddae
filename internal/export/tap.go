package export

import (
	"bytes"
	"context"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"runtime/pprof"

	"github.com/profguard/profguard/internal/foreign"
)

// maxPassing is the size of the largest body that a [Tap] shows. Those that agents send have the
// profiles of a minute.
const maxPassing = 32 << 20

// A Tap is the transport of another program's client. It shows the bodies of requests, also if nobody takes them,
// and sends each unchanged. Agents have them in memory, so that reading one first is no delay.
type Tap struct {
	Next http.RoundTripper
	// Wants picks requests by what stands before their body.
	Wants func(*http.Request) bool
	// Seen gets the body, which it must not change, on a goroutine of its own, one at a time. What comes
	// while two wait is not shown. The request is for its header and address.
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
	body, err := io.ReadAll(io.LimitReader(r.Body, maxPassing+1))
	if err != nil {
		r.Body.Close()
		return nil, err
	}
	if len(body) <= maxPassing {
		t.show(&http.Request{Method: r.Method, URL: r.URL, Header: r.Header.Clone()}, body)
	}
	with := *r
	with.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), r.Body), r.Body}
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

// Part is the part of a multipart body that is wanted, nil if there is none, or it cannot be read.
func Part(r *http.Request, body []byte, wanted func(*multipart.Part) bool) []byte {
	_, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return nil
	}
	parts := multipart.NewReader(bytes.NewReader(body), parameters["boundary"])
	for {
		part, err := parts.NextRawPart()
		if err != nil {
			return nil
		}
		if wanted(part) {
			data, err := io.ReadAll(part)
			if err != nil {
				return nil
			}
			return data
		}
	}
}
