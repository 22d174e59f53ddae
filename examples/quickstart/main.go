// Quickstart is a small web shop with a debug print that somebody forgot. It
// shows what a guard makes of it, within a minute: the budget breaks, an event
// says so and names the line, the metric says so too, and the profile is kept;
// then the print is taken out, and the guard says that all is well.
//
//	go run ./examples/quickstart
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/guard"
)

func main() {
	if err := run(os.Stdout, 50*time.Second); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// run plays the whole story and tells it on out.
func run(out io.Writer, most time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()

	shop := newShop()
	registry := prometheus.NewRegistry()
	mux := http.NewServeMux()
	mux.Handle("/checkout", shop)
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(listener) }() // until Close
	defer server.Close()
	url := "http://" + listener.Addr().String()
	go customers(ctx, url+"/checkout")

	dumps, err := os.MkdirTemp("", "profguard-quickstart-")
	if err != nil {
		return err
	}

	// This is all that a service adds. A real one leaves Every and Window alone
	// (10 seconds a minute) and uses the default registry and logger.
	events := make(chan guard.Event, 16)
	g, err := guard.Start(guard.Config{
		Budgets: budget.Must(
			"debug-print: fmt.Fprintf below 10% in main.(*shop).ServeHTTP",
			"checkout: process below 50ms per request",
		),
		Every: 2 * time.Second, Window: 2 * time.Second,
		DumpDir:    dumps,
		Registerer: registry,
		Logger:     slog.New(slog.DiscardHandler),
		Work:       map[string]func() float64{"request": shop.requests},
		OnEvent:    func(e guard.Event) { events <- e },
	})
	if err != nil {
		return err
	}
	defer g.Stop()

	fmt.Fprintln(out, "A shop is open, and every checkout prints its whole order. The guard watches:")
	fired, err := await(ctx, events, "profguard.budget.firing")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s  %s\n%s\n", fired.Name, fired.Budget, fired.Result)
	fmt.Fprintln(out, "\nThe metric, as Prometheus sees it:")
	if err := show(ctx, out, url+"/metrics", "profguard_budget_state"); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nThe profile was kept. Open it with\n\n    go tool pprof -http=: %s/%s.cpu.pb.gz\n", dumps, fired.Dump)

	fmt.Fprintln(out, "\nSomebody takes the print out:")
	shop.debug.Store(false)
	resolved, err := await(ctx, events, "profguard.budget.resolved")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s  %s\n%s\n", resolved.Name, resolved.Budget, resolved.Result)
	return show(ctx, out, url+"/metrics", "profguard_budget_state")
}

// await returns the next event of a name.
func await(ctx context.Context, events <-chan guard.Event, name string) (guard.Event, error) {
	for {
		select {
		case e := <-events:
			if e.Name == name {
				return e, nil
			}
		case <-ctx.Done():
			return guard.Event{}, fmt.Errorf("no %s came in time: is the machine very busy?", name)
		}
	}
}

// show prints the lines of a page that begin with prefix.
func show(ctx context.Context, out io.Writer, url, prefix string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(body)) {
		if strings.HasPrefix(line, prefix) {
			fmt.Fprintf(out, "    %s", line)
		}
	}
	return nil
}
