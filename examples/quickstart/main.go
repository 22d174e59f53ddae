// Quickstart is a small web shop with a debug print that somebody forgot. It
// shows what a guard makes of it, within a minute: the budget breaks, an event
// says so and names the line, the metric says so too, and the profile is kept;
// then the print is taken out, and the guard says that all is well.
//
//	go run ./examples/quickstart
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/examples/internal/story"
	"github.com/profguard/profguard/guard"
)

func main() {
	dumps := flag.String("dumps", "", "keep the profiles in this folder, instead of one that goes when all is told")
	flag.Parse()
	// Half a minute is the rule; a busy machine takes longer.
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *dumps); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// run plays the whole story and tells it on out.
func run(ctx context.Context, out io.Writer, dumps string) error {
	shop, registry := newShop(), prometheus.NewRegistry()
	url, closeShop, err := open(ctx, shop, registry)
	if err != nil {
		return err
	}
	defer closeShop()
	if dumps == "" {
		if dumps, err = os.MkdirTemp("", "profguard-quickstart-"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dumps) }()
	}

	// This is all that a service adds. A real one leaves Every and Window alone
	// (10 seconds a minute) and uses the default registry and logger.
	tale := story.New(out)
	g, err := guard.Start(guard.Config{
		Budgets: budget.Must(
			"debug-print: fmt.Fprintf below 10% in main.(*shop).ServeHTTP",
			"checkout: process below 50ms per request",
		),
		Every: time.Second, Window: time.Second,
		DumpDir:    dumps,
		Registerer: registry,
		Logger:     slog.New(slog.DiscardHandler),
		Work:       map[string]func() float64{"request": shop.requests},
		OnEvent:    tale.OnEvent,
	})
	if err != nil {
		return err
	}
	defer g.Stop()

	tale.Say("A shop is open, and every checkout prints its whole order. The guard watches:")
	fired, err := tale.Await(ctx, guard.EventFiring, "debug-print")
	if err != nil {
		return err
	}
	if err := tellMetric(ctx, tale, url); err != nil {
		return err
	}
	if fired.Dump == "" { // less than a tenth of the disk is free, for example
		return fmt.Errorf("no profile was kept: %s", g.Status().Reason)
	}
	kept, err := filepath.Glob(filepath.Join(dumps, "profguard", "*", fired.Dump+".cpu.pb.gz"))
	if err != nil || len(kept) != 1 {
		return errors.Join(err, fmt.Errorf("the profile of %s: expected one file, found %q", fired.Dump, kept))
	}
	tale.Say("The profile was kept (with -dumps DIR it stays after the end):\n\n    go tool pprof -http=: %s", kept[0])

	tale.Say("Somebody takes the print out:")
	shop.debug.Store(false)
	if _, err := tale.Await(ctx, guard.EventResolved, "debug-print"); err != nil {
		return err
	}
	return tellMetric(ctx, tale, url)
}

// tellMetric tells what Prometheus sees when it scrapes the shop.
func tellMetric(ctx context.Context, tale *story.Story, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/metrics", nil)
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
	var states []string
	for line := range strings.Lines(string(body)) {
		if strings.HasPrefix(line, "profguard_budget_state") {
			states = append(states, "    "+strings.TrimSpace(line))
		}
	}
	tale.Say("The metric, as Prometheus sees it:\n\n%s", strings.Join(states, "\n"))
	return nil
}
