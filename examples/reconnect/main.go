// Reconnect is a mesh of nodes over QUIC with three bugs that were found in one
// night: a tick that joins its peers again and again, each time with a full
// handshake; goroutines that are left behind by that; and a busy loop on a closed
// channel. It shows how a guard reports them, and then, in accelerated time, a leak
// so slow that only days show it. It takes less than a minute.
//
//	go run -C examples/reconnect .
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
func watch(dumps string, onEvent func(guard.Event)) guard.Config {
	return guard.Config{
		Budgets: budget.Must(
			"handshakes:  crypto/tls below 10% for 1 window",
			"rejoins:     quic-go.(*Transport).Dial absent", // the mesh is joined when the guard starts
			"left-behind: no function above 300 of goroutine",
			"busy-loop:   runtime.selectgo below 40% for 1 window",
		),
		Every: 3 * time.Second, Window: 3 * time.Second,
		DumpDir:    dumps,
		Registerer: prometheus.NewRegistry(),
		Logger:     slog.New(slog.DiscardHandler),
		OnEvent:    onEvent,
	}
}

// size of the mesh: 42 connections, and 420 handshakes a second while they are
// made on every tick.
const size = 7

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "reconnect:", err)
		os.Exit(1)
	}
}

// run plays the whole story and tells it on out.
func run(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute) // on an idle machine it takes less than one
	defer cancel()
	dumps, err := os.MkdirTemp("", "profguard-reconnect-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dumps)

	tale := story.New(out)
	a := &act{tale: tale}
	defer a.end()
	if err := a.begin(bugs{rejoins: true, forgets: true}); err != nil {
		return err
	}
	if a.guard, err = guard.Start(watch(dumps, tale.OnEvent)); err != nil {
		return err
	}
	for _, scene := range []func(context.Context) error{a.rejoining, a.joinedOnce, a.busy, a.fixed} {
		if err := scene(ctx); err != nil {
			return err
		}
	}
	tale.Say("What it was worth:\n\n%s", a.table())
	a.end()
	return nil
}

// rejoining is the night as it began.
func (a *act) rejoining(ctx context.Context) error {
	a.tale.Say("Seven nodes join each other on every tick of 100 ms, \"which is idempotent\":")
	if err := a.await(ctx, guard.EventFiring, "handshakes", "rejoins on each tick"); err != nil {
		return err
	}
	a.tale.Say("QUIC shakes hands on goroutines of its own, so no line of ours is on the way. Another budget has it,\n" +
		"and a third finds what each of the joins has left behind:")
	for _, name := range []string{"rejoins", "left-behind"} {
		r, err := a.failing(ctx, name)
		if err != nil {
			return err
		}
		a.tale.Say("    %s", strings.ReplaceAll(r.String(), "\n", "\n    "))
	}
	return nil
}

func (a *act) joinedOnce(ctx context.Context) error {
	a.tale.Say("The next build joins only new peers, and leaves nothing behind:")
	if err := a.begin(bugs{spins: true}); err != nil {
		return err
	}
	return a.await(ctx, guard.EventResolved, "handshakes", "joins once")
}

func (a *act) busy(ctx context.Context) error {
	a.tale.Say("Then the channels close on which the nodes hear of new peers:")
	a.mesh.endNews()
	return a.await(ctx, guard.EventFiring, "busy-loop", "channels are closed")
}

func (a *act) fixed(ctx context.Context) error {
	a.tale.Say("The last build of the night sets a closed channel to nil:")
	if err := a.begin(bugs{}); err != nil {
		return err
	}
	a.mesh.endNews()
	return a.await(ctx, guard.EventResolved, "busy-loop", "closed is noticed")
}
