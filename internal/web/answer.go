package web

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// writeWithin is how long a client may take to read an answer.
	writeWithin = 30 * time.Second
	// retryAfter is when a client may try again, in seconds: a live profile takes that
	// long.
	retryAfter = "10"
)

// slots are a limit: each answer that needs one of them acquires it and releases it.
type slots chan struct{}

// acquire takes a slot, and returns the function that releases it, once. If there is no slot, it
// refuses the request with the message busy.
func (s slots) acquire(w http.ResponseWriter, busy string) (release func(), ok bool) {
	select {
	case s <- struct{}{}:
		return sync.OnceFunc(func() { <-s }), true
	default:
		w.Header().Set("Retry-After", retryAfter)
		refuse(w, http.StatusTooManyRequests, busy)
		return nil, false
	}
}

// An answer is the body that one client reads. When the client's time is over, the source is
// released, even while a write to the client hangs: if the ResponseWriter cannot set a
// deadline, nothing ends that write.
type answer struct {
	mu      sync.Mutex
	source  io.Reader // nil once it is released
	release func()
}

// end releases the source, once.
func (a *answer) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.source != nil {
		a.release()
		a.source, a.release = nil, nil
	}
}

// Read copies a piece of the source. So a write that hangs holds only that piece.
func (a *answer) Read(piece []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.source == nil {
		return 0, io.ErrUnexpectedEOF
	}
	return a.source.Read(piece)
}

// send writes the source to the client. release is called when the source is no longer
// used: at the end, or when the client's time is over.
func send(w http.ResponseWriter, r *http.Request, kind string, source io.ReadSeeker, release func()) {
	a := &answer{source: source, release: release}
	defer a.end()
	size, err := source.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = source.Seek(0, io.SeekStart)
	}
	if err != nil {
		refuse(w, http.StatusInternalServerError, "the answer cannot be read: "+err.Error())
		return
	}
	timer := time.AfterFunc(readTimeOf(r), a.end)
	defer timer.Stop()
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	// It is no error if a client has gone away. If bytes are missing, the server closes the
	// connection.
	_, _ = io.Copy(w, a)
}

// sendJSON is [send] for a value.
func sendJSON(w http.ResponseWriter, r *http.Request, value any, release func()) {
	data, err := json.Marshal(value)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	send(w, r, "application/json", bytes.NewReader(data), release)
}

// readTimeOf is how long a client may read: the server's own WriteTimeout, or
// writeWithin.
func readTimeOf(r *http.Request) time.Duration {
	if server, _ := r.Context().Value(http.ServerContextKey).(*http.Server); server != nil && server.WriteTimeout > 0 {
		return server.WriteTimeout
	}
	return writeWithin
}

// within sets the connection's deadline: how long the client has, from after work on.
// It reports false where no deadline can be set and the server's own is too short
// for the work.
func within(w http.ResponseWriter, r *http.Request, work time.Duration) bool {
	server, _ := r.Context().Value(http.ServerContextKey).(*http.Server)
	err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(work + readTimeOf(r)))
	return err == nil || server == nil || server.WriteTimeout == 0 || work < server.WriteTimeout
}

// document sends status.json or the sentences of the budgets.
func (h *Handler) document(w http.ResponseWriter, r *http.Request, name string) {
	release, ok := h.light.acquire(w, "too many answers are under way")
	if !ok {
		return
	}
	defer release()
	if name == "budgets" {
		send(w, r, "text/plain; charset=utf-8", strings.NewReader(h.Budgets()), release)
		return
	}
	sendJSON(w, r, h.Status(), release)
}
