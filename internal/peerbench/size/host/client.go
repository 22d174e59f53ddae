//go:build client

package main

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

func init() {
	parts = append(parts, func(mux *http.ServeMux) error {
		requests := prometheus.NewCounter(prometheus.CounterOpts{Name: "http_requests_total"})
		prometheus.MustRegister(requests)
		mux.HandleFunc("/work", func(http.ResponseWriter, *http.Request) { requests.Inc() })
		mux.Handle("/metrics", promhttp.Handler())
		return nil
	})
}
