// Portlist is a server that runs dozens of Tailscale nodes and takes more than a
// whole core to do nothing. A guard says why; a first fix changes nothing, and
// the guard says so; a second one works, and the guard names what is next.
//
//	go run -C examples/portlist .
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/examples/internal/story"
	"github.com/profguard/profguard/guard"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	if err := run(ctx, os.Stdout, nodes); err != nil {
		fmt.Fprintln(os.Stderr, "portlist:", err)
		os.Exit(1)
	}
}

// budgets are what the service promises. Compressing pages is what it is for, so
// that may take what it takes.
func budgets() budget.Set {
	return budget.Must(
		"ports: tailscale.com/portlist absent",
		"hot: no function above 20% cumulative except compress/... for 2 windows",
		"memory: heap below 64MiB",
		"waiting: goroutines below 1000",
		"locks: no function above 50ms per request of mutex",
	)
}

// run plays the whole story with so many nodes, and tells it on out.
func run(ctx context.Context, out io.Writer, nodes int) error {
	dir, err := os.MkdirTemp("", "profguard-portlist-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	site, tale, looks := newSite(), story.New(out), looksInRow(enumerate)
	p := &play{Story: tale, out: out, fleet: startFleet(ctx, nodes, enumerate, looks), looks: looks, dir: dir}
	defer func() { p.fleet.close() }()
	defer turnOffPortlist(false) // the setting is the process's, and outlives the story

	// This is all that a service adds. A real one leaves Every and Window alone
	// (10 seconds a minute) and uses the default registry and logger.
	g, err := guard.Start(guard.Config{
		Budgets: budgets(),
		Every:   2 * time.Second, Window: 2 * time.Second,
		DumpDir:    filepath.Join(dir, "dumps"),
		Registerer: prometheus.NewRegistry(),
		Logger:     slog.New(slog.DiscardHandler),
		Work:       map[string]func() float64{"request": site.requests},
		OnEvent:    tale.OnEvent,
	})
	if err != nil {
		return err
	}
	defer g.Stop()

	mux := http.NewServeMux()
	mux.Handle("/", site)
	mux.Handle("/debug/profguard/", g.Handler())
	url, stop, err := serve(mux)
	if err != nil {
		return err
	}
	defer stop()
	defer visit(ctx, url, nodes/14)() // four people for 57 nodes

	p.guard, p.page = g, url+"/debug/profguard"
	if err := p.acts(ctx); err != nil {
		s := g.Status()
		return fmt.Errorf("%w; the guard is %s, cost %.1f%% of a core, its windows so far: %v", err, s.State, 100*s.CostShare, s.Windows)
	}
	return nil
}
