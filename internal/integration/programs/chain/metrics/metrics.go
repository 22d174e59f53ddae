// Package metrics counts queries.
package metrics

import (
	"context"
	"sync/atomic"

	"github.com/miekg/dns"

	"github.com/profguard/profguard/internal/integration/programs/chain/plugin"
)

// A Plugin stands before another.
type Plugin struct {
	Then  plugin.Handler
	count atomic.Int64
}

// Name is the plugin's name.
func (p *Plugin) Name() string { return "metrics" }

// ServeDNS hands the query on.
func (p *Plugin) ServeDNS(ctx context.Context, w dns.ResponseWriter, r *dns.Msg) (code int, err error) {
	p.count.Add(1)
	return plugin.Next(ctx, p.Then, w, r)
}
