// Package logging writes a line for each query.
package logging

import (
	"context"
	"log/slog"
	"time"

	"github.com/miekg/dns"

	"github.com/profguard/profguard/internal/integration/programs/chain/plugin"
)

// A Plugin stands before another.
type Plugin struct {
	Then   plugin.Handler
	Logger *slog.Logger
}

// Name is the plugin's name.
func (p *Plugin) Name() string { return "logging" }

// ServeDNS hands the query on.
func (p *Plugin) ServeDNS(ctx context.Context, w dns.ResponseWriter, r *dns.Msg) (code int, err error) {
	start := time.Now()
	code, err = plugin.Next(ctx, p.Then, w, r)
	p.Logger.Debug("query", "name", r.Question[0].Name, "code", code, "took", time.Since(start))
	return code, err
}
