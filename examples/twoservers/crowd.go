package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// A crowd reads pages of both servers, by gopher ten times as many as by Gemini.
type crowd struct {
	servers *pair
}

const gopherTimes = 10

// day is one reader, who comes every two seconds until ctx ends.
func (c *crowd) day(ctx context.Context) {
	for sleep(ctx, 2*time.Second) {
		_ = c.visitGemini(ctx) // who was turned away comes again
		for range gopherTimes {
			_ = c.visitGopher(ctx)
		}
	}
}

// evening is when many read, until ctx ends and the last one has left: 200 pages a
// second by Gemini, if the server keeps up.
func (c *crowd) evening(ctx context.Context) {
	// So few that they wait for each other when the server is slow.
	const people, pause = 10, 50 * time.Millisecond
	var reading sync.WaitGroup
	for range people {
		reading.Go(func() { keepReading(ctx, pause, c.visitGemini) })
		for range gopherTimes {
			reading.Go(func() { keepReading(ctx, pause, c.visitGopher) })
		}
	}
	reading.Wait()
}

// keepReading pauses at random: a ticker would run in step with the clock of the
// profiler.
func keepReading(ctx context.Context, pause time.Duration, visit func(context.Context) error) {
	for sleep(ctx, time.Duration(rand.ExpFloat64()*float64(pause))) {
		_ = visit(ctx) // who was turned away comes again
	}
}

// sleep reports whether ctx has let it sleep all the time.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
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
