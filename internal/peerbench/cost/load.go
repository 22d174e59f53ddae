//go:build linux

package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// clients keep a small service busy without taking a core each.
const clients = 2

// load posts to the address until stopped, each client again after a pause.
func load(addr string, pause time.Duration) (stop func()) {
	if addr == "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	body := `{"items":[` + strings.Repeat(`{"name":"something","price":12.5},`, 30) + `{"name":"last","price":1}]}`
	for range clients {
		running.Go(func() {
			for ctx.Err() == nil {
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/", strings.NewReader(body))
				if err != nil {
					return
				}
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					return // the process is through
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if pause > 0 {
					select {
					case <-time.After(pause):
					case <-ctx.Done():
					}
				}
			}
		})
	}
	return func() {
		cancel()
		running.Wait()
	}
}
