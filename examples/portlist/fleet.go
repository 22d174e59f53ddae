package main

import (
	"context"
	"sync"

	"tailscale.com/envknob"
	"tailscale.com/net/netmon"
	"tailscale.com/util/eventbus"
)

// nodes is how many there were in the process of the incident.
const nodes = 57

// A fleet is many nodes in one process, as of a proxy that gives each of its
// services a name in the tailnet.
type fleet struct {
	stop    context.CancelFunc
	running sync.WaitGroup
	nodes   []node
}

// startFleet returns when every node knows its ports and addresses. Each looks for
// addresses so many times in a row.
func startFleet(ctx context.Context, size int, lookUp lookup, looks int) *fleet {
	ctx, stop := context.WithCancel(ctx)
	f := &fleet{stop: stop, nodes: make([]node, size)}
	for i := range f.nodes {
		n := &f.nodes[i]
		n.lookUp, n.looks = lookUp, looks
		n.findAddresses()
		if n.pollPorts() {
			f.running.Go(func() { n.watchPorts(ctx) })
		}
		f.running.Go(func() { n.watchAddresses(ctx) })
	}
	return f
}

// close returns when all nodes have stopped.
func (f *fleet) close() {
	f.stop()
	f.running.Wait()
	for i := range f.nodes {
		_ = f.nodes[i].poller.Close() // the error is that it was turned off
	}
}

// turnOffPortlist is Tailscale's own setting. A poller reads it once, when it
// polls for the first time: it is too late for those that have.
func turnOffPortlist(off bool) {
	value := ""
	if off {
		value = "true"
	}
	envknob.Setenv("TS_DEBUG_DISABLE_PORTLIST", value)
}

// startMonitor starts one monitor of the machine's interfaces, for all nodes.
func startMonitor() (m *netmon.Monitor, stop func(), err error) {
	bus := eventbus.New()
	m, err = netmon.New(bus, func(string, ...any) {}) // its log tells nothing of the story
	if err != nil {
		bus.Close()
		return nil, nil, err
	}
	m.Start()
	return m, func() { _ = m.Close(); bus.Close() }, nil
}
