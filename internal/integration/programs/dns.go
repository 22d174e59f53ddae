package main

import (
	"context"
	"log/slog"
	"net"

	"github.com/miekg/dns"

	"github.com/profguard/profguard/internal/integration/programs/chain/cache"
	"github.com/profguard/profguard/internal/integration/programs/chain/logging"
	"github.com/profguard/profguard/internal/integration/programs/chain/metrics"
	"github.com/profguard/profguard/internal/integration/programs/chain/plugin"
	"github.com/profguard/profguard/internal/integration/programs/chain/records"
	"github.com/profguard/profguard/internal/integration/programs/chain/recovery"
	"github.com/profguard/profguard/internal/integration/programs/shop"
)

// startDNS is a chain of plugins, as CoreDNS has it.
func startDNS(w work) (string, error) {
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	end := &records.Plugin{Catalogue: w.catalogue(), Body: shop.Body(w.lines()), Tiny: w.name == "tiny"}
	first := plugin.Handler(&recovery.Plugin{Then: &logging.Plugin{
		Logger: slog.Default(),
		Then:   &metrics.Plugin{Then: &cache.Plugin{Then: end}},
	}})
	server := &dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, r *dns.Msg) {
		if code, err := first.ServeDNS(context.Background(), w, r); err != nil || code != dns.RcodeSuccess {
			dns.HandleFailed(w, r)
		}
	})}
	go server.ActivateAndServe()
	return conn.LocalAddr().String(), nil
}
