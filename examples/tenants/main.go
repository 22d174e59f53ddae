// Tenants is a service for notes over SQLite, in one process for all who use it. One of them makes the
// machine busy: which one, and by what? It shows what a guard says, and what it says after the fix.
//
//	go run -C examples/tenants .
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/examples/internal/story"
	"github.com/profguard/profguard/guard"
)

// budgets is one sentence for all tenants, also for those to come.
var budgets = budget.Must("noisy: no tenant above 50% for 2 windows")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "tenants:", err)
		os.Exit(1)
	}
}

// run plays the whole story and tells it on out.
func run(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute) // on an idle machine it takes a sixth of one
	defer cancel()
	s, err := open(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	leave := s.visit(ctx)
	defer leave()
	tale := story.New(out)
	g, err := guard.Start(watch(tale.OnEvent))
	if err != nil {
		return err
	}
	defer g.Stop()

	tale.Say("Two tenants ask a service for notes, each as often as the other. CPU is high, and the profile is full of SQLite:")
	if _, err := tale.Await(ctx, guard.EventFiring, "noisy"); err != nil {
		return err
	}
	tale.Say("It is acme, which looks for titles, and no index has them. It gets one:")
	if err := s.index(ctx); err != nil {
		return err
	}
	if _, err := tale.Await(ctx, guard.EventResolved, "noisy"); err != nil {
		return err
	}
	return nil
}

// watch is all that a service adds. A real one leaves Every and Window alone (10 seconds a minute), and
// uses the default registry and logger.
func watch(onEvent func(guard.Event)) guard.Config {
	return guard.Config{
		Budgets: budgets,
		Every:   2 * time.Second, Window: 2 * time.Second,
		Registerer: prometheus.NewRegistry(),
		Logger:     slog.New(slog.DiscardHandler),
		OnEvent:    onEvent,
	}
}
