// Package plugin is what the plugins of a chain have in common, as in CoreDNS.
package plugin

import (
	"context"

	"github.com/miekg/dns"
)

// A Handler answers a query or calls the next one.
type Handler interface {
	ServeDNS(ctx context.Context, w dns.ResponseWriter, r *dns.Msg) (int, error)
	Name() string
}

// Next calls the next handler, if there is one.
func Next(ctx context.Context, next Handler, w dns.ResponseWriter, r *dns.Msg) (int, error) {
	if next == nil {
		return dns.RcodeServerFailure, nil
	}
	return next.ServeDNS(ctx, w, r)
}
