// Package cache remembers answers, and here none: each name is asked once.
package cache

import (
	"context"
	"strings"
	"sync"

	"github.com/miekg/dns"

	"github.com/profguard/profguard/internal/integration/programs/chain/plugin"
)

// A Plugin stands before another.
type Plugin struct {
	Then plugin.Handler
	kept sync.Map
}

// Name is the plugin's name.
func (p *Plugin) Name() string { return "cache" }

// ServeDNS hands the query on.
func (p *Plugin) ServeDNS(ctx context.Context, w dns.ResponseWriter, r *dns.Msg) (code int, err error) {
	key := strings.ToLower(r.Question[0].Name)
	if kept, ok := p.kept.Load(key); ok {
		return dns.RcodeSuccess, w.WriteMsg(kept.(*dns.Msg).Copy().SetReply(r))
	}
	return plugin.Next(ctx, p.Then, w, r)
}
