package main

import (
	"bufio"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"time"
)

// patience is how long either server waits for a visitor.
const patience = 10 * time.Second

// gopher serves pages as RFC 1436 has it: a line with a path comes in, the page
// goes out, and the connection ends.
type gopher struct {
	pages  pages
	served atomic.Int64
}

// requests is the counter that the server has anyway.
func (g *gopher) requests() float64 { return float64(g.served.Load()) }

func (g *gopher) answer(conn net.Conn) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	path, err := readLine(conn)
	if err != nil {
		return
	}
	page, ok := g.pages[path]
	if !ok {
		page = "no such page\r\n"
	}
	if _, err := io.WriteString(conn, page); err == nil {
		g.served.Add(1)
	}
}

// readLine reads the one line that a visitor of either server sends. 1026 bytes
// are the most that Gemini allows.
func readLine(r io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(r, 1026)).ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err
}
