package web

import (
	"bytes"
	"net/http"
	"sync"
	"time"
)

const (
	// maxRenderings is the most renderings of a document that clients may hold at once.
	maxRenderings = 4
	// renderEvery is the age up to which the newest rendering is shared with further clients.
	renderEvery = time.Second
)

// A document is rendered on request, and shared by clients that request it at the same time.
// Clients hold at most maxRenderings different renderings. While they do, further clients get
// the newest one, which is at most as old as a client may take to read it. So the memory for
// all clients depends on the size of the document, and not on their number.
type document struct {
	make func() ([]byte, error) // from data in memory

	mu     sync.Mutex
	newest *rendering // nil if no client reads it
	held   int        // renderings that have clients
}

// A rendering is a document of one moment.
type rendering struct {
	at      time.Time
	data    []byte
	clients int // guarded by the document's mutex
}

// take returns the rendering for a client, which must give it back.
func (d *document) take() (*rendering, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.newest == nil || d.held < maxRenderings && time.Since(d.newest.at) >= renderEvery {
		data, err := d.make()
		if err != nil {
			return nil, err
		}
		d.newest = &rendering{at: time.Now(), data: data}
		d.held++
	}
	d.newest.clients++
	return d.newest, nil
}

func (d *document) giveBack(r *rendering) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.clients--; r.clients > 0 {
		return
	}
	d.held--
	if d.newest == r {
		d.newest = nil
	}
}

// document sends a document.
func (h *Handler) document(w http.ResponseWriter, r *http.Request, d *document, kind string) {
	shared, err := d.take()
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	send(w, r, kind, bytes.NewReader(shared.data), func() { d.giveBack(shared) })
}
