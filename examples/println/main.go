// Println is a gRPC service with a forgotten fmt.Println of a message, which costs
// it more than ten times the CPU of the cache behind it. It shows what a guard
// says at night, when there is too little to judge, what it says when customers
// come, and what the fix was worth, within a minute.
//
//	go run -C examples/println .
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/examples/internal/story"
	"github.com/profguard/profguard/guard"
)

// watch is all that a service adds. A real one leaves Every and Window alone (10
// seconds a minute), keeps its dumps, and uses the default registry and logger.
func watch(s *shop, dumps string, onEvent func(guard.Event)) guard.Config {
	return guard.Config{
		Budgets: budget.Must(
			"debug-print: fmt.Println absent in (*api).Get",
			"api-cost:    process below 700us per call where service=api for 2 windows",
			"cache-cost:  process below 700us per lookup where service=cache for 2 windows",
		),
		Every: 2 * time.Second, Window: 2 * time.Second,
		Work:       map[string]func() float64{"call": s.calls, "lookup": s.lookups},
		DumpDir:    dumps,
		Registerer: prometheus.NewRegistry(),
		Logger:     slog.New(slog.DiscardHandler),
		OnEvent:    onEvent,
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "println:", err)
		os.Exit(1)
	}
}

// run plays the whole story and tells it on out.
func run(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute) // on an idle machine it takes half of one
	defer cancel()

	s, err := openShop()
	if err != nil {
		return err
	}
	defer s.close()
	dumps, err := os.MkdirTemp("", "profguard-println-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dumps)
	tale := story.New(out)
	g, err := guard.Start(watch(s, dumps, tale.OnEvent))
	if err != nil {
		return err
	}
	defer g.Stop()

	tale.Say("Somebody has forgotten a fmt.Println in the api. It is night, and there are two calls a second:")
	s.api.debug.Store(true)
	if err := night(ctx, tale, s, g); err != nil {
		return err
	}

	tale.Say("In the morning the customers come, and there is enough to judge by:")
	leave, err := s.customers(4, 30*time.Millisecond)
	if err != nil {
		return err
	}
	defer leave()
	if _, err := tale.Await(ctx, guard.EventFiring, "api-cost"); err != nil {
		return err
	}
	before, err := settledCosts(ctx, g, budget.Fail)
	if err != nil {
		return err
	}

	tale.Say("Somebody follows the line, and takes the print out. The guard believes it after 299 samples\n" +
		"of the handler without one, over as many windows as that takes. Calls are quick now, so more customers come:")
	s.api.debug.Store(false)
	leaveLate, err := s.customers(4, 0)
	if err != nil {
		return err
	}
	defer leaveLate()
	if _, err := tale.Await(ctx, guard.EventResolved, "debug-print"); err != nil {
		return err
	}
	after, err := settledCosts(ctx, g, budget.Pass)
	if err != nil {
		return err
	}
	tale.Say("What it was worth:\n\n%s", compare(before, after))
	return nil
}

// night is what the guard makes of a few samples: a cost cannot be told from them,
// and is not; one sample of a forbidden function is proof.
func night(ctx context.Context, tale *story.Story, s *shop, g *guard.Guard) error {
	leave, err := s.customers(1, 500*time.Millisecond)
	if err != nil {
		return err
	}
	defer leave()
	first, err := await(ctx, g, func(c costs) bool { return c.api.Samples > 0 })
	if err != nil {
		return err
	}
	tale.Say("    %s %s\n      %s", strings.ToUpper(first.api.Verdict.String()), first.api.Budget, first.api.Reason)
	tale.Say("That is no alarm, however bad it looks. But one sample of a forbidden function is proof:")
	_, err = tale.Await(ctx, guard.EventFiring, "debug-print")
	return err
}
