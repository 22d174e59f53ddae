// Package registrytest has the registries of Prometheus that tests read.
package registrytest

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// Shop is the registry of a service, with what it has counted.
func Shop() (*prometheus.Registry, *prometheus.CounterVec) {
	r := prometheus.NewRegistry()
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "http_requests_total"}, []string{"code", "method"})
	duration := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "rpc_duration_seconds"}, []string{"method"})
	size := prometheus.NewSummary(prometheus.SummaryOpts{Name: "order_size"})
	inFlight := prometheus.NewGauge(prometheus.GaugeOpts{Name: "in_flight"})
	later := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "jobs_total"}, []string{"queue"})
	r.MustRegister(requests, duration, size, inFlight, later)
	requests.WithLabelValues("200", "GET").Add(70)
	requests.WithLabelValues("200", "POST").Add(20)
	requests.WithLabelValues("500", "GET").Add(10)
	duration.WithLabelValues("a").Observe(1)
	duration.WithLabelValues("b").Observe(2)
	size.Observe(3)
	return r, requests
}

// Break adds a collector that fails, as one that reads a file may.
func Break(r *prometheus.Registry) {
	broken := prometheus.NewDesc("broken", ".", nil, nil)
	r.MustRegister(prometheus.CollectorFunc(func(ch chan<- prometheus.Metric) {
		ch <- prometheus.NewInvalidMetric(broken, errors.New("its disk is gone"))
	}))
}
