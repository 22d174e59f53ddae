// Package recovery answers for plugins that panic.
package recovery

import (
	"context"
	"fmt"

	"github.com/miekg/dns"

	"github.com/profguard/profguard/internal/integration/programs/chain/plugin"
)

// A Plugin stands before another.
type Plugin struct {
	Then plugin.Handler
}

// Name is the plugin's name.
func (p *Plugin) Name() string { return "recovery" }

// ServeDNS hands the query on.
func (p *Plugin) ServeDNS(ctx context.Context, w dns.ResponseWriter, r *dns.Msg) (code int, err error) {
	defer func() {
		if p := recover(); p != nil {
			code, err = dns.RcodeServerFailure, fmt.Errorf("panic: %v", p)
		}
	}()
	return plugin.Next(ctx, p.Then, w, r)
}
