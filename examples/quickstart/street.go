package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// open opens the shop and its metrics on loopback, and lets customers in until
// closeShop is called.
func open(ctx context.Context, s *shop, metrics prometheus.Gatherer) (url string, closeShop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/checkout", s)
	mux.Handle("/metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
	url = "http://" + listener.Addr().String()
	ctx, leave := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(listener) }) // until Close
	for range 2 {
		running.Go(func() { checkOut(ctx, url+"/checkout") })
	}
	return url, func() {
		leave()
		server.Close()
		running.Wait()
		http.DefaultClient.CloseIdleConnections()
	}, nil
}

// checkOut is a customer who comes back until ctx ends.
func checkOut(ctx context.Context, url string) {
	for ctx.Err() == nil {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			continue
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}
