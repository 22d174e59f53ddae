package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	writeWithin = 30 * time.Second // for a client to read an answer
	retryAfter  = "10"             // seconds: a live profile takes that long
)

// slots are a limit on what goes on at a time.
type slots chan struct{}

// use runs do with a slot. do may release it earlier; its return or panic does so at the latest. If
// there is no slot, use refuses the request with the message busy.
func (s slots) use(w http.ResponseWriter, busy string, do func(release func())) {
	select {
	case s <- struct{}{}:
		release := sync.OnceFunc(func() { <-s })
		defer release()
		do(release)
	default:
		w.Header().Set("Retry-After", retryAfter)
		refuse(w, http.StatusTooManyRequests, busy)
	}
}

// An answer is the body that one client reads. When the client's time is over, the source is
// released, even while a write to the client hangs: if the ResponseWriter cannot set a
// deadline, nothing ends that write.
type answer struct {
	mu      sync.Mutex
	source  io.Reader // nil once it is released
	release func()    // may be called again
}

// end releases the source.
func (a *answer) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.source = nil
	a.release()
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

// timeoutOf is the server's own WriteTimeout, 0 if it has none.
func timeoutOf(r *http.Request) time.Duration {
	if server, _ := r.Context().Value(http.ServerContextKey).(*http.Server); server != nil {
		return max(0, server.WriteTimeout)
	}
	return 0
}

// readTimeOf is how long a client may read.
func readTimeOf(r *http.Request) time.Duration { return cmp.Or(timeoutOf(r), writeWithin) }

// within sets the connection's deadline: how long the client has after work. It reports false
// where no deadline can be set and the server's own is too short for the work.
func within(w http.ResponseWriter, r *http.Request, work time.Duration) bool {
	err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(work + readTimeOf(r)))
	timeout := timeoutOf(r)
	return err == nil || timeout == 0 || work < timeout
}

// page sends the page.
func (h *Handler) page(w http.ResponseWriter, r *http.Request) {
	send(w, r, "text/html; charset=utf-8", bytes.NewReader(h.static), func() {})
}

func (h *Handler) text(w http.ResponseWriter, r *http.Request, text func() string) {
	h.light.use(w, busyLight, func(release func()) {
		send(w, r, "text/plain; charset=utf-8", strings.NewReader(text()), release)
	})
}
