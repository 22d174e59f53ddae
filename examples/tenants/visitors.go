package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// visit has two tenants ask the service, each as often as the other, until the returned function is called:
// acme by title, and blue by key.
func (s *service) visit(ctx context.Context) (leave func()) {
	ctx, cancel := context.WithCancel(ctx)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	var visiting sync.WaitGroup
	for range 4 {
		visiting.Go(func() {
			s.ask(ctx, client, "acme", func() string { return "/titles/" + titleOf(rand.IntN(notes)) })
		})
		visiting.Go(func() { s.ask(ctx, client, "blue", func() string { return fmt.Sprint("/notes/", rand.IntN(notes)) }) })
	}
	return func() {
		cancel()
		visiting.Wait()
		client.CloseIdleConnections()
	}
}

// ask pauses at random: a ticker would run in step with the clock of the profiler.
func (s *service) ask(ctx context.Context, client *http.Client, tenant string, path func() string) {
	for ctx.Err() == nil {
		select {
		case <-time.After(time.Duration(rand.ExpFloat64() * float64(10*time.Millisecond))):
		case <-ctx.Done():
			return
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path(), nil)
		if err != nil {
			return
		}
		r.Header.Set(tenantHeader, tenant)
		answer, err := client.Do(r)
		if err != nil {
			continue // who was turned away comes again
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
}
