package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/miekg/dns"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"

	"github.com/profguard/profguard/internal/integration/programs/shop"
)

// Each of these functions is one client. It ends with ctx, or with an error.

// postHTTP writes the same bytes again and again, which takes less CPU than net/http's
// client does.
func postHTTP(ctx context.Context, addr string, w work) error {
	request := []byte("GET /tiny HTTP/1.1\r\nHost: shop\r\n\r\n")
	if w.name != "tiny" {
		body := shop.Body(w.lines())
		request = fmt.Appendf(nil, "POST /search HTTP/1.1\r\nHost: shop\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
	return withConn(ctx, addr, func(conn net.Conn) error {
		in := bufio.NewReader(conn)
		for w.wait(ctx) {
			if _, err := conn.Write(request); err != nil {
				return err
			}
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				return err
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				return err
			}
			if resp.StatusCode != http.StatusOK {
				return fmt.Errorf("expected 200, found %s", resp.Status)
			}
		}
		return nil
	})
}

// publish sends messages and reads those of everybody.
func publish(ctx context.Context, addr string, w work) error {
	message := append(append([]byte("PUB "), shop.Body(w.lines())...), '\n')
	return withConn(ctx, addr, func(conn net.Conn) error {
		in := bufio.NewReader(conn)
		for w.wait(ctx) {
			if _, err := conn.Write(message); err != nil {
				return err
			}
			if _, err := in.ReadBytes('\n'); err != nil {
				return err
			}
			for in.Buffered() > 0 && bytes.IndexByte(peek(in), '\n') >= 0 {
				in.ReadBytes('\n')
			}
		}
		return nil
	})
}

func peek(in *bufio.Reader) []byte {
	b, _ := in.Peek(in.Buffered())
	return b
}

func callGRPC(ctx context.Context, addr string, w work) error {
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	client := testgrpc.NewTestServiceClient(conn)
	request := &testgrpc.SimpleRequest{Payload: &testgrpc.Payload{Body: shop.Body(w.lines())}}
	for w.wait(ctx) {
		if w.name == "tiny" {
			_, err = client.EmptyCall(ctx, &testgrpc.Empty{})
		} else {
			_, err = client.UnaryCall(ctx, request)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func askDNS(ctx context.Context, addr string, w work) error {
	question, err := new(dns.Msg).SetQuestion("kettle.shop.test.", dns.TypeTXT).Pack()
	if err != nil {
		return err
	}
	conn, err := net.Dial("udp4", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	answer := make([]byte, 4<<10)
	for w.wait(ctx) {
		conn.SetDeadline(time.Now().Add(time.Second)) // a packet may be lost
		if _, err := conn.Write(question); err != nil {
			return err
		}
		conn.Read(answer)
	}
	return nil
}

// wait waits until the next request is due, and is false when ctx ends.
func (w work) wait(ctx context.Context) bool {
	if pause := w.pause(clients); pause > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return ctx.Err() == nil
}

// withConn calls use with a connection that ctx closes.
func withConn(ctx context.Context, addr string, use func(net.Conn) error) error {
	conn, err := net.Dial("tcp4", addr)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	defer conn.Close()
	return use(conn)
}
