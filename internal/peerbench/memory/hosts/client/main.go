// Command client is the service with Prometheus' client, and its /metrics.
package main

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/profguard/profguard/internal/peerbench/memory/service"
)

func main() {
	service.Run(func(mux *http.ServeMux) error {
		mux.Handle("GET /metrics", promhttp.Handler())
		return nil
	})
}
