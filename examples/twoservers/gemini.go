package main

import (
	"crypto/tls"
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"time"
)

// gemini serves the same pages as the Gemini protocol has it: a TLS handshake, a
// line with a URL, a status and the page, and the connection ends. So each page
// costs a handshake.
type gemini struct {
	pages       pages
	served      atomic.Int64
	certificate atomic.Pointer[tls.Certificate] // may be renewed while it runs
}

// requests is the counter that the server has anyway.
func (g *gemini) requests() float64 { return float64(g.served.Load()) }

func (g *gemini) answer(plain net.Conn) {
	conn := tls.Server(plain, &tls.Config{
		MinVersion:   tls.VersionTLS12, // the least that the protocol allows
		Certificates: []tls.Certificate{*g.certificate.Load()},
	})
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if err := conn.Handshake(); err != nil { // costs what the certificate's key costs
		return
	}
	line, err := readLine(conn)
	if err != nil {
		return
	}
	reply := "51 no such page\r\n"
	if u, err := url.Parse(line); err == nil && g.pages[u.Path] != "" {
		reply = "20 text/gemini\r\n" + g.pages[u.Path]
	}
	if _, err := io.WriteString(conn, reply); err == nil {
		g.served.Add(1)
	}
}
