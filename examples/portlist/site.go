package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A site is what the process is for: it serves a page over HTTP, and compressing
// it is honest work.
type site struct {
	page    []byte
	writers sync.Pool
	served  atomic.Int64
}

func newSite() *site {
	var page strings.Builder
	for i := range 6000 {
		fmt.Fprintf(&page, "<li>%d: what the service behind node %d says</li>\n", i*i, i%nodes)
	}
	return &site{
		page:    []byte(page.String()),
		writers: sync.Pool{New: func() any { return gzip.NewWriter(io.Discard) }},
	}
}

// requests is the counter that the service has anyway.
func (s *site) requests() float64 { return float64(s.served.Load()) }

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.served.Add(1)
	w.Header().Set("Content-Encoding", "gzip")
	z := s.writers.Get().(*gzip.Writer)
	defer s.writers.Put(z)
	z.Reset(w)
	_, _ = z.Write(s.page) // a visitor who leaves is no error of ours
	_ = z.Close()
}

// serve serves on loopback until stop is called.
func serve(handler http.Handler) (url string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Second}
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(listener) }) // until Close
	return "http://" + listener.Addr().String(), func() { _ = server.Close(); running.Wait() }, nil
}

// visit is some people who read a page every now and then, until stop is called.
func visit(ctx context.Context, url string, people int) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}} // as it comes: reading it is not our work
	var running sync.WaitGroup
	for range people {
		running.Go(func() {
			for pause(ctx, 80*time.Millisecond) {
				_ = get(ctx, client, url, io.Discard)
			}
		})
	}
	return func() {
		cancel()
		running.Wait()
		client.CloseIdleConnections()
	}
}

// get copies what is at url to out.
func get(ctx context.Context, client *http.Client, url string, out io.Writer) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10)) // it says why
		return fmt.Errorf("get %s: expected 200 OK, found %s: %s", url, resp.Status, bytes.TrimSpace(text))
	}
	_, err = io.Copy(out, resp.Body)
	return err
}
