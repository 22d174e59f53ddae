package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"
)

const (
	writeWithin = 30 * time.Second // for a client to read an answer
	retryAfter  = "10"             // seconds: a live profile takes that long
)

// slots are a limit on what goes on at a time.
type slots chan struct{}

// use runs do with a slot. If there is none, it refuses the request with the message busy.
func (s slots) use(w http.ResponseWriter, busy string, do func()) {
	select {
	case s <- struct{}{}:
		defer func() { <-s }()
		do()
	default:
		w.Header().Set("Retry-After", retryAfter)
		refuse(w, http.StatusTooManyRequests, busy)
	}
}

// send writes the source to the client. It is no error if a client has gone away. If bytes are
// missing, the server closes the connection.
func send(w http.ResponseWriter, kind string, source io.ReadSeeker) {
	size, err := source.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = source.Seek(0, io.SeekStart)
	}
	if err != nil {
		refuse(w, http.StatusInternalServerError, "the answer cannot be read: "+err.Error())
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	_, _ = io.Copy(w, source)
}

// sendText is [send] for a text of a kind.
func sendText(w http.ResponseWriter, kind string, text []byte) {
	send(w, kind+"; charset=utf-8", bytes.NewReader(text))
}

// sendJSON is [send] for a value.
func sendJSON(w http.ResponseWriter, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	send(w, "application/json", bytes.NewReader(data))
}

// sendProfile is [send] for a profile, which browsers save under a name.
func sendProfile(w http.ResponseWriter, name string, data []byte) {
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	send(w, "application/octet-stream", bytes.NewReader(data))
}

// timeoutOf is the server's own WriteTimeout, 0 if it has none.
func timeoutOf(r *http.Request) time.Duration {
	if server, _ := r.Context().Value(http.ServerContextKey).(*http.Server); server != nil {
		return max(0, server.WriteTimeout)
	}
	return 0
}

// within sets the connection's deadline: how long the client has after work. It reports false
// where no deadline can be set and the server's own is too short for the work.
func within(w http.ResponseWriter, r *http.Request, work time.Duration) bool {
	timeout := timeoutOf(r)
	err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(work + cmp.Or(timeout, writeWithin)))
	return err == nil || timeout == 0 || work < timeout
}
