package main

import (
	"net"
	"strings"
	"sync"
	"sync/atomic"
)

// An extension stands between a phone's apps and the network. This one looks at
// their DNS questions, and lets none through for a name that is blocked; the others
// it would pass on.
type extension struct {
	conn     *net.UDPConn
	answered atomic.Int64

	mu      sync.Mutex
	blocked blocklist
}

// A blocklist knows names that are not to be reached.
type blocklist interface {
	add(text []byte) // one name a line
	has(name string) bool
}

// subscribe blocks the names of one more list.
func (x *extension) subscribe(list []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.blocked.add(list)
}

// block blocks the names of another blocklist instead.
func (x *extension) block(names blocklist) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.blocked = names
}

// serve answers until the connection is closed. One buffer serves all packets:
// what is not allocated need not be collected.
func (x *extension) serve() {
	packet := make([]byte, 1500)
	for {
		n, from, err := x.conn.ReadFromUDPAddrPort(packet)
		if err != nil {
			return // closed
		}
		if x.answer(packet[:n]) {
			_, _ = x.conn.WriteToUDPAddrPort(packet[:n], from)
			x.answered.Add(1)
		}
	}
}

// answer makes a question its answer, in place: it sets the bit that says so, and
// "no such name" if the name is blocked.
func (x *extension) answer(packet []byte) bool {
	const header, response, noSuchName = 12, 0x80, 3
	if len(packet) <= header {
		return false
	}
	name := question(packet[header:])
	x.mu.Lock()
	defer x.mu.Unlock()
	packet[2] |= response
	if x.blocked.has(name) {
		packet[3] |= noSuchName
	}
	return true
}

// question reads the name that is asked for: labels, each behind its length.
func question(q []byte) string {
	var name strings.Builder
	for len(q) > 0 && q[0] > 0 && int(q[0]) < len(q) {
		if name.Len() > 0 {
			name.WriteByte('.')
		}
		name.Write(q[1 : 1+q[0]])
		q = q[1+q[0]:]
	}
	return name.String()
}
