// Command pyroscope is the service with pyroscope-go and what it profiles by default.
package main

import (
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/grafana/pyroscope-go"

	"github.com/profguard/profguard/internal/peerbench/memory/service"
)

func main() {
	service.Run(func(*http.ServeMux) error {
		// Somebody must take the profiles, or they would be kept for a later try.
		sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) }))
		_, err := pyroscope.Start(pyroscope.Config{ApplicationName: "host", ServerAddress: sink.URL})
		return err
	})
}
