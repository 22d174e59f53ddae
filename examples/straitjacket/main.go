// Straitjacket is a network extension: a small process beside a phone's apps, which
// the system kills when it has more than 15 MB of memory, without a word. It lives
// with that until a feature reads too much. The guard lives in the same 15 MB, is
// quicker than the system, and says who allocated what.
//
//	CGO_ENABLED=0 go run ./examples/straitjacket
package main

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/examples/internal/story"
	"github.com/profguard/profguard/guard"
)

func main() {
	tighten()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "straitjacket:", err)
		os.Exit(1)
	}
}

// tighten tunes the runtime for a process that must stay below 15 MiB.
func tighten() {
	// A sample for every 512 KiB, as the runtime takes them, makes two of the whole
	// heap. It is to be set before anything is allocated.
	runtime.MemProfileRate = 8 << 10
	// Each core has caches of its own.
	runtime.GOMAXPROCS(1)
	// A heap may grow by a fifth until it is collected, not to the double.
	debug.SetGCPercent(20)
	// 8.5 MiB are the binary's own pages. Where the runtime has 4 more, it rather
	// collects all the time.
	debug.SetMemoryLimit(4 << 20)
}

// budgets: the first is the system's, which would be too late. The second gives
// the alarm while there is room, and the third says whose memory it is.
var budgets = budget.Must(
	"rss below 15MiB",
	"heap below 1.5MiB for 2 windows",
	"who: no function above 512KiB of heap for 2 windows",
)

// run plays the whole story and tells it on out.
func run(ctx context.Context, out io.Writer) error {
	x, closeAll, err := start(ctx, names{})
	if err != nil {
		return err
	}
	defer closeAll()

	// This is all that a service adds. A real one leaves Every and Window alone
	// (10 seconds a minute) and uses the default registry and logger.
	tale := story.New(out)
	g, err := guard.Start(guard.Config{
		Budgets: budgets,
		Every:   2 * time.Second, Window: 2 * time.Second,
		Registerer: prometheus.NewRegistry(),
		Logger:     slog.New(slog.DiscardHandler),
		OnEvent:    tale.OnEvent,
	})
	if err != nil {
		return err
	}
	defer g.Stop()

	tale.Say("A network extension answers DNS questions, in 15 MiB. The guard is one of its parts:")
	// A guard has all the memory that it needs after its first windows.
	if err := errors.Join(window(ctx, g), window(ctx, g), weigh(ctx, tale, g)); err != nil {
		return err
	}
	tale.Say("It learns to block names: %d lists of %d, one a second.", lists, namesPerList)
	for i := range lists {
		x.subscribe(list(i))
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	if _, err := tale.Await(ctx, guard.EventFiring, "who"); err != nil {
		return err
	}
	tale.Say("The system has nothing to say yet:")
	if err := weigh(ctx, tale, g); err != nil {
		return err
	}

	tale.Say("The same names, as hashes of 8 bytes:")
	x.block(&hashes{seed: maphash.MakeSeed()})
	debug.FreeOSMemory() // at once, what the old ones had
	for i := range lists {
		x.subscribe(list(i))
	}
	if _, err := tale.Await(ctx, guard.EventResolved, "who"); err != nil {
		return err
	}
	return weigh(ctx, tale, g)
}

// start starts the extension, and the apps that ask it. closeAll ends both.
func start(ctx context.Context, blocked blocklist) (x *extension, closeAll func(), err error) {
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, nil, err
	}
	x = &extension{conn: conn, blocked: blocked}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(x.serve)
	running.Go(func() { apps(ctx, conn.LocalAddr()) })
	return x, func() {
		cancel()
		conn.Close()
		running.Wait()
	}, nil
}

// weigh tells what a window that begins now says about memory.
func weigh(ctx context.Context, tale *story.Story, g *guard.Guard) error {
	if err := window(ctx, g); err != nil {
		return err
	}
	s := g.Status()
	rss, heap := s.Budgets[0].Result, s.Budgets[1].Result
	tale.Say("    %-4v  %s%s\n    %-4v  %s; the collector takes %.1f%% of a core",
		rss.Verdict, rss.Reason, peak(), heap.Verdict, heap.Reason, 100*s.Window.GC*s.Window.Cores)
	return nil
}

// window waits until one is over that begins now or later.
func window(ctx context.Context, g *guard.Guard) error {
	now := time.Now()
	_, err := story.Until(ctx, g, func(s guard.Status) bool { return !s.Window.Start.Before(now) })
	return err
}
