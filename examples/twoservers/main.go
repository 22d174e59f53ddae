// Twoservers serves the same pages over gopher and over Gemini. Gemini has a tenth
// of the requests, and takes more CPU: is TLS that dear? A profile of a quiet day
// cannot say, and the guard says that it cannot. In the evening it can, and it
// names what is dear. It is not TLS.
//
//	go run ./examples/twoservers
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/examples/internal/story"
	"github.com/profguard/profguard/guard"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "twoservers:", err)
		os.Exit(1)
	}
}

// budgets are one for each server. Both run in this process, so each has what
// carries its label; in processes of their own, both sentences would end before
// "where".
var budgets = budget.Must(
	"gopher: process below 500us per gopher-request where server=gopher for 2 windows",
	"gemini: process below 2ms per gemini-request where server=gemini for 2 windows",
)

// run plays the whole story and tells it on out.
func run(ctx context.Context, out io.Writer) error {
	tale := story.New(out)
	servers, err := open()
	if err != nil {
		return err
	}
	defer servers.close()
	visitors := &crowd{servers: servers}
	ctx, leave := context.WithCancel(ctx)
	var visiting sync.WaitGroup
	visiting.Go(func() { visitors.day(ctx) })
	defer visiting.Wait()
	defer leave()

	// This is all that a service adds. A real one leaves Every and Window alone
	// (10 seconds a minute) and uses the default registry and logger.
	g, err := guard.Start(guard.Config{
		Budgets: budgets,
		Every:   4 * time.Second, Window: 4 * time.Second,
		Registerer: prometheus.NewRegistry(),
		Logger:     slog.New(slog.DiscardHandler),
		Work: map[string]func() float64{
			"gopher-request": servers.gopher.requests,
			"gemini-request": servers.gemini.requests,
		},
		OnEvent: tale.OnEvent,
	})
	if err != nil {
		return err
	}
	defer g.Stop()

	tale.Say("By day a reader comes every two seconds. This is what a window says about each server:")
	gopher, gemini, err := look(ctx, g)
	if err != nil {
		return err
	}
	tale.Say("    %s\n    %s", indent(gopher), indent(gemini))
	tale.Say("Something is on top of every profile, of this one too, and a person would read it like\n" +
		"tea leaves. The guard says how many samples it takes. In the evening more people read:")

	visiting.Go(func() { visitors.evening(ctx) })
	if _, err := tale.Await(ctx, guard.EventFiring, "gemini"); err != nil {
		return err
	}
	tale.Say("Gopher has answered %.0f requests by now, Gemini %.0f. In the last window:",
		servers.gopher.requests(), servers.gemini.requests())
	tale.Say("%s", compare(measured(g.Status())))

	tale.Say("It is the certificate's key, RSA with 4096 bits. A new certificate, now with ECDSA:")
	servers.gemini.certificate.Store(servers.ecdsa)
	if _, err := tale.Await(ctx, guard.EventResolved, "gemini"); err != nil {
		return err
	}
	tale.Say("%s", compare(measured(g.Status())))
	return nil
}

// measured is what the last window says about each server.
func measured(s guard.Status) (gopher, gemini budget.Result) {
	return story.Budget(s, "gopher").Result, story.Budget(s, "gemini").Result
}

// look returns what the first window says in which the Gemini server was seen.
func look(ctx context.Context, g *guard.Guard) (gopher, gemini budget.Result, err error) {
	s, err := story.Until(ctx, g, func(s guard.Status) bool {
		_, gemini := measured(s)
		return gemini.Samples > 0
	})
	gopher, gemini = measured(s)
	return gopher, gemini, err
}
