package main

import (
	"bufio"
	"bytes"
	"net"
	"sync"

	"github.com/profguard/profguard/internal/integration/programs/shop"
)

// A broker hands each message to all its clients, as NATS does: each has one goroutine
// that reads and parses, and another that writes.
type broker struct {
	mu      sync.Mutex
	clients map[*brokerClient]bool

	work      string
	catalogue shop.Catalogue
}

type brokerClient struct {
	broker *broker
	conn   net.Conn

	mu      sync.Mutex
	waiting net.Buffers
	filled  *sync.Cond
	closed  bool
}

func startBroker(w work) (string, error) {
	b := &broker{clients: map[*brokerClient]bool{}, work: w.name, catalogue: w.catalogue()}
	return inBackground(b.serve)
}

func (b *broker) serve(l net.Listener) error {
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		c := &brokerClient{broker: b, conn: conn}
		c.filled = sync.NewCond(&c.mu)
		b.mu.Lock()
		b.clients[c] = true
		b.mu.Unlock()
		go c.readLoop()
		go c.writeLoop()
	}
}

func (c *brokerClient) readLoop() {
	defer c.close()
	in := bufio.NewReaderSize(c.conn, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		c.parse(line)
	}
}

// parse reads "PUB" and a message.
func (c *brokerClient) parse(line []byte) {
	if verb, message, ok := bytes.Cut(line, []byte(" ")); ok && string(verb) == "PUB" {
		c.processMessage(message)
	}
}

func (c *brokerClient) processMessage(message []byte) {
	if c.broker.work == "tiny" {
		shop.Inspect(shop.Sample)
	} else {
		o := shop.Decode(message)
		items := shop.Rank(c.broker.catalogue.Search(o.Text))
		shop.Inspect(o)
		message = append(shop.Encode(o, items), '\n')
	}
	c.broker.mu.Lock()
	defer c.broker.mu.Unlock()
	for to := range c.broker.clients {
		to.queue(message)
	}
}

func (c *brokerClient) queue(message []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, bytes.Clone(message))
	c.filled.Signal()
}

func (c *brokerClient) writeLoop() {
	for {
		c.mu.Lock()
		for len(c.waiting) == 0 && !c.closed {
			c.filled.Wait()
		}
		out, closed := c.waiting, c.closed
		c.waiting = nil
		c.mu.Unlock()
		if closed {
			return
		}
		c.flush(out)
	}
}

func (c *brokerClient) flush(out net.Buffers) {
	if _, err := out.WriteTo(c.conn); err != nil {
		c.close()
	}
}

func (c *brokerClient) close() {
	c.conn.Close()
	c.broker.mu.Lock()
	delete(c.broker.clients, c)
	c.broker.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.filled.Signal()
}
