package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Gemini has a visit every two and a half seconds by day, 200 a second in the
// evening, if the server keeps up; gopher has ten times as many.
const (
	dayRate     = 0.4
	eveningRate = 200.0
	gopherTimes = 10
)

// A crowd reads pages of both servers.
type crowd struct {
	servers *pair
	evening atomic.Bool
}

// come keeps visiting until ctx ends, and returns when the last has left.
func (c *crowd) come(ctx context.Context) {
	// As many people share the visits: enough to come at the evening's rate, few
	// enough to wait for each other when the server is slow.
	const people = 10
	var visiting sync.WaitGroup
	for range people {
		visiting.Go(func() { c.keepVisiting(ctx, people, c.visitGemini) })
		for range gopherTimes {
			visiting.Go(func() { c.keepVisiting(ctx, people, c.visitGopher) })
		}
	}
	visiting.Wait()
}

// keepVisiting is one of people who visit at a rate together. They come at
// random: a ticker would run in step with the clock of the profiler.
func (c *crowd) keepVisiting(ctx context.Context, people float64, visit func(context.Context) error) {
	for ctx.Err() == nil {
		rate := dayRate / people
		if c.evening.Load() {
			rate = eveningRate / people
		}
		// Nobody sleeps longer than this, for the evening may have come meanwhile.
		const nap = 0.25
		pause := rand.ExpFloat64() / rate
		select {
		case <-time.After(time.Duration(min(pause, nap) * float64(time.Second))):
		case <-ctx.Done():
		}
		if pause < nap {
			_ = visit(ctx) // who was turned away comes again
		}
	}
}

func (c *crowd) visitGopher(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.servers.gopherAddr)
	if err != nil {
		return err
	}
	return read(conn, somePage()+"\r\n")
}

func (c *crowd) visitGemini(ctx context.Context) error {
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: c.servers.trusted}}
	conn, err := dialer.DialContext(ctx, "tcp", c.servers.geminiAddr)
	if err != nil {
		return err
	}
	return read(conn, "gemini://"+c.servers.geminiAddr+somePage()+"\r\n")
}

// read sends a request, and reads the answer to its end.
func read(conn net.Conn, request string) error {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, request); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, conn)
	return err
}

func somePage() string { return fmt.Sprintf("/notes/%d", rand.IntN(notes)) }
