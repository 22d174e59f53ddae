// Package webtest asks handlers in tests.
package webtest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Ask makes a request of a handler as a client on this machine does. Headers are names
// and values in turn; Host is the request's.
func Ask(h http.Handler, method, target string, header ...string) *http.Response {
	r := httptest.NewRequest(method, target, nil)
	r.Host = "127.0.0.1:8080"
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// Body is all that a response says.
func Body(t testing.TB, r *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
