package web

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	// writeWithin is how long a client may take to read an answer.
	writeWithin = 30 * time.Second
	// pieceSize is what an answer hands to its connection at once.
	pieceSize = 32 << 10
)

// slots are a limit: each answer that needs one of them takes it and gives it back.
type slots chan struct{}

// take takes a slot, and waits no longer than patience for it.
func (s slots) take(r *http.Request, patience time.Duration) bool {
	select {
	case s <- struct{}{}:
		return true
	default:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case s <- struct{}{}:
		return true
	case <-timer.C:
	case <-r.Context().Done():
	}
	return false
}

func (s slots) giveBack() { <-s }

// An answer is the body that one client reads. After the client's time is over the
// source is released, even while a write to the client still hangs: behind a
// ResponseWriter that cannot set a deadline, nothing ends that write.
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

// read fills a piece of its own with what comes next. So a write that hangs holds
// the piece and not the whole.
func (a *answer) read(piece []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.source == nil {
		return 0, io.ErrUnexpectedEOF
	}
	return a.source.Read(piece)
}

// send writes size bytes of the source to the client. release is called when the
// source is no longer used: at the end, or when the client's time is over.
func send(w http.ResponseWriter, r *http.Request, kind string, size int64, source io.Reader, release func()) {
	a := &answer{source: source, release: release}
	defer a.end()
	timer := time.AfterFunc(patienceOf(r), a.end)
	defer timer.Stop()
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	if r.Method == http.MethodHead {
		return
	}
	piece := make([]byte, min(size, pieceSize))
	for size > 0 {
		n, err := a.read(piece)
		if n > 0 {
			if _, err := w.Write(piece[:n]); err != nil {
				return // a client that has gone away is nobody's error
			}
			size -= int64(n)
		}
		if err != nil {
			return // the server closes the connection, because bytes are missing
		}
	}
}

// sendBytes is [send] for what is in memory and needs no slot.
func sendBytes(w http.ResponseWriter, r *http.Request, kind string, data []byte) {
	send(w, r, kind, int64(len(data)), bytes.NewReader(data), func() {})
}

// patienceOf is how long a client may read: the server's own WriteTimeout, or
// writeWithin.
func patienceOf(r *http.Request) time.Duration {
	if server, _ := r.Context().Value(http.ServerContextKey).(*http.Server); server != nil && server.WriteTimeout > 0 {
		return server.WriteTimeout
	}
	return writeWithin
}

// within sets the connection's deadline: the client's patience, from after work on.
// It reports false where no deadline can be set and the server's own is too short
// for the work.
func within(w http.ResponseWriter, r *http.Request, work time.Duration) bool {
	server, _ := r.Context().Value(http.ServerContextKey).(*http.Server)
	err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(work + patienceOf(r)))
	return err == nil || server == nil || server.WriteTimeout == 0 || work < server.WriteTimeout
}
