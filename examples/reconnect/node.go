package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
)

// bugs are what was found in one night. A node without any is the fixed one.
type bugs struct {
	rejoins bool // joins a peer on each tick, whether it is joined or not
	forgets bool // leaves a goroutine behind with each connection that it replaces
	spins   bool // does not notice that a channel has been closed
}

const (
	// tick is how often a node joins its peers, which is meant to be idempotent,
	// and tells them its news: so many datagrams, of so many bytes.
	tick     = 100 * time.Millisecond
	news     = 100
	newsSize = 1000
)

// A node of the mesh listens on a port of loopback, and dials from it.
type node struct {
	bugs      bugs
	tls       *tls.Config
	socket    *net.UDPConn
	transport *quic.Transport
	listener  *quic.Listener
	heard     atomic.Int64 // datagrams

	ctx     context.Context // ends with the node
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// A peer is a node as another one sees it.
type peer struct {
	addr net.Addr
	conn *quic.Conn
	lost chan struct{} // tells that the connection has ended
}

func config() *quic.Config { return &quic.Config{EnableDatagrams: true} }

func newNode(identity *tls.Config, b bugs) (*node, error) {
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("open a node: %w", err)
	}
	n := &node{bugs: b, tls: identity, socket: socket, transport: &quic.Transport{Conn: socket}}
	if n.listener, err = n.transport.Listen(identity, config()); err != nil {
		socket.Close()
		return nil, fmt.Errorf("open a node: %w", err)
	}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.running.Go(n.accept)
	return n, nil
}

// accept lets peers in, and listens to them.
func (n *node) accept() {
	for {
		conn, err := n.listener.Accept(n.ctx)
		if err != nil {
			return
		}
		n.running.Go(func() {
			for {
				if _, err := conn.ReceiveDatagram(n.ctx); err != nil {
					return
				}
				n.heard.Add(1)
			}
		})
	}
}

// run is the node's life: on each tick it meets its peers.
func (n *node) run(peers []*peer) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-n.ctx.Done():
			return
		}
		for _, p := range peers {
			if n.join(p) == nil {
				n.gossip(p)
			}
		}
	}
}

// join connects the node to a peer. It may be called again and again.
func (n *node) join(p *peer) error {
	select {
	case <-p.lost:
		p.conn = nil
	default:
	}
	if p.conn != nil && !n.bugs.rejoins {
		return nil
	}
	return n.connect(p)
}

// connect dials a peer, in place of the connection that there may be.
func (n *node) connect(p *peer) error {
	conn, err := n.transport.Dial(n.ctx, p.addr, n.tls, config()) // a full handshake
	if err != nil {
		return fmt.Errorf("join %s: %w", p.addr, err)
	}
	n.leave(p)
	lost := make(chan struct{}, 1)
	if n.bugs.forgets {
		lost = make(chan struct{})
	}
	p.conn, p.lost = conn, lost
	n.running.Go(func() { n.watch(conn, lost) })
	return nil
}

// leave ends the connection to a peer.
func (n *node) leave(p *peer) {
	if p.conn != nil {
		_ = p.conn.CloseWithError(0, "left") // it fails never
		p.conn, p.lost = nil, nil
	}
}

// watch tells when a connection has ended. Whoever has replaced it by then does
// not listen any more: without a buffer, this waits as long as the node lives.
func (n *node) watch(conn *quic.Conn, lost chan<- struct{}) {
	<-conn.Context().Done()
	select { // left behind
	case lost <- struct{}{}:
	case <-n.ctx.Done():
	}
}

// gossip tells a peer the news.
func (n *node) gossip(p *peer) {
	message := make([]byte, newsSize)
	for range news {
		if p.conn.SendDatagram(message) != nil {
			return // the next tick joins again
		}
	}
}

// follow hears who comes to the mesh, until the node or the channel is closed.
func (n *node) follow(members <-chan string) {
	for {
		select { // busy
		case _, ok := <-members:
			if !ok && !n.bugs.spins {
				members = nil // a nil channel is never ready, a closed one always
			}
		case <-n.ctx.Done():
			return
		}
	}
}

// close ends the node and all that it has started.
func (n *node) close() {
	n.cancel()
	n.transport.Close() // with it the listener and the connections
	n.socket.Close()
	n.running.Wait()
}
