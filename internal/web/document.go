package web

import (
	"bytes"
	"net/http"
	"sync"
	"time"
)

const (
	// maxRenderings is how many renderings of a document clients may hold at once.
	maxRenderings = 4
	// renderPatience is how long a client waits for a rendering. Dumps are on a disk,
	// which may hang.
	renderPatience = 5 * time.Second
)

// A document is rendered for whoever asks, one rendering at a time. Who asks while
// one is being made waits for it and shares it. Clients hold at most maxRenderings
// different ones; while they do, further clients get the newest, which is at most
// as old as a client may read. So the memory that all clients take together depends
// on the size of the document and not on their number.
type document struct {
	make func() ([]byte, error)

	mu     sync.Mutex
	newest *rendering
	held   int // renderings that have clients
}

// A rendering is a document of one moment.
type rendering struct {
	made    chan struct{} // closed when the fields below are set
	data    []byte
	err     error
	failed  any // the panic of make
	clients int // guarded by the document's mutex
}

// take returns the rendering for a client, which must give it back.
func (d *document) take() *rendering {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.newest
	if r == nil || r.isMade() && d.held < maxRenderings {
		r = &rendering{made: make(chan struct{})}
		d.newest = r
		go d.render(r) // the client may leave, and a disk may hang
	}
	if r.clients == 0 {
		d.held++
	}
	r.clients++
	return r
}

func (d *document) render(r *rendering) {
	defer d.forget(r)
	defer close(r.made)
	defer func() { r.failed = recover() }()
	r.data, r.err = d.make()
}

func (d *document) giveBack(r *rendering) {
	d.mu.Lock()
	if r.clients--; r.clients == 0 {
		d.held--
	}
	d.mu.Unlock()
	d.forget(r)
}

// forget drops a rendering that is made and has no clients.
func (d *document) forget(r *rendering) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.clients > 0 || !r.isMade() {
		return
	}
	if r.data = nil; d.newest == r {
		d.newest = nil
	}
}

func (r *rendering) isMade() bool {
	select {
	case <-r.made:
		return true
	default:
		return false
	}
}

// document sends a document.
func (h *Handler) document(w http.ResponseWriter, r *http.Request, d *document, kind string) {
	shared := d.take()
	timer := time.NewTimer(renderPatience)
	defer timer.Stop()
	select {
	case <-shared.made:
	case <-r.Context().Done():
		d.giveBack(shared)
		return
	case <-timer.C:
		d.giveBack(shared)
		w.Header().Set("Retry-After", "10")
		refuse(w, http.StatusServiceUnavailable, "no answer within "+renderPatience.String()+": the disk may hang, or the machine is overloaded")
		return
	}
	if shared.failed != nil || shared.err != nil {
		failed, err := shared.failed, shared.err
		d.giveBack(shared)
		if failed != nil {
			panic(failed) // ServeHTTP counts it
		}
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	send(w, r, kind, int64(len(shared.data)), bytes.NewReader(shared.data), func() { d.giveBack(shared) })
}
