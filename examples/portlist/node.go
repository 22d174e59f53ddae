package main

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"time"

	"tailscale.com/net/netmon"
	"tailscale.com/portlist"
)

const (
	// addressesEvery is how often a node looks for addresses. Tailscale does when
	// it believes that something has changed; in the incident all nodes believed so
	// all day long.
	addressesEvery = time.Second

	// lookFor is how long a node enumerates each time: 57 nodes take more than half
	// a core.
	lookFor = 10 * time.Millisecond
)

// A lookup tells which addresses this machine has.
type lookup func() ([]netip.Addr, error)

// A node is the part of a Tailscale node that keeps an eye on the machine: which
// ports are open, to list them in the admin console, and which addresses it has,
// to tell its peers.
type node struct {
	poller    portlist.Poller
	ports     portlist.List
	lookUp    lookup
	looks     int // in a row
	addresses []netip.Addr
}

// watchPorts polls as tailscaled does: an error ends it for good.
func (n *node) watchPorts(ctx context.Context) {
	for pause(ctx, portlist.PollInterval()) && n.pollPorts() {
	}
}

func (n *node) pollPorts() bool {
	ports, changed, err := n.poller.Poll() // offender: portlist
	if changed {
		n.ports = ports
	}
	return err == nil
}

// watchAddresses notices when the machine moves to another network.
func (n *node) watchAddresses(ctx context.Context) {
	for pause(ctx, addressesEvery) {
		n.findAddresses()
	}
}

func (n *node) findAddresses() {
	for range n.looks {
		addresses, err := n.lookUp()
		if err != nil {
			slog.Warn("the addresses of this machine are unknown", "error", err)
			return
		}
		n.addresses = addresses
	}
}

// looksInRow is how many look-ups take lookFor. A machine with thirty interfaces
// takes seventy times as long for one as a machine with a single interface, and
// the story is to be the same on both.
func looksInRow(lookUp lookup) int {
	quickest := lookFor
	for range 30 { // the quickest of so many had a core to itself
		start := time.Now()
		if _, err := lookUp(); err == nil {
			quickest = min(quickest, time.Since(start))
		}
	}
	return int(lookFor / max(quickest, time.Microsecond))
}

// enumerate asks the kernel for all interfaces, and then for the addresses of each.
func enumerate() ([]netip.Addr, error) {
	var addresses []netip.Addr
	err := netmon.ForeachInterface(func(_ netmon.Interface, prefixes []netip.Prefix) { // offender: interfaces
		addresses = appendUsable(addresses, prefixes)
	})
	return addresses, err
}

// remembered asks a monitor, to which the kernel tells what changes.
func remembered(m *netmon.Monitor) lookup {
	return func() ([]netip.Addr, error) {
		var addresses []netip.Addr
		for _, prefixes := range m.InterfaceState().InterfaceIPs {
			addresses = appendUsable(addresses, prefixes)
		}
		return addresses, nil
	}
}

// appendUsable appends the addresses at which a peer could reach this machine.
func appendUsable(addresses []netip.Addr, prefixes []netip.Prefix) []netip.Addr {
	for _, p := range prefixes {
		if !p.Addr().IsLoopback() {
			addresses = append(addresses, p.Addr())
		}
	}
	return addresses
}

// pause waits for about d, and reports whether to go on. "About" keeps the nodes
// from working in step, with each other and with the profiler's clock.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d/2 + rand.N(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
