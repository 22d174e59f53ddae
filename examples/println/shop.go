package main

import (
	"context"
	"fmt"
	"os"
	"runtime/pprof"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"
)

// shop is the two services and their customers, as they run in one process here.
type shop struct {
	api   *api
	cache *cache
	addr  string // of the api

	closers []func() // called last first
}

// openShop starts the services. Their standard output goes where that of most
// services goes, nowhere that anybody reads, until the shop is closed.
func openShop() (s *shop, err error) {
	s = new(shop)
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("open the shop: %w", err)
	}
	stdout := os.Stdout
	os.Stdout = null
	s.onClose(func() { os.Stdout = stdout; null.Close() })

	if s.cache, err = newCache(); err != nil {
		return nil, err
	}
	cacheAddr, stop, err := serve("cache", s.cache)
	if err != nil {
		return nil, err
	}
	s.onClose(stop)
	s.api = new(api)
	// What the client of the cache does is the api's work, so it has its label.
	pprof.Do(context.Background(), pprof.Labels("service", "api"), func(context.Context) {
		s.api.cache, err = dial(cacheAddr)
	})
	if err != nil {
		return nil, err
	}
	s.onClose(s.api.cache.close)
	if s.addr, stop, err = serve("api", s.api); err != nil {
		return nil, err
	}
	s.onClose(stop)
	return s, nil
}

func (s *shop) onClose(f func()) { s.closers = append(s.closers, f) }

func (s *shop) close() {
	for len(s.closers) > 0 {
		last := len(s.closers) - 1
		s.closers[last]()
		s.closers = s.closers[:last]
	}
}

// The counters that the services have anyway.

func (s *shop) calls() float64   { return float64(s.api.calls.Load()) }
func (s *shop) lookups() float64 { return float64(s.cache.lookups.Load()) }

// customers look at products, so many at a time, each with a pause between two.
// They go when leave is called.
func (s *shop) customers(n int, pause time.Duration) (leave func(), err error) {
	c, err := dial(s.addr)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				_, _ = c.Get(ctx, wrapperspb.String(productID(i%catalogue))) // a customer shrugs
				if pause > 0 {
					pass(ctx, pause)
				}
			}
		})
	}
	return func() { cancel(); wg.Wait(); c.close() }, nil
}

// pass lets time pass, until ctx ends.
func pass(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
